"""Processes of a distributed training as threads, which sum what real processes would send."""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist

from nmt_core.training.distributed import World

PATIENCE_SECONDS = 20.0
"""Seconds that one thread waits for another before it takes the other for ended."""


class ThreadGroup:
    """Does for two threads what ``torch.distributed`` does for two processes."""

    def __init__(self, monkeypatch):
        self._turn = threading.Barrier(2, timeout=PATIENCE_SECONDS)
        self._told = {}
        monkeypatch.setattr(dist, "all_reduce", self._all_reduce)
        monkeypatch.setattr(dist, "broadcast", self._broadcast)

    def run(self, work):
        """Return the result of a function for each rank of two threads."""

        def run_one(rank):
            threading.current_thread().rank = rank
            try:
                return work(World(rank, 2))
            except BaseException:
                self._turn.abort()  # a thread that has ended is not waited for
                raise

        with ThreadPoolExecutor(2) as pool:
            return [*pool.map(run_one, (0, 1))]

    def _gather(self, told):
        self._turn.wait()
        self._told[threading.current_thread().rank] = told.clone()
        self._turn.wait()
        return [self._told[rank] for rank in (0, 1)]

    def _all_reduce(self, told, op=dist.ReduceOp.SUM):
        both = torch.stack(self._gather(told))
        told.copy_(both.amax(0) if op == dist.ReduceOp.MAX else both.sum(0))

    def _broadcast(self, told, src):
        told.copy_(self._gather(told)[src])
