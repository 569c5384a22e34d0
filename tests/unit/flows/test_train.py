"""The stages of a run: in one or several clones, in order, and after a failure."""

import itertools
import logging
from contextlib import nullcontext
from unittest.mock import Mock
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect.client.schemas.objects import FlowRun
from prefect.states import Cancelled, Crashed, Failed, Running

from flows import dvc_program, train
from flows.train import delegate, list_parts
from nmt_core.base.errors import ConfigError, NmtError
from tests.support.commands import invoke

STAGES = ["download", "tokenize", "shard", "train", "evaluate", "export"]
POOLS = dict.fromkeys(STAGES[:3], "cpu") | {"train": "gpu", "evaluate": "gpu", "export": "cpu"}


@pytest.mark.parametrize("pools", [None, POOLS, dict.fromkeys(STAGES, "gpu")])
def test_text_is_checked_once_wherever_training_runs(patch, pools):
    checks = []

    def run_stages(stages, *, shared, before_training):
        if "train" in stages:
            before_training()

    patch(
        train.clone,
        hold_clone=lambda _: nullcontext(),
        prepare_clone=lambda *_, **__: ("c0ffee", ""),
        write_settings=lambda *_: None,
    )
    patch(dvc_program, check_remote=lambda: None, map_pools=lambda: pools)
    patch(
        train,
        get_run_logger=lambda: logging.getLogger("test"),
        introduce=lambda: None,
        plan_stages=lambda _: STAGES,
        run_stages=run_stages,
        delegate=lambda *_: "lock",
        collect=lambda _: None,
    )
    with train.hold_up_to_date(
        "export", across_pools=bool(pools), before_training=lambda: checks.append("checked")
    ):
        assert checks == ["checked"]


@given(st.lists(st.sampled_from(["cpu", "gpu", "big"]), min_size=1, max_size=8))
def test_a_part_starts_where_the_pool_changes(pools):
    stages = [f"stage {number}" for number in range(len(pools))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dvc_program, "map_pools", lambda: dict(zip(stages, pools, strict=True)))
        parts = list_parts(stages)

    assert all(own == stages[: len(own)] for _, own in parts)
    assert all(one != other for (one, _), (other, _) in itertools.pairwise(parts))
    assert all(pools[len(own) - 1] == pool for pool, own in parts)
    assert parts[-1][1] == stages


class Prefect:
    """The part of Prefect's client in use: a run that passes through states."""

    def __init__(self, *states):
        self.states, self.id, self.stopped = list(states), uuid4(), []

    def run(self):
        return FlowRun(id=self.id, flow_id=uuid4(), name="export on gpu", state=self.states[0])

    def read_flow_run(self, number):
        assert number == self.id
        if isinstance(self.states[1], BaseException):
            raise self.states[1]
        del self.states[0]
        return self.run()

    def set_flow_run_state(self, number, state):
        self.stopped.append((number, state.name))


@pytest.fixture
def delegated(patch):
    """Run a part in a pool whose run passes through states."""

    def start(prefect):
        patch(
            train,
            run_deployment=lambda *_, **__: prefect.run(),
            get_client=lambda *, sync_client: nullcontext(prefect),
            get_run_logger=lambda: logging.getLogger("test"),
            POLL_SECONDS=0,
        )
        return delegate("gpu", STAGES[:5], "c0ffee", "p")

    return start


@pytest.mark.parametrize("end", [Failed, Crashed, Cancelled])
def test_part_that_does_not_complete_ends_the_run(delegated, end):
    prefect = Prefect(Running(), end(message="so it is"))

    with pytest.raises(NmtError, match=rf"'export on gpu' ended as {end().name} \(so it is\)"):
        delegated(prefect)
    assert prefect.stopped == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(143), OSError("away")])
def test_stopped_run_stops_the_part(delegated, error):
    prefect = Prefect(Running(), error)

    with pytest.raises(type(error)):
        delegated(prefect)
    assert prefect.stopped == [(prefect.id, "Cancelling")]


def test_planned_stages_end_with_the_last_one_named(patch):
    """All parameters are checked first."""
    check_all = Mock()
    patch(train, check_all=check_all)
    patch(dvc_program, map_pools=lambda: POOLS)
    assert train.plan_stages("shard") == STAGES[:3]
    assert train.plan_stages("export") == STAGES
    assert check_all.call_count == 2
    with pytest.raises(ConfigError, match=r"'trian' is not a stage of .*: download, tok"):
        train.plan_stages("trian")


@pytest.mark.parametrize("server", [None, "http://127.0.0.1:1/api"])
@pytest.mark.parametrize("done", [0, 1, 2])
def test_an_own_server_starts_only_for_work(patch, server, done):
    calls = []
    patch(
        train,
        plan_stages=lambda until: ["download", until],
        check_server=lambda: server,
        run_in_child=lambda: nullcontext(calls.append("leave nothing")),
        train=calls.append,
    )
    patch(dvc_program, count_done=lambda stages: done)
    ran = invoke(train.main, "--until", "shard")

    idle = done == 2 and server is None
    assert ran.exit_code == 0
    assert calls == ([] if idle else ["leave nothing", "shard"])
    assert ran.stdout == ("All stages are up to date.\n" if idle else "")
