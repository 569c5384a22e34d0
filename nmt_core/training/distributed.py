"""Data parallelism: several processes train one model, and each reads its share of every batch.

Gradients are summed over the processes, so that all processes make the same update. Each process
draws its own random numbers. Only the first process decides and writes files. torchrun starts the
processes and sets their environment.
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
"""Environment variable: the rendezvous file of processes on one machine, used instead of a network
port."""

HEARTBEATS = 4
"""Messages per time-out that a working process sends to waiting processes."""


class PeerError(NmtError):
    """Another process of the training died or does not answer."""


@contextmanager
def explain_peer_errors(rank: int) -> Iterator[None]:
    """Convert the RuntimeError of a collective operation, torch's only error for lost processes.

    Raises:
        PeerError: if a process does not take part.
    """
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0].rpartition("] ")[2].partition(". ")[0]
        raise PeerError(
            f"rank {rank} lost another process of the training ({reason}); run again to continue"
        ) from None


def has_batch_statistics(model: nn.Module) -> bool:
    """Return whether a model has buffers with statistics of whole batches."""
    return bool(untied_state_dict(model).keys() - dict(model.named_parameters()).keys())


@dataclass(frozen=True)
class World:
    """The process group of a training, as one process sees it; free for a single process."""

    rank: int = 0
    size: int = 1
    timeout_seconds: float = 300.0
    """Seconds that processes wait for each other."""

    @property
    def is_main(self) -> bool:
        """Whether this process decides and writes files."""
        return self.rank == 0

    @property
    def seed_rank(self) -> tuple[int, ...]:
        """The rank as a part of seeds, so that processes draw differently; empty for size 1."""
        return (self.rank,) if self.size > 1 else ()

    def subdivide(self, passes: "World") -> "World":
        """Return the rank and size of a pass of this process, as if every pass were a process."""
        return World(self.rank + self.size * passes.rank, self.size * passes.size)

    def check(self, model: nn.Module) -> None:
        """Check that the model can be trained by this many processes.

        Raises:
            ConfigError: if the model has batch normalisation, and each process reads only a share.
        """
        if self.size > 1 and has_batch_statistics(model):
            raise ConfigError(
                f"batch normalisation needs whole batches, which {self.size} processes or passes "
                f"would share; set train.compute.processes and train.compute.accumulate to 1"
            )

    def sum_gradients(self, weights: Sequence[Tensor], loss: Tensor) -> Tensor:
        """Replace every gradient by its sum over the processes; return the sum of the losses.

        A process that read no rows has no gradients and receives the sums of the other processes.
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
        for gradient, summed in zip(gradients, sums, strict=True):
            gradient.copy_(summed.view_as(gradient))
        return total.squeeze(0)

    def all_reduce_max(self, *values: float) -> list[float]:
        """Return the maximum of each value over the processes."""
        if self.size == 1:
            return list(values)
        maxima = torch.tensor(values, dtype=torch.float64)
        with explain_peer_errors(self.rank):
            dist.all_reduce(maxima, op=dist.ReduceOp.MAX)
        return maxima.tolist()

    def run_on_main(self, work: Callable[[], None]) -> None:
        """Call ``work`` in the first process, while the others wait without a time-out."""
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
        """Return the message of the first process; other messages are ignored."""
        if self.size == 1:
            return message
        (length,) = self.all_reduce_max(len(message) if self.is_main else 0)
        buffer = torch.zeros(int(length), dtype=torch.uint8)
        if self.is_main:
            buffer = torch.frombuffer(bytearray(message), dtype=torch.uint8)
        with explain_peer_errors(self.rank):
            dist.broadcast(buffer, src=0)
        return buffer.numpy().tobytes()

    def broadcast_checkpoint(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return the checkpoint of the first process."""
        progress = self.broadcast(json.dumps(dict(checkpoint.progress)).encode())
        tensors = self.broadcast(save(dict(checkpoint.tensors)))
        return Checkpoint(load(tensors), json.loads(progress))

    @contextmanager
    def _alive(self) -> Iterator[None]:
        """Send heartbeats to the waiting processes from a thread."""
        done = threading.Event()

        def beat() -> None:
            with suppress(PeerError):  # raised again after the work
                while not done.wait(self.timeout_seconds / HEARTBEATS):
                    self.all_reduce_max(1)

        thread = threading.Thread(target=beat, name="alive", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


ALONE = World()
"""The process group of a training by one process."""


@contextmanager
def init_process_group(config: WorldConfig) -> Iterator[World]:
    """Join the process group of torchrun; without torchrun, give ``ALONE``.

    Raises:
        ConfigError: if this machine has fewer GPUs than processes.
        PeerError: if a process does not join in time.
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
        if not isinstance(sys.exception(), Exception):  # after an error, peers may be dead
            dist.destroy_process_group()


def take_gpu(number: int, *, processes: int) -> None:
    """Make one of this machine's GPUs the current device.

    Raises:
        ConfigError: if this machine has fewer GPUs than processes.
    """
    gpus = torch.cuda.device_count()
    if gpus < processes:
        raise ConfigError(
            f"{processes} processes require {processes} GPUs, but this machine has {gpus}; lower "
            f"train.compute.processes, or set train.compute.device to 'cpu'"
        )
    torch.cuda.set_device(number)
