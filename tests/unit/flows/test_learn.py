"""What learning does, in which order, without servers and without training."""

import logging
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows import learn
from nmt_core.base.errors import NmtError
from stages.learning.correction_corpus import CorrectionCorpus
from stages.learning.judgement import Learned
from stages.learning.settings import LearningConfig
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
def flow(monkeypatch, tmp_path):
    """The flow with all that it does noted in the place of being done."""
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text("before")
    Path("corrections.jsonl").touch()
    state = SimpleNamespace(done=[], corrections=make_corrections(), judged=set(), fails=None)

    @contextmanager
    def hold_clone(_):
        state.done.append("held")
        yield
        state.done.append("let go")

    def run_stages(stages, *, shared, nodes=None):
        state.done.append((stages, Path("params.yaml").read_text(), *([nodes] if nodes else [])))
        if stages == state.fails:
            raise NmtError("a stage fails")

    def decide(corrections, gate, *, promotion, by):
        state.done.append(("decide", corrections.digest, promotion, by))
        return learned()

    run = SimpleNamespace(get_name=lambda: "learn de-en", get_id=lambda: "number")
    clone = SimpleNamespace(hold_clone=hold_clone, put_params=Path("params.yaml").write_text)
    for name, value in {
        "clone": clone,
        "introduce": lambda: None,
        "run_stages": run_stages,
        "plan_stages": lambda until: f"until {until}",
        "load": lambda *_: SimpleNamespace(languages="l", filter="f"),
        "write_corrections": lambda learning, languages, filters: state.corrections,
        "compose_params": lambda *_: "of the corrections",
        "check_text": lambda test_set: state.done.append(("look", test_set)),
        "was_judged": lambda corrections, *settings: corrections.digest in state.judged,
        "note_judged": lambda corrections, *settings: state.judged.add(corrections.digest),
        "decide_learned": decide,
        "publish": lambda: state.done.append("published"),
        "flow_run": run,
        "get_run_logger": lambda: logging.getLogger("test"),
        "create_markdown_artifact": lambda text, *, key, description: state.done.append(key),
    }.items():
        monkeypatch.setattr(learn, name, value)
    return state


def test_corrections_are_learnt_judged_and_reported(flow):
    assert learn.learn.fn().contest.outcome == "promote"
    assert flow.done == [
        "held",
        ("until download", "before"),
        ("look", "same"),
        ("until export", "of the corrections"),
        "published",
        ("decide", "d", "number", "flow run learn de-en"),
        "let go",
        "learned",
    ]
    assert Path("params.yaml").read_text() == "before"
    assert flow.judged == {"d"}


def test_nothing_is_trained_where_there_is_nothing_new(flow):
    flow.judged = {"d"}
    assert learn.learn.fn() is None
    assert flow.done == ["held", ("until download", "before"), "let go"]
    flow.corrections = make_corrections(learnt=30, digest="another")
    assert learn.learn.fn(LearningConfig(least=30))


@pytest.mark.parametrize(
    ("learnt", "held_out", "reason"),
    [
        (29, 10, "about 2 more corrections are needed for a verdict: 29 can be learnt"),
        (47, 7, "about 30 more corrections are needed for a verdict: 47 can be learnt"),
        (0, 0, "about 100 more corrections are needed for a verdict: 0 can be learnt"),
    ],
)
def test_nothing_is_trained_without_a_verdict(flow, caplog, learnt, held_out, reason):
    """A setting trains without a verdict; the log names the reasons in both cases."""
    flow.corrections = make_corrections(learnt=learnt, held_out=held_out)
    with caplog.at_level(logging.INFO):
        assert learn.learn.fn() is None
    assert reason in caplog.text
    assert "55 stands in validation or test" in caplog.text
    assert flow.done == ["held", ("until download", "before"), "learned", "let go"]
    assert (learn.learn.fn(LearningConfig(without_verdict=True)) is None) is not bool(learnt)


def test_a_journal_that_is_not_there_is_named(flow, caplog):
    with caplog.at_level(logging.INFO):
        assert learn.learn.fn(LearningConfig(journal=Path("typo.jsonl"))) is None
    assert "there is no journal typo.jsonl" in caplog.text
    assert "decide" not in str(flow.done)
    result = invoke(learn.main, "--journal", "typo.jsonl")
    assert (result.exit_code, "there is no journal typo.jsonl" in result.stderr) == (1, True)
    Path("typo.jsonl").touch()
    caplog.clear()
    learn.learn.fn(LearningConfig(journal=Path("typo.jsonl")))
    assert "there is no journal" not in caplog.text


def test_failed_corrections_are_learnt_later(flow):
    flow.fails = "until export"
    with pytest.raises(NmtError, match="a stage fails"):
        learn.learn.fn()
    assert Path("params.yaml").read_text() == "before"
    assert not flow.judged
    assert not checkout.ASIDE.exists()


@pytest.mark.parametrize(
    ("words", "undecided", "memory"),
    [((), True, None), (("--approved", "--memory", "m.db"), False, Path("m.db"))],
)
def test_learning_takes_what_nobody_decided_unless_told(
    monkeypatch, tmp_path, words, undecided, memory
):
    asked = []
    monkeypatch.chdir(tmp_path)
    Path("j.jsonl").touch()
    monkeypatch.setattr(learn, "plan_stages", lambda _: None)
    monkeypatch.setattr(learn, "check_server", lambda: None)
    monkeypatch.setattr(learn, "leave_nothing_behind", nullcontext)
    monkeypatch.setattr(learn, "learn", asked.append)
    result = invoke(learn.main, "--journal", "j.jsonl", *words)

    assert result.exit_code == 0, result.output
    assert asked == [LearningConfig(journal=Path("j.jsonl"), memory=memory, undecided=undecided)]
