"""The verdict on a run: each fault that is planted is named with what to do, and no other."""

import pytest

from tests.support.run_pages import MEASURED, TRAINING, judge

HISTORY = TRAINING["history"]
FINE = MEASURED | {"confidence": {"model": {"reliability": {"error": 0.02, "area": 0.8}}}}
FAILURES = MEASURED["failures"]


def remarks(measured=FINE, history=HISTORY, **changes):
    return judge(measured, history, **changes).remarks


def sliced(name, sentences, low, high):
    scores = {"bleu": [(low + high) / 2, low, high]}
    return {name: {"label": "so", "sentences": sentences, "scores": scores}}


def test_of_a_good_run_nothing_is_said():
    verdict = judge(FINE)

    assert (verdict.ready, verdict.remarks) == (True, ())
    assert verdict.summary == (
        "Ready for text like that of the test set: 75% of 400 test sentences are translated well "
        "(chrF of at least 50)."
    )


BLOCKING = {
    "evaluate.good_share": ({}, {"good": 199}),
    "within 6.1 points": ({"bleu_high": 35.6}, {}),
    "199 sentences": ({"sentences": 199}, {"good": 150}),
    "3 copied, 2 in loops": ({"failures": FAILURES | {"copied": 3, "looping": 2}}, {}),
    "kept in 30 of 50 sentences": ({"literals": {"lines": 50, "kept": 30}}, {}),
}
OTHER = {
    "The corpus web has 61% of the errors": (
        {},
        {"errors": {"own": (60, 0.39), "web": (40, 0.61)}},
    ),
    "still falling": ({}, {"history": [{"validation_loss": one} for one in (4.0, 3.5)]}),
    "The slice numbers": ({"slices": sliced("numbers", 30, 20.0, 29.4)}, {}),
    "much of the score is remembered": (
        {"novel": {"sentences": 30, "bleu": 25.0, "bleu_low": 20.0, "bleu_high": 29.0}},
        {},
    ),
    "gets lost: capitals": (
        {"behaviour": {"capitals": {"kept": {"high": 0.89}, "same": None}}},
        {},
    ),
    "no confidence: too few": ({"confidence": {"missing": "too few"}}, {}),
    "errs by 0.11": ({"confidence": {"model": {"reliability": {"error": 0.11, "area": 1}}}}, {}),
    "ROC curve is 0.64": (
        {"confidence": {"model": {"reliability": {"error": 0, "area": 0.64}}}},
        {},
    ),
    "too short: they have 0.94": ({"length_ratio": 0.94}, {}),
    "too long: they have 1.07": ({"length_ratio": 1.07}, {}),
    "kept in 47 of 50 sentences": ({"literals": {"lines": 50, "kept": 47}}, {}),
}


@pytest.mark.parametrize("told", [*BLOCKING, *OTHER])
def test_each_fault_is_named_with_what_to_do(told):
    measured, changes = (BLOCKING | OTHER)[told]
    verdict = judge(FINE | measured, **({"history": HISTORY} | changes))
    [remark] = verdict.remarks

    assert told in remark.what
    assert remark.what.endswith(".")
    assert remark.advice.endswith(".")
    assert remark.blocks is (told in BLOCKING)
    assert verdict.ready is not remark.blocks
    assert verdict.summary.startswith("Not ready: " if remark.blocks else "Ready for")


@pytest.mark.parametrize(
    ("measured", "changes"),
    [
        ({}, {"good": 200}),
        ({"sentences": 200}, {"good": 150}),
        ({"failures": FAILURES | {"looping": 4}}, {}),
        ({"failures": FAILURES | {"detached_full_stop": 400}}, {}),
        ({"literals": {"lines": 100, "kept": 95}}, {}),
        ({"literals": {"lines": 0, "kept": 0}}, {}),
        ({"length_ratio": 0.96}, {}),
        ({"length_ratio": 1.06}, {}),
        ({"slices": sliced("numbers", 29, 20.0, 29.4)}, {}),
        ({"slices": sliced("unsure", 99, 20.0, 29.4)}, {}),
        ({"slices": sliced("numbers", 30, 20.0, 29.5)}, {}),
        ({}, {"errors": {"own": (60, 0.4), "web": (29, 0.6)}}),
        ({}, {"errors": {"own": (60, 0.55), "web": (40, 0.45)}}),
        ({}, {"history": [{"validation_loss": one} for one in (4.0, 3.99)]}),
        ({}, {"history": [{"validation_loss": one} for one in (4.0, 3.0, 3.1)]}),
        ({}, {"history": [{"validation_loss": 4.0}]}),
    ],
)
def test_what_is_within_bounds_is_no_fault(measured, changes):
    assert remarks(FINE | measured, **changes) == ()


