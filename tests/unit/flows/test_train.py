"""The stages of a run: in one or several clones, in order, and after a failure."""

import itertools
import logging
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from unittest.mock import Mock
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect.client.schemas.objects import FlowRun
from prefect.states import Cancelled, Completed, Crashed, Failed, Running, Scheduled

from flows import dvc_program, train
from flows.train import delegate, list_parts
from nmt_core.base.errors import ConfigError, NmtError
from tests.support.commands import invoke

STAGES = ["download", "tokenize", "shard", "train", "evaluate", "export"]
POOLS = dict.fromkeys(STAGES[:3], "cpu") | {"train": "gpu", "evaluate": "gpu", "export": "cpu"}


@pytest.fixture
def steps(patch):
    """Return the steps of a flow in order; each of its calls is recorded instead of run."""
    steps = []

    def note(*words, returns=None):
        steps.append(" ".join(words))
        return returns

    @contextmanager
    def hold_clone(_):
        note("hold")
        yield
        note("leave")

    def run_stages(stages, *, shared, before_training=lambda: None):
        if "train" in stages:
            before_training()
        note("run", *stages[-1:], *["shared"] * shared)

    patch(
        train.clone,
        hold_clone=hold_clone,
        prepare_clone=lambda revision, settings, *, renew, say: note(
            "prepare",
            *[revision] * bool(revision),
            *settings,
            *["renew"] * renew,
            returns=("c0ffee", "train: {}\n"),
        ),
        write_settings=lambda revision, params: note("write", revision),
    )
    patch(dvc_program, check_remote=lambda: note("remote"), map_pools=lambda: POOLS)
    patch(
        train,
        get_run_logger=lambda: logging.getLogger("test"),
        introduce=lambda: note("introduce"),
        plan_stages=lambda until: STAGES[: STAGES.index(until) + 1],
        run_stages=run_stages,
        delegate=lambda pool, stages, revision, params: note(
            pool, stages[-1], revision, returns=f"lock of {stages[-1]}"
        ),
        collect=lambda lock: note("collect", lock),
        publish=lambda: note("publish"),
    )
    return steps


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ["hold", "introduce", "run train", "publish", "leave"]),
        ({"settings": []}, ["hold", "prepare", "introduce", "run train", "publish", "leave"]),
        (
            {"settings": ["a=1"], "revision": "v1"},
            ["hold", "prepare v1 a=1", "introduce", "run train", "publish", "leave"],
        ),
        (
            {"until": "export", "across_pools": True},
            [
                *[
                    "hold",
                    "prepare origin/HEAD",
                    "introduce",
                    "remote",
                    "run shard shared",
                    "leave",
                ],
                *["gpu evaluate c0ffee", "cpu export c0ffee"],  # the clone is free meanwhile
                *["hold", "write c0ffee", "collect lock of export", "publish", "leave"],
            ],
        ),
    ],
)
def test_stages_run_here_or_in_their_pools(steps, settings, expected):
    train.train.fn(**{"until": "train", **settings})
    assert steps == expected


@pytest.mark.parametrize("pools", [None, POOLS, dict.fromkeys(STAGES, "gpu")])
def test_text_is_checked_once_wherever_training_runs(steps, patch, pools):
    patch(dvc_program, map_pools=lambda: pools)
    with train.hold_up_to_date(
        "export", renew=True, across_pools=bool(pools), before_training=lambda: steps.append("look")
    ):
        assert steps.count("look") == 1
        assert steps[1] == ("prepare origin/HEAD renew" if pools else "prepare renew")


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

    def __init__(self, *states, text="```yaml\nstages: {}\n```"):
        self.states, self.text = list(states), text
        self.id = uuid4()
        self.stopped = []

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

    def read_artifacts(self, **filters):
        assert filters["flow_run_filter"].id.any_ == [self.id]
        assert filters["artifact_filter"].key.any_ == ["dvc-lock"]
        return [SimpleNamespace(data=self.text)]


@pytest.fixture
def delegated(patch):
    """Run a part in a pool whose run passes through states."""

    def start(prefect):
        run_deployment = Mock(side_effect=lambda *_, **__: prefect.run())
        patch(
            train,
            run_deployment=run_deployment,
            get_client=lambda *, sync_client: nullcontext(prefect),
            get_run_logger=lambda: logging.getLogger("test"),
            POLL_SECONDS=0,
        )
        return delegate("gpu", STAGES[:5], "c0ffee", "p"), run_deployment.call_args

    return start


def test_a_part_exchanges_commit_parameters_and_lock_file(steps, delegated, project, monkeypatch):
    artifact = {}
    monkeypatch.setattr(
        train, "create_markdown_artifact", lambda text, **how: artifact.update(how, text=text)
    )
    (project / "dvc.lock").write_text(lock := "stages:\n  train: {cmd: '```'}\n")
    train.part.fn(STAGES[:5], "c0ffee", "train: {}\n")
    states = (Scheduled(name="Late"), Running(), Running(), Completed())
    returned, request = delegated(Prefect(*states, text=artifact["text"]))

    assert steps == ["hold", "remote", "write c0ffee", "introduce", "run evaluate shared", "leave"]
    assert (artifact["key"], returned) == ("dvc-lock", lock)
    assert request.args == ("part/stages-on-gpu",)
    assert request.kwargs["flow_run_name"] == "evaluate on gpu"
    order = {"stages": STAGES[:5], "revision": "c0ffee", "params": "p"}
    assert request.kwargs["parameters"] == order


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


@pytest.mark.parametrize("shared", [False, True])
def test_stage_is_reproduced_unless_it_is_done(patch, shared):
    dvc = Mock()
    patch(train, get_run_logger=lambda: logging.getLogger("test"))
    patch(dvc_program, reproduce=dvc)
    train.reproduce.fn("train", shared=shared, done=True)
    assert not dvc.called
    train.reproduce.fn("train", shared=shared, done=False)
    assert (dvc.call_args.args, dvc.call_args.kwargs["shared"]) == (("train",), shared)


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
