"""The verdict on a run: each fault is named with its remedy, and no other."""

import pytest

from tests.support.run_pages import MEASURED, TRAINING, judge, make_confidence

FINE = MEASURED | {"confidence": make_confidence()}
FAILURES = MEASURED["failures"]


def losses(*values):
    return {"history": [{"validation_loss": loss} for loss in values]}


def failures(**counts):
    return {"failures": FAILURES | counts}


FAULTS = [  # changes of the evaluation and of the run, what the remark says, whether it blocks
    ({}, {"good": 199}, "49% of the test sentences", True),
    ({"bleu_high": 35.6}, {}, "interval of 6.1 points", True),
    ({"sentences": 199}, {"good": 150}, "199 sentences", True),
    (failures(copied=3, looping=2), {}, "3 copied, 2 in loops", True),
    ({"literals": {"lines": 50, "kept": 30}}, {}, "30 of 50", True),
    ({"literals": {"lines": 50, "kept": 47}}, {}, "47 of 50", False),
    ({}, losses(4.0, 3.5), "from 4.000 to 3.500", False),
    ({"confidence": {"missing": "too few"}}, {}, "too few", False),
    ({"confidence": make_confidence(error=0.11)}, {}, "errs by 0.11", False),
    ({"length_ratio": 0.94}, {}, "too short: they have 0.94", False),
    ({"length_ratio": 1.07}, {}, "too long: they have 1.07", False),
]


@pytest.mark.parametrize(("measured", "changes", "told", "blocks"), FAULTS)
def test_each_fault_is_named(measured, changes, told, blocks):
    verdict = judge(FINE | measured, **({"history": TRAINING["history"]} | changes))
    [remark] = verdict.remarks

    assert told in remark.what
    assert remark.blocks is blocks
    assert verdict.ready is not blocks
    if blocks:
        assert remark.what[1:] in verdict.summary


@pytest.mark.parametrize(
    ("measured", "changes"),
    [
        ({}, {"good": 200}),
        ({"sentences": 200}, {"good": 150}),
        (failures(looping=4), {}),
        (failures(detached_full_stop=400), {}),
        ({"literals": {"lines": 100, "kept": 95}}, {}),
        ({"literals": {"lines": 0, "kept": 0}}, {}),
        ({"length_ratio": 0.96}, {}),
        ({"length_ratio": 1.06}, {}),
        ({"confidence": make_confidence(error=0.1, area=0.65)}, {}),
        ({"confidence": make_confidence(none=True)}, {}),
        ({}, losses(4.0, 3.99)),
        ({}, losses(4.0, 3.0, 3.1)),
        ({}, losses(3.0, 4.0, 3.5)),
        ({}, losses(4.0)),
    ],
)
def test_measures_within_bounds_are_no_fault(measured, changes):
    verdict = judge(FINE | measured, **changes)

    assert (verdict.ready, verdict.remarks) == (True, ())
    assert verdict.summary.startswith("Ready")


@pytest.mark.parametrize(
    ("good", "share"), [(199, "49%"), (200, "50%"), (399, "99%"), (400, "100%")]
)
def test_shares_are_rounded_down(good, share):
    assert f" {share} of " in f" {judge(FINE, good=good).summary[11:]}"


def test_blocking_remarks_come_first():
    few = {"sentences": 199, "confidence": {"missing": "too few"}}
    verdict = judge(FINE | few | {"length_ratio": 0.9}, good=150)

    assert [remark.blocks for remark in verdict.remarks] == [True, False, False]
    assert "download.split.test_per_10000" in verdict.remarks[0].advice
    assert "download.split.validation_per_10000" in verdict.remarks[2].advice
    assert verdict.summary.startswith("Not ready: the test set is too small")


SHORT = {"length_ratio": 0.9}


@pytest.mark.parametrize(
    ("measured", "changes", "advice"),
    [
        (SHORT, {}, 'make repro SET="evaluate.beam.length_penalty=1.5"'),
        ({"length_ratio": 1.2}, {}, 'make repro SET="evaluate.beam.length_penalty=0.5"'),
        ({}, losses(4.0, 3.0) | {"budget": {"steps": 1200}}, "steps=2400"),
        ({}, losses(4.0, 3.0) | {"budget": {"steps": None, "tokens": 3_000_000_000}},
         "tokens=6000000000"),
        ({}, losses(4.0, 3.0) | {"budget": {"seconds": 900.0}}, "train.budget.seconds=1800"),
        ({}, losses(4.0, 3.0) | {"budget": {"epochs": 3}}, "train.budget.epochs=6"),
    ],
)  # fmt: skip
def test_advice_names_the_setting(measured, changes, advice):
    [remark] = judge(FINE | measured, **changes).remarks
    assert advice in remark.advice


def test_longer_training_is_advised_for_bad_translations():
    remarks = judge(FINE, **losses(4.0, 3.0), budget={"epochs": 3}, good=0).remarks
    assert ['SET="train.budget.epochs=6"' in one.advice for one in remarks] == [True] * 2
