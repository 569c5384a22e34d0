import pytest
import torch
import torch.distributed as dist
import yaml

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError
from nmt_core.training.distributed import ALONE, init_process_group, take_gpu
from nmt_core.training.settings import WorldConfig
from stages.params import TrainParams
from tests.support.presets import PRESETS
from tests.support.projects import PROJECT


@pytest.mark.parametrize("environment", [{}, {"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "1"}])
def test_one_process_is_a_world_that_needs_no_group(monkeypatch, environment):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    with init_process_group(WorldConfig(processes=4)) as world:
        assert world is ALONE
        assert not dist.is_initialized()


def test_alone_everything_is_as_it_was():
    weight = torch.ones(2, requires_grad=True)
    loss, done = torch.tensor(3.0), []

    assert ALONE.sum_gradients([weight], loss) is loss
    assert weight.grad is None
    assert ALONE.all_reduce_max(1, 2.5) == [1, 2.5]
    assert ALONE.broadcast(b"x") == b"x"
    assert ALONE.seed_rank == ()
    ALONE.run_on_main(lambda: done.append(1))
    assert done == [1]


def test_every_process_needs_a_gpu_of_its_own(monkeypatch):
    taken = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    take_gpu(1, processes=2)

    assert taken == [1]
    with pytest.raises(ConfigError, match=r"4 processes need as many GPUs, and 2 can be seen here"):
        take_gpu(1, processes=4)


@pytest.mark.parametrize(("processes", "refused"), [(1, False), (2, True)])
def test_batch_statistics_are_refused_before_anything_runs(processes, refused):
    section = yaml.safe_load((PROJECT / "params.yaml").read_text())["train"]
    values = section | {"compute": {"processes": processes}, "model": PRESETS["convs2s_article"]}
    if refused:
        with pytest.raises(ConfigError, match=r"train: this model normalises by the"):
            build(TrainParams, values, at="train")
    else:
        build(TrainParams, values, at="train")
