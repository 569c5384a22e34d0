"""What a retraining decides, and in which order, without servers and without training."""

import asyncio
import logging
from contextlib import contextmanager, nullcontext
from functools import partial
from types import SimpleNamespace
from unittest.mock import MagicMock, call

import pytest
from prefect.states import exception_to_failed_state

from flows import compare, retrain, train
from flows.dvc_program import StageError
from nmt_core.base.errors import NmtError
from nmt_core.evaluation.registry import GateConfig
from stages import paths
from stages.registry.promotion import Contest
from stages.registry.registry import ChampionMovedError, RegistryAwayError

CHALLENGER = SimpleNamespace(name="nmt-de-en", digest="d")
GATE = GateConfig(significance=0.03)


def contest(outcome="promote", champion=1):
    return Contest(outcome=outcome, reason="so", challenger="d", champion=champion)


@pytest.fixture
def steps(patch):
    """Return the steps of a decision, in order; the registry's champion is version 1, then 2."""
    steps = []
    champions = iter(range(1, 10))

    def run_contest(registry, challenger, params, *, test_set, gate, promotion):
        assert (challenger, test_set, gate) == (CHALLENGER, "current", GATE)
        assert promotion == "section promotion"
        steps.append("judged")
        return contest(champion=next(champions))

    patch(
        retrain,
        load=lambda _, section: f"section {section}",
        read_exported=lambda _: CHALLENGER,
        Registry=lambda name, lock: SimpleNamespace(name=name, lock=lock),
        run_contest=run_contest,
        record_verdict=lambda found, _: steps.append(f"recorded against {found.champion}"),
        get_run_logger=lambda: logging.getLogger("test"),
    )
    return steps


@pytest.mark.parametrize("moves", [0, 2])
def test_verdict_is_recorded_before_the_champion_moves(steps, patch, moves):
    """A challenger is compared again if another retraining has promoted a champion meanwhile."""

    def enact(registry, found, challenger, *, promotion, by):
        assert registry.lock is retrain.hold_shared_lock
        assert (challenger, promotion, by) == (CHALLENGER, "run", "flow run x")
        steps.append(f"enacted against {found.champion}")
        if found.champion <= moves:
            raise ChampionMovedError("the champion is another by now")

    patch(retrain, enact=enact)
    judge = partial(retrain.judge_export, test_set="current", gate=GATE)
    decided = retrain.decide.fn(judge, promotion="run", by="flow run x")

    assert decided.champion == moves + 1
    assert steps == [
        step
        for number in range(1, moves + 2)
        for step in ("judged", f"recorded against {number}", f"enacted against {number}")
    ]


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (StageError("away", code=75), True),
        (StageError("wrong", code=1), False),
        (RegistryAwayError("a"), True),
        (ChampionMovedError("m"), False),
        (NmtError("n"), False),
        (RuntimeError(), False),
    ],
)
def test_only_unavailable_servers_are_retried(error, again):
    """Other errors would repeat after six minutes of waiting."""
    state = asyncio.run(exception_to_failed_state(error))

    assert again == asyncio.run(train.may_pass(None, None, state))
    for task in (train.reproduce, train.collect, retrain.decide, compare.run):
        assert (task.retry_condition_fn, task.retries) == (train.may_pass, 3)
    assert sum(train.RETRY_SECONDS) > 300  # how long a server can be unavailable


def test_retraining_locks_the_clone_until_the_decision(stub_flow):
    flow, gate = stub_flow, GateConfig()
    flow.look = lambda: None

    @contextmanager
    def hold_up_to_date(until, *, before_training, **settings):
        flow.settings = settings
        flow.note(f"until {until}")
        before_training()
        yield
        flow.note("leave")

    def decide(judge, *, promotion, by):
        assert judge.func is retrain.judge_export
        assert judge.keywords == {"test_set": "same", "gate": gate}
        flow.note(f"decide {promotion} {by}")
        return contest("hold")

    flow.install(retrain, hold_up_to_date=hold_up_to_date, decide=decide)
    retrain.retrain.fn(["train.seed=2"], "v1", across_pools=True)

    settings = {"settings": ["train.seed=2"], "revision": "v1", "renew": True}
    assert flow.settings == settings | {"across_pools": True}
    decision = "decide number flow run de-en"
    steps = ["until export", "check same", "publish", decision, "leave", "verdict"]
    assert [what for what, _ in flow.done] == steps


def test_without_a_server_only_this_folder_is_locked(project, monkeypatch):
    monkeypatch.setattr(retrain, "PREFECT_API_URL", SimpleNamespace(value=lambda: None))
    monkeypatch.setattr(retrain, "get_client", lambda **_: pytest.fail("no server is asked"))

    with retrain.hold_shared_lock():
        assert paths.REGISTRY_LOCK.exists()


def test_a_server_serialises_promotions_of_all_machines(project, patch):
    limits, concurrency = [], MagicMock()
    patch(
        retrain,
        PREFECT_API_URL=SimpleNamespace(value=lambda: "http://127.0.0.1:1/api"),
        get_client=lambda *, sync_client: nullcontext("client"),
        ensure_limit=lambda *limit: limits.append(limit),
        concurrency=concurrency,
    )
    with retrain.hold_shared_lock():
        assert limits == [("client", retrain.PROMOTION, 1)]
        assert not concurrency.return_value.__exit__.called
    assert concurrency.return_value.__exit__.called
    assert concurrency.call_args == call(
        retrain.PROMOTION,
        occupy=1,
        timeout_seconds=retrain.LOCK_PATIENCE_SECONDS,
        lease_duration=retrain.LEASE_SECONDS,
        strict=True,
    )
