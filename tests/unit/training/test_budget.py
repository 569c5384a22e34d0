"""How the used share of a budget grows, and what ends it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError
from nmt_core.training.settings import Budget
from stages.configure import compose
from stages.configure.sections import build_all

limits = st.one_of(st.none(), st.integers(1, 1000))
budgets = (
    st.fixed_dictionaries({"steps": limits, "tokens": limits, "seconds": limits, "epochs": limits})
    .filter(lambda values: any(values.values()))
    .map(lambda values: build(Budget, values, at="budget"))
)
amounts = st.integers(0, 2000)
spendings = st.fixed_dictionaries({"steps": amounts, "tokens": amounts, "seconds": amounts})


@given(budgets, spendings, spendings)
def test_the_share_never_falls(budget, spent, more):
    after = {name: spent[name] + more[name] for name in spent}

    assert 0 <= budget.done(**spent) <= budget.done(**after) <= 1


@given(budgets, spendings, amounts)
def test_the_first_limit_ends_training(budget, spent, epochs):
    spent_or_not = {**spent, "epochs": epochs}
    reached = [
        name
        for name, amount in spent_or_not.items()
        if (limit := getattr(budget, name)) is not None and amount >= limit
    ]

    assert bool(reached) == budget.is_spent(**spent_or_not)


def test_schedules_follow_the_largest_share_except_epochs():
    budget = Budget(steps=100, tokens=1000, seconds=10.0, epochs=1)

    assert budget.done(steps=10, tokens=300, seconds=2.0) == 0.3
    assert not budget.is_spent(steps=10, tokens=300, seconds=2.0, epochs=0)
    assert budget.is_spent(steps=10, tokens=300, seconds=2.0, epochs=1)


def test_a_budget_has_a_limit():
    with pytest.raises(ValidationError, match="the budget has no limit"):
        Budget()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ([], "a warmup_decay schedule needs budget"),
        (
            ["schedule={kind:inverse_sqrt}", "training.scheduled_sampling.shape=linear"],
            "scheduled_sampling needs budget",
        ),
    ],
)
def test_settings_that_end_training_need_a_share(settings, message):
    changes = [f"train.{one}" for one in ("budget.steps=null", "budget.epochs=3", *settings)]
    values = compose.apply_changes(compose.compose_groups(["data=demo"]), changes)

    with pytest.raises(ConfigError, match=message):
        build_all(values, source="params.yaml")
