"""Retries of tasks, and the lock of a promotion."""

import asyncio
from types import SimpleNamespace

import pytest
from prefect.states import exception_to_failed_state

from flows import compare, retrain, train
from flows.dvc_program import StageError
from nmt_core.base.errors import NmtError
from stages import paths
from stages.registry.registry import ChampionMovedError, RegistryAwayError


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


def test_without_a_server_only_this_folder_is_locked(project, monkeypatch):
    monkeypatch.setattr(retrain, "PREFECT_API_URL", SimpleNamespace(value=lambda: None))
    monkeypatch.setattr(retrain, "get_client", lambda **_: pytest.fail("no server is asked"))

    with retrain.hold_shared_lock():
        assert paths.REGISTRY_LOCK.exists()
