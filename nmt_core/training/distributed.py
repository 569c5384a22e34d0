"""Several processes that train one model: each reads its share of every batch.

Gradients are summed over the processes before they are used, so that all make the same update, and
what is random is drawn by each for itself. The first process decides and writes; the others follow.
torchrun starts them, and says by the environment which is which.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from safetensors.torch import load, save
from torch import Tensor, nn

from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.models.weights import untied_state_dict
from nmt_core.training.checkpoint import Checkpoint
from nmt_core.training.settings import WorldConfig

RENDEZVOUS = "NMT_RENDEZVOUS"
"""In the environment of processes on one machine: a file in which they find each other, so that no
port need be open to the network."""

BEATS = 4
"""Signs of life per time-out, of a process that works while others wait."""


class PeerError(NmtError):
    """Another process of the training has died, or does not answer."""


@contextmanager
def explain_peer_errors(rank: int) -> Iterator[None]:
    """Do what takes all processes; torch has but one error for whatever may be wrong with them.

    Raises:
        PeerError: if not all of them take part.
    """
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0].rpartition("] ")[2].partition(". ")[0]
        raise PeerError(
            f"rank {rank} has lost another process of the training ({reason})"
        ) from None


def measures_batches(model: nn.Module) -> bool:
    """Tell whether a model remembers more than weights: the statistics of whole batches."""
    return bool(untied_state_dict(model).keys() - dict(model.named_parameters()).keys())


@dataclass(frozen=True)
class World:
    """The processes of a training, as one of them sees it; alone, none of this costs anything."""

    rank: int = 0
    size: int = 1
    timeout_seconds: float = 300.0
    """How long they wait for each other."""

    @property
    def is_main(self) -> bool:
        """Whether this process is the one that decides and writes."""
        return self.rank == 0

    @property
    def seed_rank(self) -> tuple[int, ...]:
        """The rank, if there are several: seeds get it, so that processes draw differently."""
        return (self.rank,) if self.size > 1 else ()

    def part(self, passes: "World") -> "World":
        """Return the place of a pass of this process, as if every pass were a process."""
        return World(self.rank + self.size * passes.rank, self.size * passes.size)

    def check(self, model: nn.Module) -> None:
        """Refuse a model that measures whole batches, of which each process sees a share.

        Raises:
            ConfigError: if what the model remembers is more than weights.
        """
        if self.size > 1 and measures_batches(model):
            raise ConfigError(
                f"this model normalises by the statistics of whole batches, of which each of "
                f"{self.size} processes or passes sees a share; set train.compute.processes and "
                f"train.compute.accumulate to 1"
            )

    def sum_gradients(self, weights: Sequence[Tensor], loss: Tensor) -> Tensor:
        """Make every gradient its sum over the processes; return the sum of their losses.

        A process that read nothing has no gradients, and gets the others'.
        """
        if self.size == 1:
            return loss
        gradients = []
        for weight in weights:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
            gradients.append(weight.grad)
        flat = torch.cat([*(gradient.flatten() for gradient in gradients), loss.reshape(1)])
        with explain_peer_errors(self.rank):
            dist.all_reduce(flat)
        *sums, total = flat.split([*(gradient.numel() for gradient in gradients), 1])
        for gradient, part in zip(gradients, sums, strict=True):
            gradient.copy_(part.view_as(gradient))
        return total.squeeze(0)

    def all_reduce_max(self, *values: float) -> list[float]:
        """Return the greatest of each value over the processes."""
        if self.size == 1:
            return list(values)
        told = torch.tensor(values, dtype=torch.float64)
        with explain_peer_errors(self.rank):
            dist.all_reduce(told, op=dist.ReduceOp.MAX)
        return told.tolist()

    def run_on_main(self, work: Callable[[], None]) -> None:
        """Let the first process work, for as long as it lives; the others wait."""
        if self.size == 1:
            work()
        elif self.is_main:
            with self._alive():
                work()
            self.all_reduce_max(0)
        else:
            while any(self.all_reduce_max(0)):
                pass

    def broadcast(self, message: bytes) -> bytes:
        """Return the first process's message; those of the others do not count."""
        if self.size == 1:
            return message
        (length,) = self.all_reduce_max(len(message) if self.is_main else 0)
        told = torch.zeros(int(length), dtype=torch.uint8)
        if self.is_main:
            told = torch.frombuffer(bytearray(message), dtype=torch.uint8)
        with explain_peer_errors(self.rank):
            dist.broadcast(told, src=0)
        return told.numpy().tobytes()

    def broadcast_checkpoint(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return the first process's checkpoint."""
        progress = self.broadcast(json.dumps(dict(checkpoint.progress)).encode())
        tensors = self.broadcast(save(dict(checkpoint.tensors)))
        return Checkpoint(load(tensors), json.loads(progress))

    @contextmanager
    def _alive(self) -> Iterator[None]:
        """Tell those who wait, time and again, that this process still works."""
        done = threading.Event()

        def beat() -> None:
            with suppress(PeerError):  # met again as soon as the work is done
                while not done.wait(self.timeout_seconds / BEATS):
                    self.all_reduce_max(1)

        thread = threading.Thread(target=beat, name="alive", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


ALONE = World()
"""A training by one process."""


@contextmanager
def init_process_group(config: WorldConfig) -> Iterator[World]:
    """Join the processes that torchrun has started this one with, if it has.

    Raises:
        ConfigError: if there are fewer GPUs here than processes.
        PeerError: if not all of them come.
    """
    if not dist.is_torchelastic_launched() or os.environ["WORLD_SIZE"] == "1":
        yield ALONE
        return
    rank, size = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE"))
    gpu = torch.cuda.is_available() and config.device != "cpu"
    if gpu:
        take_gpu(dist.get_node_local_rank(), processes=int(os.environ["LOCAL_WORLD_SIZE"]))
    with explain_peer_errors(rank):
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if gpu else "gloo",
            init_method=os.environ.get(RENDEZVOUS, "env://"),
            rank=rank,
            world_size=size,
            timeout=timedelta(seconds=config.timeout_seconds),
        )
    try:
        yield World(rank, size, config.timeout_seconds)
    finally:
        if not isinstance(sys.exception(), Exception):  # then others may be gone
            dist.destroy_process_group()


def take_gpu(number: int, *, processes: int) -> None:
    """Compute on one of this machine's GPUs from now on.

    Raises:
        ConfigError: if there are fewer of them than processes.
    """
    gpus = torch.cuda.device_count()
    if gpus < processes:
        raise ConfigError(
            f"{processes} processes need as many GPUs, and {gpus} can be seen here; lower "
            f"train.compute.processes, or set train.compute.device to 'cpu'"
        )
    torch.cuda.set_device(number)
