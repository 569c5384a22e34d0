"""What learning does, in which order, without servers and without training."""

import logging
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows import learn
from nmt_core.base.errors import NmtError
from stages.learning.correction_corpus import CorrectionCorpus, LearningConfig
from stages.learning.judgement import Learned
from stages.registry.promotion import Contest
from stages.runtime import checkout
from tests.support.commands import invoke


def make_corrections(learnt=100, digest="d", held_out=10):
    return CorrectionCorpus(
        digest=digest,
        ids=[],
        learnt=learnt,
        held_out=held_out,
        words=1,
        given=120,
        dropped={"also_tested": 55},
        examples={},
    )


def learned(outcome="promote", champion=1):
    contest = Contest(outcome=outcome, reason="so", challenger="d", champion=champion)
    return Learned(contest=contest, corrections=make_corrections())


@pytest.fixture
def flow(stub_flow):
    """Run the flow; every step is recorded instead of run."""
    Path("params.yaml").write_text("before")
    Path("corrections.jsonl").touch()
    state = stub_flow
    state.corrections = make_corrections()

    def decide(judge, *, promotion, by):
        assert judge.func is learn.judge_learned
        state.note(f"decide {judge.keywords['corrections'].digest} {promotion} {by}")
        return learned()

    return state.install(
        learn,
        load=lambda *_: SimpleNamespace(learned=["l"], filter="f"),
        write_corrections=lambda learning, directions, filters: state.corrections,
        compose_params=lambda *_: "of the corrections",
        JUDGED=Path("judged"),
        digest_judged=lambda corrections, *_: corrections.digest,
        decide=decide,
    )


def list_steps(flow):
    return [what for what, _ in flow.done]


def test_nothing_is_trained_without_new_corrections(flow):
    Path("judged").write_text("d\n")
    assert learn.learn.fn() is None
    assert list_steps(flow) == ["hold", "download", "leave"]
    flow.corrections = make_corrections(learnt=30, digest="another")
    assert learn.learn.fn(LearningConfig(least=30))
    assert Path("judged").read_text() == "another\n"


@pytest.mark.parametrize(
    ("learnt", "held_out", "reason"),
    [
        (29, 10, "about 2 more corrections"),
        (47, 7, "about 30 more corrections"),
        (0, 0, "about 100 more corrections"),
    ],
)
def test_nothing_is_trained_without_a_verdict(flow, caplog, learnt, held_out, reason):
    flow.corrections = make_corrections(learnt=learnt, held_out=held_out)
    with caplog.at_level(logging.INFO):
        assert learn.learn.fn() is None
    assert reason in caplog.text
    assert "55 already in validation or test" in caplog.text
    assert list_steps(flow) == ["hold", "download", "learned", "leave"]


def test_a_missing_journal_is_named(flow, caplog):
    with caplog.at_level(logging.INFO):
        assert learn.learn.fn(LearningConfig(journal=Path("typo.jsonl"))) is None
    assert "journal typo.jsonl is missing" in caplog.text
    assert "decide" not in str(flow.done)
    result = invoke(learn.main, "--journal", "typo.jsonl")
    assert (result.exit_code, "journal typo.jsonl is missing" in result.stderr) == (1, True)
    Path("typo.jsonl").touch()
    caplog.clear()
    learn.learn.fn(LearningConfig(journal=Path("typo.jsonl")))
    assert "is missing" not in caplog.text


def test_failed_corrections_are_learnt_later(flow):
    flow.fails = "export"
    with pytest.raises(NmtError, match="a step fails"):
        learn.learn.fn()
    assert Path("params.yaml").read_text() == "before"
    assert not Path("judged").exists()
    assert not checkout.ASIDE.exists()


@pytest.mark.parametrize(("words", "undecided"), [((), True), (("--approved",), False)])
def test_undecided_corrections_are_learnt_by_default(stub_flow, words, undecided):
    settings = []
    Path("j.jsonl").touch()
    stub_flow.install(
        learn, check_server=lambda: None, run_in_child=nullcontext, learn=settings.append
    )
    result = invoke(learn.main, "--journal", "j.jsonl", *words)

    assert result.exit_code == 0, result.output
    assert settings == [LearningConfig(journal=Path("j.jsonl"), undecided=undecided)]
