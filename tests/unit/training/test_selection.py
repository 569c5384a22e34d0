import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.training.progress import judge_latest

merits = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12)


@given(merits=merits, patience=st.none() | st.integers(1, 5))
def test_best_and_patience_equal_the_manual_count(merits, patience):
    """By hand: remember the best so far, and count validations that were no better."""
    best, waited = None, 0
    for merit in merits:
        is_best = best is None or merit > best
        best, waited = (merit, 0) if is_best else (best, waited + 1)

    is_over = patience is not None and waited >= patience
    assert judge_latest(merits, patience) == (is_best, is_over)


@pytest.mark.parametrize("patience", [None, 1])
def test_a_first_validation_is_the_best(patience):
    assert judge_latest([(-9.0,)], patience) == (True, False)
