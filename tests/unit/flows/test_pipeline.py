"""Who does which stages of a run across pools, and what becomes of it when one fails."""

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

from flows import dvc_program, pipeline, slurm
from flows.clone import Order
from flows.pipeline import Part, PartError, delegate, list_parts
from nmt_core.base.errors import ConfigError

STAGES = ["download", "tokenize", "shard", "train", "evaluate", "export"]
POOLS = dict.fromkeys(STAGES[:3], "cpu") | {"train": "gpu", "evaluate": "gpu", "export": "cpu"}
NODES = 2


@pytest.fixture
def noted(monkeypatch):
    """What a flow does, in order, with all that it calls replaced by a note."""
    notes = []

    def note(*words, returns=None):
        notes.append(" ".join(words))
        return returns

    @contextmanager
    def hold_clone(_):
        note("hold")
        yield
        note("leave")

    def run_stages(stages, *, shared, nodes=None, before_training=lambda: None):
        if "train" in stages:
            before_training()
        note("run", *stages[-1:], *["shared"] * shared, *["nodes"] * bool(nodes))

    order = Order("c0ffee", "train: {}\n")
    for module, replaced in {
        pipeline.clone: {
            "hold_clone": hold_clone,
            "prepare_clone": lambda revision, settings, *, renew, say: note(
                "prepare", *settings, *["renew"] * renew, returns=order
            ),
            "check_shared": lambda: note("check"),
            "write_settings": lambda given: note("write", given.revision),
        },
        dvc_program: {"check_remote": lambda: note("remote"), "map_pools": lambda: POOLS},
        pipeline: {
            "get_run_logger": lambda: logging.getLogger("test"),
            "introduce": lambda: note("introduce"),
            "plan_stages": lambda until: STAGES[: STAGES.index(until) + 1],
            "run_stages": run_stages,
            "delegate": lambda part, given: note(
                part.pool, part.stages[-1], given.revision, returns=f"lock of {part.stages[-1]}"
            ),
            "collect": lambda lock: note("collect", lock),
        },
    }.items():
        for name, value in replaced.items():
            monkeypatch.setattr(module, name, value)
    return notes


def test_a_clone_is_free_while_others_work_and_then_has_what_they_made(noted):
    """All that can be wrong with it is found out before anything runs."""
    with pipeline.hold_up_to_date("export", across_pools=True):
        noted.append("all is there")

    begun = ["hold", "prepare", "introduce", "check", "remote", "run shard shared", "leave"]
    away = ["gpu evaluate c0ffee", "cpu export c0ffee"]
    back = ["hold", "write c0ffee", "collect lock of export", "all is there", "leave"]
    assert noted == begun + away + back


@pytest.mark.parametrize("pools", [None, POOLS, dict.fromkeys(STAGES, "gpu")])
def test_text_is_looked_at_once_wherever_training_runs(noted, monkeypatch, pools):
    monkeypatch.setattr(dvc_program, "map_pools", lambda: pools)
    with pipeline.hold_up_to_date(
        "export", across_pools=bool(pools), before_training=lambda: noted.append("look")
    ):
        assert noted.count("look") == 1


@pytest.mark.parametrize(
    ("asked", "prepared"),
    [
        ({}, []),
        ({"settings": []}, ["prepare"]),
        ({"settings": ["a=1"]}, ["prepare a=1"]),
        ({"revision": "old"}, ["prepare"]),
        ({"renew": True}, ["prepare renew"]),
    ],
)
def test_all_is_taken_as_it_lies_unless_something_else_is_asked_for(noted, asked, prepared):
    with pipeline.hold_up_to_date("train", **asked):
        noted.append("all is there")

    assert noted == ["hold", *prepared, "introduce", "run train", "all is there", "leave"]


@given(st.lists(st.sampled_from(["cpu", "gpu", "big"]), min_size=1, max_size=8))
def test_parts_begin_with_the_first_stage_and_change_the_pool(pools):
    """What was made elsewhere is taken from the remote: without the first nothing is found."""
    stages = [f"stage {number}" for number in range(len(pools))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dvc_program, "map_pools", lambda: dict(zip(stages, pools, strict=True)))
        parts = list_parts(stages)

    assert all(part.stages == stages[: len(part.stages)] for part in parts)
    assert all(one.pool != other.pool for one, other in itertools.pairwise(parts))
    assert all(pools[len(part.stages) - 1] == part.pool for part in parts)
    assert [len(part.stages) for part in parts] == sorted({len(part.stages) for part in parts})
    assert parts[-1].stages == stages


class Prefect:
    """Prefect's client, as far as it is used: a run that passes through states."""

    def __init__(self, *states, lock="stages: {}\n"):
        self.states = list(states)
        self.id = uuid4()
        self.lock = lock
        self.told = []

    def run(self):
        return FlowRun(id=self.id, flow_id=uuid4(), name="export on gpu", state=self.states[0])

    def read_flow_run(self, number):
        assert number == self.id
        if isinstance(self.states[1], BaseException):
            raise self.states[1]
        del self.states[0]
        return self.run()

    def set_flow_run_state(self, number, state):
        self.told.append((number, state.name))

    def read_artifacts(self, **filters):
        assert filters["flow_run_filter"].id.any_ == [self.id]
        assert filters["artifact_filter"].key.any_ == ["dvc-lock"]
        return [SimpleNamespace(data=f"```yaml\n{self.lock}```")]


