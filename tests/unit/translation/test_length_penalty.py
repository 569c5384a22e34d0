"""The best length penalty on validation text, found with few searches."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.translation.fitting import STEP, set_length_penalty, try_length_penalties
from tests.support.scripted import scripted_translator
from tests.support.tiny import tiny_translator

REFERENCE = "x" * 100


def try_all(monkeypatch, letters, measure, first=1.0):
    """Return trials of a translator whose output length follows the length penalty."""
    monkeypatch.setattr(
        "nmt_core.translation.translator.Translator.translate_sentences",
        lambda own, lines: ["x" * letters(own.config.beam.length_penalty) for _ in lines],
    )
    translator = set_length_penalty(scripted_translator(), first)
    return try_length_penalties(translator, ["a"], [REFERENCE], lambda texts: measure(texts[0]))


def score_length(best):
    return lambda text: -abs(len(text) - best)


@pytest.mark.parametrize(
    ("letters", "best", "tried"),
    [
        (lambda penalty: 90, 100, [1.0, 1.5]),  # no better: not tried further
        (lambda penalty: round(70 + 20 * penalty), 100, [1.0, 1.5, 2.0, 1.75]),
        (lambda penalty: round(70 + 20 * penalty), 110, [1.0, 1.5, 2.0, 2.5, 2.25]),
        (lambda penalty: round(70 + 20 * penalty), 90, [1.0, 1.5]),  # no better, nor too long
        (lambda penalty: round(50 + 40 * penalty), 90, [1.0, 1.5, 1.25]),
        (lambda penalty: round(10 * penalty), 100, [1.0, 1.5, 2.0, 2.5, 3.0]),
        (lambda penalty: round(100 + 20 * penalty), 100, [1.0, 0.5, 0.0]),
        (lambda penalty: 99, 110, [1.0]),
        (lambda penalty: 101, 90, [1.0]),
        (lambda penalty: 97, 90, [1.0, 1.5]),
        (lambda penalty: 103, 110, [1.0, 0.5]),
        (lambda penalty: 0, 100, [1.0, 1.5]),
    ],
)
def test_trials_continue_while_scores_rise(monkeypatch, letters, best, tried):
    trials = try_all(monkeypatch, letters, score_length(best))
    assert [trial.length_penalty for trial in trials] == tried
    for trial in trials:
        written = letters(trial.length_penalty)
        assert trial.length_ratio == pytest.approx(written / 100)
        assert trial.score == -abs(written - best)


@given(first=st.floats(0, 10), slope=st.integers(0, 40), base=st.integers(0, 200))
def test_every_step_but_the_last_is_better(first, slope, base):
    """If the last step was too large, half of it is tried."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        trials = try_all(
            monkeypatch, lambda penalty: round(base + slope * penalty), score_length(100), first
        )
    assert trials[0].length_penalty == first
    distances = [abs(b.length_penalty - a.length_penalty) for a, b in pairwise(trials)]
    too_far = distances[-1:] == [pytest.approx(STEP / 2)]
    steps = trials[:-1] if too_far else trials
    assert distances[: len(steps) - 1] == [pytest.approx(STEP)] * (len(steps) - 1)
    scores = [trial.score for trial in steps]
    assert scores[:-1] == sorted(set(scores[:-1]))
    if too_far:
        assert scores[-1] <= scores[-2]
        assert (steps[-1].length_ratio - 1) * (trials[0].length_ratio - 1) < 0


def test_nothing_but_the_length_penalty_changes():
    translator = tiny_translator()
    changed = set_length_penalty(translator, 2.5)
    expected = translator.config.beam.model_dump() | {"length_penalty": 2.5}
    assert changed.config.beam.model_dump() == expected
    assert translator.config.beam.length_penalty == 1.0
    assert changed.engine is translator.engine
