"""Corrections are promoted if both tests agree; the earlier test set finds poisoned corrections."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from nmt_core.base import files
from nmt_core.base.config import build
from nmt_core.base.languages import Languages
from nmt_core.evaluation.gate import Candidate, Effect, Verdict
from nmt_core.evaluation.registry import GateConfig
from stages import paths
from stages.learning import judgement
from stages.learning.correction_corpus import FOLDER, CorrectionCorpus
from stages.learning.judgement import (
    MIN_HELD_OUT,
    Learned,
    adapt_gate,
    decide_both,
    judge_learning,
    list_guards,
    record_learned,
    render_learned,
)
from stages.params import EvaluateParams, PromotionParams
from stages.registry import promotion
from stages.registry.exported import Exported, HeldOut
from stages.registry.promotion import Contest
from stages.tracking.journal import Journal
from stages.tracking.tracker import open_tracker

DE_EN = Languages(source="de", target="en")
GATE = GateConfig(resamples=200, trials=200, significance=0.05)
HELD_OUT = [(f"Satz {n} über Eulen.", f"Sentence {n} about owls.") for n in range(40)]


def make_corrections(**changes):
    values = {"digest": "d", "ids": [], "learnt": 3, "held_out": 40, "words": 9, "given": 50}
    return CorrectionCorpus(**values | {"dropped": {"alignment": 7}, "examples": {}} | changes)


def make_export(sources=("Ein Haus.",), references=("A house.",)):
    held_out = HeldOut([*sources], [*references])
    return Exported(Path("new"), "nmt-de-en", DE_EN, held_out, {"fingerprint": "f"})


CHALLENGER = make_export()
NEGATED = make_export([f"Haus {n} ist nicht alt." for n in range(100)], ["House."] * 100)


def make_verdict(outcome, **changes):
    values = {"outcome": outcome, "reason": "so it is", "effects": (), "sentences": 1}
    return Verdict(**values | {"test_set": "t", "signatures": [], "gate": GATE} | changes)


def make_contest(outcome="hold"):
    verdict = None if outcome in ("same", "first") else make_verdict(outcome)
    return Contest(outcome=outcome, reason="r", challenger="c", champion=1, verdict=verdict)


@pytest.mark.parametrize(
    ("earlier", "corrections", "outcome", "reason"),
    [
        ("hold", "promote", "promote", "on held-out corrections, so it is; on the earlier"),
        ("promote", "promote", "promote", "so it is"),
        ("reject", "promote", "reject", "r"),
        ("reject", None, "reject", "r"),
        ("promote", "hold", "hold", "so it is"),
        ("hold", "reject", "reject", "so it is"),
        ("promote", None, "hold", "fewer than 10 corrections"),
    ],
)
def test_both_tests_must_agree(earlier, corrections, outcome, reason):
    decided = decide_both(make_contest(earlier), corrections and make_verdict(corrections))
    assert (decided.outcome, decided.champion) == (outcome, 1)
    assert reason in decided.reason


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [(["bleu", "chrf"], ["chrf", "bleu"]), (["chrf"], ["chrf"]), (["bleu"], ["chrf", "bleu"])],
)
def test_corrections_are_judged_by_chrf_and_without_slices(metrics, expected):
    adapted = adapt_gate(GateConfig(metrics=metrics, slices={"numbers": 1.0}))
    assert (adapted.metrics, adapted.slices) == (expected, {})


@pytest.fixture
def systems(project, monkeypatch):
    """Write corrections, and make two systems translate by a table each."""
    tables = {"old": {}, "new": {}}

    def write(name, pairs):
        for number, side in enumerate(("source", "target")):
            files.write_lines(FOLDER / f"{name}.{side}", [pair[number] for pair in pairs])

    def translate(name, folder, text, recased, device):
        assert not recased
        lines = [tables[str(folder)].get(source, "nothing at all") for source in text.sources]
        return Candidate(name, *text[:2], lines)

    def run_contest(registry, challenger, params, *, gate, promotion):
        systems.gate, systems.promotion = gate, promotion
        return systems.earlier

    registry = SimpleNamespace(
        version=lambda number: SimpleNamespace(number=number),
        fetch=lambda version, folder: Path("old"),
    )
    monkeypatch.setattr(promotion, "translate_test_set", translate)
    monkeypatch.setattr(judgement, "run_contest", run_contest)
    systems = SimpleNamespace(tables=tables, write=write, earlier=make_contest())
    write("held_out", HELD_OUT)
    systems.run = lambda challenger=CHALLENGER, gate=GATE, **slices: judge_learning(
        registry,
        challenger,
        make_corrections(),
        EvaluateParams(device="cpu"),
        gate=gate,
        promotion=PromotionParams(slices=slices),
    )
    return systems


def test_better_translations_of_corrections_win(systems):
    systems.tables["new"] = dict(HELD_OUT)
    learned = systems.run()

    assert (learned.contest.outcome, learned.held_out.sentences) == ("promote", 40)
    assert build(Learned, learned.model_dump(mode="json"), at="learned") == learned


OWLS = {source: "Sentence about owls." for source, _ in HELD_OUT}


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [
        (dict(HELD_OUT), dict(HELD_OUT), "hold"),
        # chrF counts words that are nearly right, and BLEU does not
        ({}, {source: f"Sentences{source[5:7]}abouts owl" for source, _ in HELD_OUT}, "promote"),
        # more letters are right, and fewer words
        (OWLS, {source: f"Sentences{source[5:7]}about owls ." for source, _ in HELD_OUT}, "reject"),
    ],
)
def test_chrf_decides_unless_bleu_is_worse(systems, old, new, outcome):
    systems.tables |= {"old": old, "new": new}
    learned = systems.run()

    assert learned.contest.outcome == outcome
    assert [effect.metric for effect in learned.held_out.effects] == ["chrf", "bleu"]


@pytest.mark.parametrize("count", [MIN_HELD_OUT - 1, MIN_HELD_OUT])
def test_ten_corrections_are_enough_to_test(systems, count):
    systems.write("held_out", HELD_OUT[:count])

    assert (systems.run().held_out is not None) is (count >= 10)


def test_nothing_is_translated_without_a_champion(systems):
    systems.earlier = make_contest("first")
    learned = systems.run()

    assert (learned.contest.outcome, learned.held_out) == ("first", None)
    assert render_learned(learned)


@pytest.mark.parametrize(
    ("slices", "own", "expected"),
    [
        ({}, {}, {"negation": 2.0, "numbers": 2.0}),
        ({}, {"numbers": 5.0, "questions": 1.0},
         {"negation": 2.0, "numbers": 5.0, "questions": 1.0}),
        ({"numbers": 0.5, "negation": 9.0}, {}, {"negation": 2.0, "numbers": 0.5}),
    ],
)  # fmt: skip
def test_negation_and_numbers_must_not_get_worse(systems, slices, own, expected):
    """The flow's bounds come first; of the operator's and ours, the stricter applies."""
    systems.earlier = make_contest("same")
    systems.run(NEGATED, GATE.model_copy(update={"slices": own}), **slices)

    assert systems.gate.slices == expected
    assert systems.promotion == PromotionParams(slices=slices)


def test_slices_of_few_sentences_are_not_guarded():
    sources, references, _ = NEGATED.held_out
    assert [*list_guards(NEGATED)] == ["negation", "numbers"]
    assert list_guards(make_export(sources[:99], references[:99])) == {}


# reports


def make_learned(*, held_out=True, judged=True):
    numbers = {"champion": 50.123, "challenger": 51.789, "difference": 1.666}
    p_values = dict.fromkeys(("better", "worse", "bootstrap", "randomization"), 0.5)
    effect = Effect(metric="chrf", **numbers, **p_values)
    verdict = make_verdict("hold", effects=(effect,)) if judged else None
    return Learned(
        contest=Contest(outcome="hold", reason="why", challenger="c", champion=1, verdict=verdict),
        corrections=make_corrections(
            learnt=3000,
            held_out=400,
            given=5000,
            dropped={"superseded": 1600, "noise": 2},
            examples={"noise": [("a|b", "c")], "superseded": [("d", "e" * 200)]},
        ),
        held_out=make_verdict("promote", effects=(effect,), sentences=1234) if held_out else None,
    )


PARTS = {
    "held_out": "| 1,234 held-out corrections | champion | challenger |\n"
    "| --- | ---: | ---: |\n| chrF | 50.12 | 51.79 |",
    "judged": "| chrF | 50.12 | 51.79 | +1.67 | p = 0.5000 |",
}


@pytest.mark.parametrize("absent", ["", *PARTS])
def test_report_has_a_part_for_each_result(absent):
    text = render_learned(make_learned(**({absent: False} if absent else {})))

    assert text.startswith("**hold**: why.\n\n5,000 corrections")
    assert text.count("**hold**: why.") == 1
    for row in ("to train on | 3,000", "held out | 400", "filter noise | 2"):
        assert f"\n| {row} |\n" in text
    whole = absent != "judged"
    for name, part in PARTS.items():
        assert (part in text) is (whole and name != absent)
    assert (r"| filter noise | ` a\|b ` | ` c ` |" in text) is whole  # users' text is not markup
    assert len(text.splitlines()[-1]) < 250
    assert "\n\n\n" not in text


@pytest.mark.parametrize("whole", [True, False])
def test_results_are_kept_with_the_run(project, monkeypatch, whole):
    learned = make_learned(held_out=whole)
    monkeypatch.setattr(promotion, "open_tracker", partial(open_tracker, enabled=False))
    record_learned(learned, CHALLENGER)
    folder = paths.RUNS / "f"
    entries, _ = Journal("f").read()

    assert build(Learned, files.read_json(folder / "learned.json"), at="learned") == learned
    assert (folder / "learned.md").read_text() == render_learned(learned)
    [numbers] = [entry["values"] for entry in entries if entry["kind"] == "metrics"]
    expected = {"learnt": 3000} | ({"chrf_difference": 1.666} if whole else {})
    assert numbers == {f"corrections_{name}": n for name, n in expected.items()}
    kept = [entry["name"] for entry in entries if entry["kind"] == "artifact"]
    assert kept == ["learned.json", "learned.md"]