@pytest.fixture
def delegated(patch, caplog):
    """Have a part done by a pool whose run passes through states."""

    def start(prefect):
        run_deployment = Mock(side_effect=lambda *_, **__: prefect.run())
        patch(
            pipeline,
            run_deployment=run_deployment,
            get_client=lambda *, sync_client: nullcontext(prefect),
            get_run_logger=lambda: logging.getLogger("test"),
            POLL_SECONDS=0,
        )
        with caplog.at_level(logging.INFO, logger="test"):
            lock = delegate(Part("gpu", STAGES[:5]), Order("c0ffee", "train: {}\n"))
        return lock, run_deployment.call_args

    return start


def test_a_part_gets_commit_and_parameters_and_gives_its_lock_file(delegated, caplog):
    states = (Scheduled(name="Late"), Running(), Running(), Completed())
    found, request = delegated(Prefect(*states, lock="a: ``` b\n"))
    order = {"stages": STAGES[:5], "revision": "c0ffee", "params": "train: {}\n"}

    assert found == "a: ``` b\n"
    assert request.args == ("part/stages-on-gpu",)
    assert request.kwargs["flow_run_name"] == "evaluate on gpu"
    assert request.kwargs["parameters"] == order
    late, running = (record.getMessage() for record in caplog.records)
    assert "make worker POOL=gpu" in late
    assert running == "export on gpu: Running"


def test_a_part_hands_over_what_the_run_reads(noted, delegated, project, monkeypatch):
    """It works at the commit that it was told, and only on what can be shared."""
    handed_over = {}
    monkeypatch.setattr(
        pipeline, "create_markdown_artifact", lambda text, **how: handed_over.update(how, text=text)
    )
    (project / "dvc.lock").write_text(lock := "stages:\n  train: {cmd: '```'}\n")
    pipeline.part.fn(STAGES[:5], "c0ffee", "train: {}\n")
    monkeypatch.setattr(pipeline, "delegate", delegate)
    prefect = Prefect(Completed())
    prefect.read_artifacts = lambda **_: [SimpleNamespace(data=handed_over["text"])]

    assert ["hold", "remote", "write c0ffee", "introduce", "run evaluate shared", "leave"] == noted
    assert "dvc-lock" == handed_over["key"]
    assert lock == delegated(prefect)[0]


def test_planned_stages_end_with_the_last_one_named(patch):
    """All parameters are checked first."""
    check_all = Mock()
    patch(pipeline, check_all=check_all)
    patch(dvc_program, list_stages=lambda: STAGES)
    assert pipeline.plan_stages("shard") == STAGES[:3]
    assert pipeline.plan_stages("export") == STAGES
    assert check_all.call_count == 2
    with pytest.raises(ConfigError, match=r"'trian' is not a stage of .*: download, tok"):
        pipeline.plan_stages("trian")


@pytest.mark.parametrize("done", [0, 1])
def test_training_by_several_machines_is_committed(patch, done):
    """They train only where DVC would, though what came before was made anew."""
    steps = []
    patch(pipeline, get_run_logger=lambda: logging.getLogger("test"))
    patch(slurm, train_on_nodes=lambda nodes, say: steps.append(nodes))
    patch(dvc_program, count_done=lambda _: done, commit=lambda stage, **_: steps.append(stage))
    pipeline.reproduce.fn("train", shared=False, done=False, nodes=NODES)
    assert steps == ([] if done else [NODES, "train"])


@pytest.mark.parametrize("done", range(len(STAGES) + 1))
def test_stages_run_in_order_and_text_is_checked_before_training(patch, done):
    """Unless nothing trains; only training is done by several machines."""
    steps, train = [], STAGES.index("train")
    task = SimpleNamespace(
        with_options=lambda *, task_run_name: (
            lambda stage, *, shared, done, nodes: steps.append((stage, done, nodes))
        )
    )
    patch(pipeline, reproduce=task)
    patch(dvc_program, count_done=lambda stages: done)
    pipeline.run_stages(
        STAGES, shared=False, nodes=NODES, before_training=lambda: steps.append("check")
    )
    if done <= train:
        assert steps.pop(train) == "check"
    assert steps == [
        (stage, number < done, NODES if stage == "train" else None)
        for number, stage in enumerate(STAGES)
    ]


@pytest.mark.parametrize("end", [Failed, Crashed, Cancelled])
def test_a_part_that_does_not_complete_ends_the_run(delegated, end):
    """Whichever way: what it left undone would be trained on."""
    prefect = Prefect(Running(), end(message="so it is"))

    with pytest.raises(PartError, match=rf"'export on gpu' ended as {end().name} \(so it is\)"):
        delegated(prefect)
    assert prefect.told == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(143), OSError("away")])
def test_who_is_stopped_stops_the_part(delegated, error):
    prefect = Prefect(Running(), error)

    with pytest.raises(type(error)):
        delegated(prefect)
    assert prefect.told == [(prefect.id, "Cancelling")]