def test_without_intervals_nothing_is_surely_worse():
    """As evaluate.resamples=0 leaves them; a score that cannot vary has none either."""
    plain = {"bleu": 30.0, "bleu_low": 30.0, "bleu_high": 30.0}
    novel = {"novel": {"sentences": 30, "bleu": 25.0, "bleu_low": 25.0, "bleu_high": 25.0}}
    worse = {"slices": sliced("numbers", 30, 29.0, 29.0)}
    [remark] = remarks(FINE | plain | novel | worse)
    assert "BLEU has no interval" in remark.what
    assert not remark.blocks
    few, _ = remarks(FINE | plain | {"sentences": 199}, good=150)
    assert few.what == "The test set is too small to tell: 199 sentences."
    whole = {"bleu": 100.0, "bleu_low": 100.0, "bleu_high": 100.0, "slices": {}}
    assert remarks(FINE | whole) == ()


@pytest.mark.parametrize(("ratio", "advice"), [(0.9, "Raise "), (1.2, "Lower ")])
def test_what_is_too_short_is_to_score_higher_by_its_length(ratio, advice):
    [remark] = remarks(FINE | {"length_ratio": ratio})
    assert remark.advice.startswith(f"{advice}the length penalty")
    assert 'make repro SET="evaluate.beam.length_penalty=' in remark.advice


def test_where_length_penalties_were_tried_nobody_is_told_to_try_them():
    trials = [{"length_penalty": 1.0, "score": 20.0, "length_ratio": 0.9}]
    [remark] = remarks(FINE | {"length_ratio": 0.9, "length_penalty_trials": trials})
    assert "length_penalty" not in remark.advice
    assert "train longer" in remark.advice


def test_a_search_without_a_length_penalty_is_not_told_to_change_it():
    """A student's: it keeps one hypothesis."""
    [remark] = remarks(FINE | {"length_ratio": 0.9}, greedy=True)
    assert 'make repro SET="evaluate.beam.beam_size=4"' in remark.advice


@pytest.mark.parametrize(("good", "share"), [(199, "49%"), (200, "50%"), (399, "99%")])
def test_no_share_is_said_to_be_more_than_it_is(good, share):
    """As 50%, fewer than the 50% that are asked for, or as all sentences but one."""
    verdict = judge(FINE, good=good)
    assert f" {share} of " in f" {verdict.summary[11:]}"


def test_a_test_set_that_is_too_small_is_told_how_each_kind_grows():
    few = FINE | {"sentences": 199, "confidence": {"missing": "too few"}}
    advised = [remark.advice for remark in remarks(few, good=150)]
    assert "download.split.test_per_10000, or sessions.test_pairs" in advised[0]
    assert "download.split.validation_per_10000, or sessions.validation_pairs" in advised[1]


def test_what_blocks_comes_first_and_is_the_reason():
    worse = FINE | BLOCKING["3 copied, 2 in loops"][0] | OTHER["no confidence: too few"][0]
    verdict = judge(worse)

    assert [remark.blocks for remark in verdict.remarks] == [True, False]
    assert verdict.summary == "Not ready: too many translations are unusable: 3 copied, 2 in loops."


def test_of_an_error_rate_the_higher_is_the_worse(monkeypatch):
    monkeypatch.setattr("nmt_core.evaluation.metrics.bleu.Bleu.higher_is_better", False)
    assert remarks(FINE | {"slices": sliced("numbers", 30, 20.0, 29.4)}) == ()
    assert remarks(FINE | {"slices": sliced("numbers", 30, 32.0, 40.0)}) == ()
    [remark] = remarks(FINE | {"slices": sliced("numbers", 30, 33.0, 40.0)})
    assert "The slice numbers" in remark.what


@pytest.mark.parametrize(
    ("budget", "setting"),
    [
        ({"steps": 1200}, "steps=2400"),
        ({"steps": None, "tokens": 3_000_000_000}, "tokens=6000000000"),
        ({"seconds": 900.0}, "seconds=1800"),
        ({"epochs": 3}, "epochs=6"),
    ],
)
def test_advice_is_a_command_to_train_longer(budget, setting):
    """SET alone keeps the text and all other settings."""
    history = [{"validation_loss": one} for one in (4.0, 3.0)]
    advised = [remark.advice for remark in remarks(history=history, budget=budget, good=0)]

    assert [f'make repro SET="train.budget.{setting}"' in advice for advice in advised] == [
        True
    ] * 2
