"""Which models are compared, and what is recorded; integration tests compare real models."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import GIVEN
from nmt_core.evaluation.gate import Condition, Effect, GateConfig, Verdict
from nmt_core.evaluation.registry import load_metric
from stages import paths
from stages.params import EvaluateParams, PromotionParams
from stages.registry import promotion
from stages.registry.exported import Exported, HeldOut
from stages.registry.promotion import (
    Contest,
    check_same_test_set,
    check_test_set,
    enact,
    recase,
    record_verdict,
    render_verdict,
    run_contest,
    translate_test_set,
)
from stages.registry.registry import RegistryAwayError, RegistryError, Version
from stages.tracking.journal import Journal
from stages.tracking.tracker import open_tracker

HASH = "by hash, 10 in 10,000, salt 'nmt'"
TAGS = {
    "fingerprint": "f",
    "bundle_sha256": "c",
    "test_set": "today's",
    "held_out": HASH,
    "signature": load_metric("bleu", "en").signature,
}
GERMAN = Languages(source="de", target="en")
CHALLENGER = Exported(Path("models/export"), "nmt-de-en", GERMAN, HeldOut(["a"], ["b"]), TAGS)


def expect(error, words):
    return pytest.raises(error, match=words) if words else nullcontext()


OLD = {"test_set": "old"}
OLD_GIVEN = OLD | {"held_out": GIVEN}
OTHER_SCORE = {"signature": "BLEU|version:1.0"}


@pytest.mark.parametrize(
    ("champion", "held_out", "same", "current"),
    [
        ({}, HASH, None, None),
        ({"held_out": GIVEN}, HASH, None, None),
        (OLD | OTHER_SCORE, HASH, r"another test set.*test_set=current", None),
        (OTHER_SCORE, HASH, r"scored with BLEU\|version:1\.0", None),
        (OLD, "by the grammar", "another test set", "may have been trained"),
        (OLD_GIVEN, HASH, "another", "may have been trained"),
        (OLD, GIVEN, "another", "may have been trained"),
        (OLD_GIVEN, GIVEN, "another", "may have been trained"),
    ],
)
def test_unfair_test_sets_are_refused(champion, held_out, same, current):
    version, tags = Version(number=3, tags=TAGS | champion), TAGS | {"held_out": held_out}
    for test_set, words in (("same", same), ("current", current)):
        with expect(NmtError, words):
            check_same_test_set(version, tags, test_set)
    with pytest.raises(RegistryError, match="has no tag 'test_set'"):
        check_same_test_set(Version(number=3, tags={}), tags, "same")


TESTED = {
    "test_set": HeldOut(["Ein Haus."], ["A house."]).digest,
    "held_out": HASH,
    "signature": load_metric("bleu", "zh").signature,
}


@pytest.mark.parametrize(
    ("champion", "refused"),
    [
        (TESTED, None),
        (None, None),
        (RegistryAwayError("MLflow is away"), None),
        (TESTED | {"test_set": "older"}, "promoted on another test set"),
        (TESTED | {"signature": load_metric("bleu", "de").signature}, "was scored with BLEU"),
        (RegistryError("it is broken"), "it is broken"),
    ],
)
def test_test_set_can_be_refused_before_training(project, champion, refused):
    files.write_json(paths.CORPUS / "corpus.json", {})
    files.write_lines(paths.CORPUS / "test.source", ["Ein Haus."])
    files.write_lines(paths.CORPUS / "test.target", ["A house."])
    files.write_json(paths.REPORTS / "download.json", {"corpus": {"held_out": HASH}})

    def find_champion():
        if isinstance(champion, Exception):
            raise champion
        return champion and Version(number=3, tags=champion)

    registry = SimpleNamespace(champion=find_champion)
    download = SimpleNamespace(languages=Languages(source="de", target="zh"))
    with expect(NmtError, refused):
        check_test_set(registry, download, EvaluateParams(metrics=["bleu", "chrf"]), "same")


def look_up(translations, lines, directions):
    return [SimpleNamespace(text=translations.get(line, line)) for line in lines]


@pytest.fixture
def contest(monkeypatch):
    """Return a contest with version 3, in which the champion writes other lines."""

    def run(lines, old, *, source="de", target="en", digest="new", gate=None, **more):
        written = {CHALLENGER.folder: lines, Path("3"): old}
        systems = {
            folder: SimpleNamespace(
                translate_mixed=partial(look_up, dict(zip(lines, of, strict=True)))
            )
            for folder, of in written.items()
        }
        monkeypatch.setattr(promotion.Translator, "load", lambda folder, **_: systems[folder])
        registry = SimpleNamespace(
            name="nmt-de-en",
            champion=lambda: Version(number=3, tags=TAGS),
            fetch=lambda version, folder: Path(str(version.number)),
        )
        languages = Languages(source=source, target=target)
        tags = TAGS | {"bundle_sha256": digest}
        held_out = HeldOut(lines, lines)
        challenger = replace(CHALLENGER, languages=languages, tags=tags, held_out=held_out)
        return run_contest(
            registry, challenger, EvaluateParams(), gate=gate or GateConfig(), **more
        )

    return run


def test_both_are_judged_in_the_challengers_language(contest):
    lines = ["欧洲议会昨天批准了这项建议。", "理事会主席表示同意。"] * 9
    outcome = contest(lines, [line[3:] for line in lines], target="zh")
    [effect, *_] = outcome.verdict.effects

    assert (outcome.outcome, outcome.challenger, outcome.champion) == ("promote", "new", 3)
    assert outcome.reason == outcome.verdict.reason
    assert 0 < effect.champion < effect.challenger


def test_contests_that_need_no_translation(contest, monkeypatch):
    monkeypatch.setattr(promotion, "translate_by_both", lambda *_, **__: pytest.fail("too late"))
    assert contest(["a"], ["a"], digest="c").outcome == "same"
    registry = SimpleNamespace(name="nmt-de-en", champion=lambda: None)
    outcome = run_contest(registry, CHALLENGER, EvaluateParams(), gate=GateConfig())
    assert (outcome.outcome, outcome.champion, outcome.verdict) == ("first", None, None)


def test_slices_of_params_and_flow_are_kept(contest):
    lines = [f"The Committee has met {n} times." for n in range(30)]
    settings = PromotionParams(slices={"numbers": 1.0, "short": 0.5})
    gate = GateConfig(slices={"numbers": 2.0}, resamples=100, trials=100)
    outcome = contest(lines, lines, source="en", target="de", gate=gate, promotion=settings)
    bounds = {one.name: (one.bound, one.sentences) for one in outcome.verdict.conditions[1:]}

    assert bounds == {"case": (None, 30), "slice_numbers": (2.0, 30), "slice_short": (0.5, 30)}


def test_some_lines_are_translated_in_other_case(tmp_path, monkeypatch):
    lines = [f"Der {word} Hund schläft." for word in "abcdefgh"]
    recased = dict(recase([*lines, "1 2 3"] * 3, 1, 6))
    assert {line.isupper() for line in recased.values()} == {True, False}
    assert all(lines[number % 9].lower() == line.lower() for number, line in recased.items())

    echo = SimpleNamespace(
        translate_mixed=partial(look_up, {line: f"> {line}" for line in [*lines, "X"]})
    )
    monkeypatch.setattr(promotion.Translator, "load", lambda *_, **__: echo)
    held_out = HeldOut(lines, lines)
    candidate = translate_test_set("it", tmp_path, held_out, {5: "X"}, torch.device("cpu"))
    assert candidate.hypotheses == [f"> {line}" for line in lines]
    assert candidate.recased == {5: "> X"}


# what is recorded

P_VALUES = {"better": 0.02, "worse": 0.99, "bootstrap": 0.0123456789, "randomization": 0.02}
EFFECTS = (
    Effect(metric=name, champion=20.0, challenger=21.5, difference=1.5, **P_VALUES)
    for name in ("bleu", "chrf")
)
KEPT = {"sentences": 153, "champion": 100.0, "challenger": 96.5, "worse": 0.0312345678}
VERDICT = Verdict(
    outcome="promote",
    reason="it is better",
    effects=tuple(EFFECTS),
    conditions=(
        Condition(name="literals", label="kept", **KEPT),
        Condition(name="case", label="in other case", sentences=0),
    ),
    sentences=1000,
    test_set="today's",
    signatures=[load_metric(name, "en").signature for name in ("bleu", "chrf")],
    gate=GateConfig(),
)


def make_contest(verdict=VERDICT, **changes):
    values = {"outcome": "promote", "reason": "it is better", "champion": 3} | changes
    return Contest(challenger="c", verdict=verdict, **values)


FIRST = make_contest(None, outcome="first", reason="there was none", champion=None)


def test_verdict_is_kept_with_the_run(project, monkeypatch):
    monkeypatch.setattr(promotion, "open_tracker", partial(open_tracker, enabled=False))
    record_verdict(make_contest(None, outcome="same"), CHALLENGER)
    assert not Path("runs").exists()
    record_verdict(make_contest(), CHALLENGER)
    folder, report = Path("runs/f"), render_verdict(make_contest())
    entries, _ = Journal("f").read()
    tags = {"gate_outcome": "promote", "gate_reason": "it is better", "gate_refused_by": ""}
    effect = {"difference": 1.5, "better_p": 0.02, "worse_p": 0.99}
    literals = {"champion": 100.0, "challenger": 96.5, "worse_p": 0.0312345678}
    kept = {"bleu": effect, "chrf": effect, "literals": literals}

    assert Contest.model_validate_json((folder / "promotion.json").read_bytes()) == make_contest()
    assert (folder / "promotion.md").read_text() == report
    assert entries[0]["tags"].items() >= tags.items()
    [numbers] = [one["values"] for one in entries if one["kind"] == "metrics"]
    assert numbers == {
        f"gate_{score}_{name}": value
        for score, values in kept.items()
        for name, value in values.items()
    }
    artifacts = [one["name"] for one in entries if one["kind"] == "artifact"]
    assert artifacts == ["promotion.json", "promotion.md"]
    for cells in (
        "| | version 3 | challenger | difference | bootstrap | randomization |",
        "| BLEU | 20.00 | 21.50 | +1.50 | p = 0.0123 | p = 0.0200 |",
        "1,000 sentences; p of BLEU must not exceed 0.04",
        "- kept: 96.50, the champion 100.00, on 153 sentences",
        "- in other case: not compared",
    ):
        assert cells in report
    assert render_verdict(FIRST) == "**first**: there was none.\n"


@pytest.mark.parametrize("outcome", ["promote", "hold", "reject", "first", "same"])
def test_winners_are_promoted_with_their_evidence(outcome):
    contest = make_contest(outcome=outcome)
    calls = []
    registry = SimpleNamespace(
        version_holding=lambda exported: Version(number=4, tags=exported.tags),
        promote=lambda number, **wish: not calls.append((number, wish)),
    )
    wins = outcome in ("promote", "first")
    evidence = {name: TAGS[name] for name in ("test_set", "held_out", "signature")}
    wish = {"promotion": "p", "by": "me", "reason": "it is better", "evidence": evidence}

    assert enact(registry, contest, CHALLENGER, promotion="p", by="me") == contest.won == wins
    assert calls == [(4, {"expected": 3, **wish})] * wins
