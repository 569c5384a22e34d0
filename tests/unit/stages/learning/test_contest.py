"""A lesson is promoted if both tests agree; who poisons it is found by the text of before."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from nmt_core.base.config import build
from nmt_core.base.languages import Languages
from nmt_core.evaluation.statistics.gate import Candidate, Verdict
from nmt_core.evaluation.statistics.settings import GateConfig
from nmt_core.training.chosen_average import ChosenAverage
from stages.learning import contest
from stages.learning.contest import (
    Learned,
    decide_both,
    list_guards,
    render_learned,
    run_learning_contest,
)
from stages.learning.lesson import WrittenLesson
from stages.params import EvaluateParams
from stages.registry import promotion
from stages.registry.exported import Exported, HeldOut
from stages.registry.promotion import Contest
from stages.registry.settings import PromotionParams

DE_EN = Languages(source="de", target="en")
GATE = GateConfig(resamples=200, trials=200, significance=0.05)
SIDES = ("source", "target")


AVERAGE = ChosenAverage(share=0.4, loss=2.01, initial_loss=2.0)


def make_lesson(**given):
    values = {"digest": "d", "ids": [], "learnt": 3, "held_out": 40, "words": 9, "given": 50}
    return WrittenLesson(**values | {"dropped": {"alignment": 7}, "examples": {}} | given)


def exported(sources=("Ein Haus.",), references=("A house.",)):
    held_out = HeldOut([*sources], [*references])
    return Exported(Path("new"), "nmt-de-en", DE_EN, held_out, {"fingerprint": "f"}, AVERAGE)


CHALLENGER = exported()


def verdict(outcome):
    return Verdict(
        outcome=outcome,
        reason="so it is",
        effects=(),
        sentences=1,
        test_set="t",
        signatures=[],
        gate=GATE,
    )


def before(outcome="hold"):
    given = None if outcome in ("same", "first") else verdict(outcome)
    return Contest(outcome=outcome, reason="r", challenger="c", champion=1, verdict=given)


@pytest.mark.parametrize(
    ("old", "corrections", "outcome"),
    [
        ("hold", "promote", "promote"),
        ("promote", "promote", "promote"),
        ("reject", "promote", "reject"),
        ("promote", "hold", "hold"),
        ("hold", "reject", "reject"),
        ("promote", None, "hold"),
    ],
)
def test_both_tests_must_agree(old, corrections, outcome):
    found = decide_both(before(old), corrections and verdict(corrections))
    assert found.outcome == outcome
    assert found.champion == 1


@pytest.fixture
def night(tmp_path, monkeypatch):
    """A lesson on the disk, and two systems that translate by a table each."""
    tables = {"old": {}, "new": {}}

    def lay_down(name, pairs):
        for number, side in enumerate(SIDES):
            text = "".join(f"{pair[number]}\n" for pair in pairs)
            (tmp_path / f"{name}.{side}").write_text(text)

    def translate(name, folder, text, recased, device):
        assert not recased
        lines = [tables[str(folder)].get(source, "nothing at all") for source in text.sources]
        return Candidate(name, *text, lines)

    def run_contest(registry, challenger, params, *, gate, promotion):
        night.gate, night.promotion = gate, promotion
        return night.before

    registry = SimpleNamespace(
        version=lambda number: SimpleNamespace(number=number),
        fetch=lambda version, folder: Path("old"),
    )
    monkeypatch.setattr(promotion, "translate_test_set", translate)
    monkeypatch.setattr(contest, "run_contest", run_contest)
    night = SimpleNamespace(tables=tables, lay_down=lay_down, before=before(), folder=tmp_path)
    night.run = lambda challenger=CHALLENGER, gate=GATE, **slices: run_learning_contest(
        registry,
        challenger,
        make_lesson(),
        EvaluateParams(device="cpu"),
        gate=gate,
        promotion=PromotionParams(slices=slices),
        folder=tmp_path,
    )
    return night


SET_ASIDE = [(f"Satz {n} über Eulen.", f"Sentence {n} about owls.") for n in range(40)]
LEARNT = [("Eins.", "One."), ("Zwei.", "Two."), ("Drei.", "Three.")]


def test_what_is_better_on_corrections_set_aside_wins(night):
    night.lay_down("held_out", SET_ASIDE)
    night.lay_down("learnt", LEARNT)
    night.tables["new"] = dict(SET_ASIDE) | {"Eins.": "One.", "Zwei.": "Two.", "Drei.": "Tree."}
    night.tables["old"] = {"Eins.": "One."}
    learned = night.run()
    assert learned.contest.outcome == "promote"
    assert (learned.right_before, learned.right_after) == (1, 2)
    assert learned.held_out.sentences == 40
    [missed] = learned.missed
    assert (missed.source, missed.correction, missed.translation) == ("Drei.", "Three.", "Tree.")
    report = render_learned(learned)
    assert "The finished model is 0.4 of the initial one" in report
    assert learned.average == AVERAGE
    assert build(Learned, learned.model_dump(mode="json"), at="learned") == learned


def test_what_is_as_good_as_before_is_held(night):
    night.lay_down("held_out", SET_ASIDE)
    night.lay_down("learnt", LEARNT)
    night.tables["new"] = night.tables["old"] = dict(SET_ASIDE)
    assert night.run().contest.outcome == "hold"


def test_words_that_are_nearly_right_are_better_though_bleu_sees_nothing(night):
    night.lay_down("held_out", SET_ASIDE)
    night.lay_down("learnt", LEARNT)
    night.tables["new"] = {source: f"Sentences{source[5:7]}abouts owl" for source, _ in SET_ASIDE}
    learned = night.run()
    first, second = learned.held_out.effects
    assert (first.metric, second.metric) == ("chrf", "bleu")
    assert second.better > GATE.significance
    assert learned.contest.outcome == "promote"


def test_more_letters_right_are_no_gain_where_bleu_is_worse(night):
    night.lay_down("held_out", SET_ASIDE)
    night.lay_down("learnt", LEARNT)
    night.tables["old"] = {source: "Sentence about owls." for source, _ in SET_ASIDE}
    night.tables["new"] = {source: f"Sentences{source[5:7]}about owls ." for source, _ in SET_ASIDE}
    learned = night.run()
    first, second = learned.held_out.effects
    assert first.gain > 0 > second.gain
    assert learned.contest.outcome == "reject"


def test_too_few_to_test_on_are_no_reason_to_change(night):
    night.lay_down("held_out", SET_ASIDE[:9])
    night.lay_down("learnt", LEARNT)
    night.tables["new"] = dict(SET_ASIDE)
    learned = night.run()
    assert learned.contest.outcome == "hold"
    assert "fewer than 10 corrections are set aside" in learned.contest.reason


def test_nobody_translates_where_there_is_nobody_to_beat(night):
    night.before = before("first")
    learned = night.run()
    assert learned.contest.outcome == "first"
    assert learned.held_out is None
    assert render_learned(learned)


def test_negation_and_numbers_of_the_text_of_before_are_guarded(night):
    negated = [f"Das Haus {n} ist nicht alt." for n in range(100)]
    references = [f"House {n} is not old." for n in range(100)]
    assert [*list_guards(exported(negated, references))] == ["negation", "numbers"]
    assert list_guards(exported(negated[:99], references[:99])) == {}
    night.before = before("same")
    night.run(exported(negated, references))
    assert night.gate.slices == {"negation": 2.0, "numbers": 2.0}
    assert night.promotion == PromotionParams()
    own = {"numbers": 0.5, "questions": 1.0}  # which count more
    night.run(exported(negated, references), GATE.model_copy(update={"slices": own}))
    assert night.gate.slices == {"negation": 2.0, **own}


def test_a_guard_allows_no_more_than_the_operator_does(night):
    negated = exported([f"Haus {n} ist nicht alt." for n in range(100)], ["House."] * 100)
    night.before = before("same")
    night.run(negated, numbers=0.5, negation=9.0, questions=1.0)
    assert {**night.promotion.slices, **night.gate.slices} == {
        "numbers": 0.5,
        "negation": 2.0,
        "questions": 1.0,
    }


def test_text_of_users_is_no_markup_in_the_report():
    nasty = "<script>alert(1)</script> | `x` " + "y" * 200
    lesson = make_lesson(examples={"also_tested": [(nasty, nasty)]})
    shown = render_learned(Learned(contest=decide_both(before(), None), lesson=lesson))
    [line] = [line for line in shown.splitlines() if "script" in line]
    assert line.count("|") == 4
    assert line.count("`") == 4
    assert len(line) < 320
