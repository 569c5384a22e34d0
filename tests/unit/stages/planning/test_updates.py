"""What a budget comes to, whichever limit it has, and when is validated."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.configure.compose import compose_settings
from stages.configure.sections import build_all
from stages.planning.scratch import change_settings
from stages.planning.updates import expect_updates
from tests.support.projects import PROJECT

SETTINGS = compose_settings(["data=demo"], conf=PROJECT / "conf")
EACH, PASS, SPEED = 500, 100_000, 2_000.0


def expect(limits, each=EACH, every=300):
    changes = {"train.budget": limits, "train.training.validate_every": every}
    train = build_all(change_settings(SETTINGS, changes), source="params.yaml")["train"]
    return expect_updates(train, tokens_per_update=each, tokens_per_pass=PASS, speed=SPEED)


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
    expected = expect({limit: amount, "steps": 10**6} | {limit: amount})

    assert (expected.updates, expected.limit) == (updates, limit)


LIMITS = {
    "steps": st.integers(1, 10**5),
    "tokens": st.integers(1, 10**7),
    "seconds": st.floats(1, 1e5),
}


@settings(max_examples=20)
@given(st.fixed_dictionaries({}, optional=LIMITS).filter(bool), st.integers(1, 10**4))
def test_the_limit_that_is_reached_first_ends_a_training(limits, each):
    expected = expect(limits, each)
    alone = {name: expect({name: amount}, each).updates for name, amount in limits.items()}

    assert expected.updates == alone[expected.limit] == min(alone.values())


@pytest.mark.parametrize(
    ("limits", "every", "validations"),
    [
        ({"steps": 1}, 300, [1]),
        ({"steps": 600}, 300, [300, 600]),
        ({"steps": 599}, 300, [300, 599]),
        ({"steps": 601}, 300, [300, 600, 601]),
        # 4 updates a second, validated a dozen times, but not at every turn of a short one
        ({"seconds": 240.0}, 10**6, [*range(80, 961, 80)]),
        ({"seconds": 240.0, "steps": 100}, 30, [30, 60, 90, 100]),
        ({"seconds": 240.0, "steps": 300}, 90, [80, 90, 170, 180, 260, 270, 300]),
        ({"seconds": 12.0}, 10**6, [20, 40, 48]),
    ],
)
def test_training_validates_by_updates_and_by_the_clock_and_at_its_end(limits, every, validations):
    assert expect(limits, every=every).validations == validations
