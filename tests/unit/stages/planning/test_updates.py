"""What a budget comes to, whichever limit it has: updates, tokens and passes say the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.training.budget import Budget
from stages.planning.updates import Epoch, expect_updates, list_validations

EPOCH = Epoch(batches=200, target_tokens=100_000)
SPEED = 2_000.0


@pytest.mark.parametrize(
    ("limit", "amount", "updates"),
    [
        ("steps", 700, 700),
        ("epochs", 3, 600),
        ("tokens", 50_000, 100),
        ("tokens", 50_001, 101),
        ("seconds", 60.0, 240),
        ("seconds", 0.001, 1),
    ],
)
def test_every_kind_of_budget_comes_to_updates(limit, amount, updates):
    expected = expect_updates(Budget(**{limit: amount}), EPOCH, SPEED)

    assert (expected.updates, expected.limit) == (updates, limit)


LIMITS = {
    "steps": st.integers(1, 10**6),
    "epochs": st.integers(1, 100),
    "tokens": st.integers(1, 10**9),
    "seconds": st.floats(1, 1e6),
}


@settings(max_examples=40)
@given(
    st.fixed_dictionaries({}, optional=LIMITS).filter(bool),
    st.integers(1, 10**5),
    st.integers(1, 10**4),
)
def test_the_limit_that_is_reached_first_ends_a_training(limits, batches, each):
    epoch = Epoch(batches, batches * each)
    expected = expect_updates(Budget(**limits), epoch, SPEED)
    alone = {
        name: expect_updates(Budget(**{name: amount}), epoch, SPEED).updates
        for name, amount in limits.items()
    }

    assert expected.updates == alone[expected.limit] == min(alone.values())
    assert expected.target_tokens == pytest.approx(expected.updates * each)
    assert expected.passes == pytest.approx(expected.target_tokens / epoch.target_tokens)


def test_more_text_has_more_batches_of_the_same_size():
    grown = EPOCH.grown(3)

    assert (grown.batches, grown.target_tokens) == (600, 300_000)
    assert grown.tokens_per_update == EPOCH.tokens_per_update == 500


@pytest.mark.parametrize(
    ("updates", "every", "validations"), [(1, 300, 1), (1200, 300, 4), (1201, 300, 5)]
)
def test_training_validates_at_its_end_too(updates, every, validations):
    budget = Budget(steps=updates)
    expected = expect_updates(budget, EPOCH, SPEED)
    found = list_validations(expected, every, budget, tokens_per_second=SPEED)

    assert (len(found), found[-1]) == (validations, updates)


@pytest.mark.parametrize(
    ("limits", "validations"),
    [
        # 4 updates a second
        ({"seconds": 240.0}, [*range(80, 961, 80)]),
        ({"seconds": 240.0, "steps": 100}, [80, 100]),
        ({"seconds": 12.0}, [20, 40, 48]),
    ],
)
def test_a_budget_of_seconds_is_validated_by_the_clock(limits, validations):
    """A dozen times, whatever is counted in updates, but not at every turn of a short one."""
    budget = Budget(**limits)
    expected = expect_updates(budget, EPOCH, SPEED)

    assert list_validations(expected, 10**6, budget, tokens_per_second=SPEED) == validations
    assert 30 in list_validations(expected, 30, budget, tokens_per_second=SPEED)
