from datetime import timedelta
from unittest.mock import Mock

import pytest
import torch
import torch.distributed as dist

from nmt_core.base.errors import ConfigError
from nmt_core.training.distributed import ALONE, World, init_process_group, take_gpu
from nmt_core.training.settings import WorldConfig


@pytest.mark.parametrize("environment", [{}, {"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "1"}])
def test_one_process_needs_no_process_group(monkeypatch, environment):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    with init_process_group(WorldConfig(processes=4)) as world:
        assert world is ALONE
        assert not dist.is_initialized()


def test_one_process_changes_nothing():
    weight = torch.ones(2, requires_grad=True)
    loss, done = torch.tensor(3.0), []

    assert ALONE.sum_gradients([weight], loss) is loss
    assert weight.grad is None
    assert ALONE.all_reduce_max(1, 2.5) == [1, 2.5]
    assert ALONE.broadcast(b"x") == b"x"
    assert ALONE.seed_rank == ()
    ALONE.run_on_main(lambda: done.append(1))
    assert done == [1]


def test_gradients_are_summed_even_without_own_data(monkeypatch):
    """The other of two processes has gradients of 1 and a loss of 5."""
    others = torch.tensor([1.0, 1.0, 1.0, 1.0, 5.0])
    monkeypatch.setattr(dist, "all_reduce", lambda told: told.add_(others))
    read, unread = (torch.ones(2, requires_grad=True) for _ in range(2))
    read.grad = torch.tensor([2.0, 3.0])
    total = World(size=2).sum_gradients([read, unread], torch.tensor(7.0))

    assert total == 12
    assert (read.grad.tolist(), unread.grad.tolist()) == ([3, 4], [1, 1])


@pytest.mark.parametrize(
    ("places", "device", "gpus", "taken", "nccl"),
    [
        ((1, 2, 1, 2), "auto", 2, [1], True),
        ((3, 4, 1, 2), "auto", 2, [1], True),  # two machines with two GPUs each
        ((1, 2, 0, 1), "cuda", 1, [0], True),
        ((1, 2, 1, 2), "cpu", 2, [], False),
        ((1, 2, 1, 2), "auto", 0, [], False),
    ],
)
def test_each_process_takes_a_gpu_of_its_machine(monkeypatch, places, device, gpus, taken, nccl):
    rank, size, *_ = places
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    for name, number in zip(names, places, strict=True):
        monkeypatch.setenv(name, str(number))
    join, take = Mock(), Mock()
    monkeypatch.setattr(dist, "init_process_group", join)
    monkeypatch.setattr(dist, "destroy_process_group", Mock())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "set_device", take)
    config = WorldConfig(device=device, timeout_seconds=7)
    with init_process_group(config) as world:
        assert (world.rank, world.size, world.is_main) == (rank, size, False)
    assert [each.args[0] for each in take.call_args_list] == taken
    assert join.call_args.args == ("cpu:gloo,cuda:nccl" if nccl else "gloo",)
    joined = {name: join.call_args.kwargs[name] for name in ("rank", "world_size", "timeout")}
    assert joined == {"rank": rank, "world_size": size, "timeout": timedelta(seconds=7)}


def test_every_process_needs_its_own_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ConfigError, match="4 processes require 4 GPUs, but this machine has 2"):
        take_gpu(1, processes=4)
