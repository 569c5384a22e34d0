"""A night in small: what is asked for, what is written, what is told and what is sent."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from nmt_core.base import files
from nmt_core.base.languages import Languages
from nmt_core.evaluation.statistics.gate import Effect
from nmt_core.evaluation.statistics.settings import GateConfig
from nmt_core.training.chosen_average import ChosenAverage
from nmt_core.translation.memory.correction import Suggestion
from stages import paths
from stages.learning import contest, lesson
from stages.learning.contest import (
    EXAMPLES,
    LEAST_HELD_OUT,
    Learned,
    MissedCorrection,
    adapt_gate,
    count_right,
    decide_both,
    record_learned,
    render_learned,
)
from stages.registry.promotion import Contest
from tests.unit.stages.learning.test_contest import (
    CHALLENGER,
    LEARNT,
    SET_ASIDE,
    before,
    make_lesson,
    night,  # noqa: F401 - a fixture
    verdict,
)

DE_EN = Languages(source="de", target="en")


@pytest.mark.parametrize(
    ("languages", "status", "fate"),
    [
        (DE_EN, "dropped", "dropped_by_hand"),
        (DE_EN, "suggested", "superseded"),
        (DE_EN, "approved", "superseded"),
        (Languages(source="en", target="de"), "dropped", "other_languages"),
    ],
)
def test_what_is_not_chosen_has_a_fate(languages, status, fate):
    suggestion = Suggestion(languages=languages, source="a", target="b")
    correction = SimpleNamespace(suggestion=suggestion, status=status)
    assert lesson._name_fate(correction, DE_EN) == fate


# the contest


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [(["bleu", "chrf"], ["chrf", "bleu"]), (["chrf"], ["chrf"]), (["bleu"], ["chrf", "bleu"])],
)
def test_corrections_are_judged_by_chrf_first_and_without_slices(metrics, expected):
    gate = GateConfig(metrics=metrics, slices={"numbers": 1.0})
    adapted = adapt_gate(gate)
    assert (adapted.metrics, adapted.slices) == (expected, {})
    assert (gate.metrics, gate.slices) == (metrics, {"numbers": 1.0})


def test_right_is_what_is_as_corrected():
    assert count_right(["One.", "two", "x"], LEARNT) == 1
    with pytest.raises(ValueError, match="longer"):
        count_right(["One."], LEARNT)


def test_a_reason_holds_both_tests():
    found = decide_both(before(), verdict("promote"))
    assert found.reason == "on corrections set aside, so it is; on the text of before: r"
    found = decide_both(before("promote"), None)
    assert found.reason == (
        "fewer than 10 corrections are set aside to test on; on the text of before: r"
    )
    assert decide_both(before("reject"), None) == before("reject")


@pytest.mark.parametrize("count", [LEAST_HELD_OUT - 1, LEAST_HELD_OUT])
def test_ten_corrections_suffice_to_test_on_and_twenty_that_were_missed_to_show(
    night,  # noqa: F811
    monkeypatch,
    count,
):
    monkeypatch.setattr(contest, "judge", lambda *_, **__: verdict("promote"))
    learnt = [(f"L {n}", f"R {n}") for n in range(EXAMPLES + 5)]
    night.lay_down("held_out", SET_ASIDE[:count])
    night.lay_down("learnt", learnt)
    night.tables["old"] = dict(learnt[:2])
    night.tables["new"] = dict(learnt[:1])
    learned = night.run()
    assert (learned.held_out is not None) is (count >= 10)
    assert (learned.right_before, learned.right_after) == (2, 1)
    assert learned.missed == tuple(
        MissedCorrection(source=source, correction=target, translation="nothing at all")
        for source, target in learnt[1:21]
    )


# what is told


def effect(metric, **numbers):
    values = dict.fromkeys(Effect.model_fields, 0.5)
    return Effect.model_construct(**values | {"metric": metric, **numbers})


def learned(*, held_out=True, average=True, missed=True, judged=True):
    effects = (effect("chrf", champion=50.123, challenger=51.789, difference=1.666),)
    aside = verdict("promote").model_copy(update={"effects": effects, "sentences": 1234})
    given = verdict("hold") if judged else None
    return Learned.model_construct(
        contest=Contest(outcome="hold", reason="why", challenger="c", champion=1, verdict=given),
        lesson=make_lesson(
            learnt=3000,
            held_out=400,
            given=5000,
            dropped={"superseded": 1600, "noise": 2},
            examples={"noise": [("a|b", "c")], "superseded": [("d", "e")]},
        ),
        average=ChosenAverage(share=0.4, loss=2.01, initial_loss=2.0) if average else None,
        held_out=aside if held_out else None,
        right_before=1000,
        right_after=2000,
        missed=(MissedCorrection(source="s", correction="r", translation="t"),) * missed,
    )


@pytest.mark.parametrize("held_out", [True, False])
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("missed", [True, False])
def test_a_report_has_a_part_for_all_that_there_is(monkeypatch, held_out, average, missed):
    monkeypatch.setattr(contest, "render_tests", lambda verdict, told: f"TESTS {told.champion}")
    text = render_learned(learned(held_out=held_out, average=average, missed=missed))
    expected = [
        "**hold**: why.",
        "",
        "5,000 corrections, units of the memory among them if it was to be learnt:",
        "",
        "| what became of them | corrections |",
        "| --- | ---: |",
        "| learnt | 3,000 |",
        "| set aside, to be tested on | 400 |",
        "| another correction of the same text is newer, or approved | 1,600 |",
        "| filter noise | 2 |",
        "",
        "Of what was learnt, 2,000 of 3,000 are translated as they were corrected; the champion "
        "does so with 1,000.",
        "",
    ]
    if average:
        expected += [line for line in text.splitlines() if line.startswith("The finished model")]
        expected += [""]
    if held_out:
        expected += [
            "| 1,234 corrections set aside | champion | challenger |",
            "| --- | ---: | ---: |",
            "| chrF | 50.12 | 51.79 |",
            "",
        ]
    expected += ["## On the test set of before", "", "TESTS 1"]
    if missed:
        expected += ["## Learnt, and translated otherwise", ""]
        expected += ["| source | correction | translation |", "| --- | --- | --- |"]
        expected += ["| `s` | `r` | `t` |", ""]
    expected += [
        "## Not learnt, some of each",
        "",
        "| why | source | correction |",
        "| --- | --- | --- |",
        "| filter noise | `a¦b` | `c` |",
        "| another correction of the same text is newer, or approved | `d` | `e` |",
    ]
    assert text.splitlines() == expected
    assert len([line for line in expected if line.startswith("The finished")]) == average
    short = render_learned(learned(judged=False)).splitlines()
    assert short == expected[:10]


def test_outcome_and_reason_are_told_once():
    """Also where the report holds the tables of the gate."""
    told = learned()
    given = told.contest.verdict.model_copy(update={"effects": (effect("bleu"),)})
    told = told.model_copy(update={"contest": told.contest.model_copy(update={"verdict": given})})
    text = render_learned(told)
    assert text.count("**hold**: why.") == 1
    assert "| BLEU | 0.50 | 0.50 | +0.50 | p = 0.5000 |" in text


@pytest.mark.parametrize("whole", [True, False])
def test_what_a_night_brought_is_kept_and_sent(project, monkeypatch, whole):
    told = []

    @contextmanager
    def open_tracker(fingerprint, *, experiment):
        told.append(("open", fingerprint, experiment))
        yield SimpleNamespace(
            metrics=lambda numbers, step: told.append((numbers, step)),
            artifact=told.append,
        )

    monkeypatch.setattr(contest, "open_tracker", open_tracker)
    monkeypatch.setattr(contest, "render_learned", lambda _: "told")
    monkeypatch.setattr(Learned, "model_dump", lambda *_, **__: {"all": 1})
    record_learned(learned(held_out=whole, average=whole), CHALLENGER)
    folder = paths.RUNS / "f"
    assert files.read_json(folder / "learned.json") == {"all": 1}
    assert (folder / "learned.md").read_text() == "told"
    numbers = {
        "corrections_learnt": 3000.0,
        "corrections_right_before": 1000.0,
        "corrections_right_after": 2000.0,
    }
    if whole:
        numbers |= {"champion_share": 0.4, "corrections_chrf_difference": 1.666}
    assert told == [
        ("open", "f", paths.EXPERIMENT),
        (numbers, 0),
        folder / "learned.json",
        folder / "learned.md",
    ]
