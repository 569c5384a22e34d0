"""Read training batches in another process, so that a GPU does not wait for them."""

import os
import signal
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset
from typing_extensions import override

from nmt_core.base.errors import NmtError
from nmt_core.base.interrupt import end_with_parent, isolated_process_start
from nmt_core.data.batch import BatchT, Share

READ_AHEAD = 128
"""Number of batches to prefetch; drawn pairs arrive about 200 batches at a time."""


def read_in_process(
    make: Callable[[], Iterator[Share[BatchT]]],
) -> Generator[Share[BatchT], None, None]:
    """Yield the shares of the iterator that ``make`` returns, which runs in another process."""
    loader = DataLoader(
        _Shares(make),
        batch_size=None,
        num_workers=1,
        prefetch_factor=READ_AHEAD,
        multiprocessing_context="spawn",
        worker_init_fn=partial(_begin, os.getpid()),
    )
    with isolated_process_start():
        shares: Iterator[Share[BatchT]] = iter(loader)
    try:
        for share in shares:
            yield replace(share, batch=share.batch.map(torch.from_numpy, np.ndarray))
    except RuntimeError as error:
        raise NmtError(
            f"the process that reads training pairs ended ({error}), most often because memory "
            f"ran out; run again to continue from the last checkpoint"
        ) from None


class _Shares(IterableDataset[Share[BatchT]]):
    """Shares with NumPy arrays: tensors need shared memory, which is small in containers."""

    def __init__(self, make: Callable[[], Iterator[Share[BatchT]]]) -> None:
        self._make = make

    @override
    def __iter__(self) -> Iterator[Share[BatchT]]:
        for share in self._make():
            yield replace(share, batch=share.batch.map(Tensor.numpy))


def _begin(parent: int, number: int) -> None:
    """Ignore signals, which the training process handles, and end with the training process."""
    del number
    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    end_with_parent(parent, by=signal.SIGKILL)
