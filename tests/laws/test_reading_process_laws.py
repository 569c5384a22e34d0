"""A separate process reads and draws the same pairs as this one."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import count, islice
from multiprocessing.reduction import ForkingPickler

import numpy as np
import psutil
import pytest
import torch

from nmt_core.base.errors import NmtError
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.data.batch import Position, Share, TensorBatch, TrainingBatches, collate
from nmt_core.data.drawn_pairs import AugmentedPairs, SampledPairs, TaggedPairs
from nmt_core.data.reading_process import READ_AHEAD, read_in_process
from nmt_core.data.settings import AugmentationConfig, TokenBatching
from nmt_core.data.shards import Block, ShardDataset, write_shards
from nmt_core.text import Characters
from nmt_core.text.side import Side
from nmt_core.text.spacy_words import SpacyWords
from nmt_core.text.vocabulary import Vocabulary
from tests.support.processes import wait_for
from tests.support.projects import PROJECT
from tests.support.subword_pairs import KINDS, LINES, sampler, subwords, write_lines

AUGMENTED = AugmentationConfig(symbols=0.5, typing_errors=0.5, merged=0.2, punctuation=0.2)


def side_of(tokenizer):
    """A tokenizer and the vocabulary of the lines."""
    counts = Counter(token for pair in LINES for line in pair for token in tokenizer.encode(line))
    return Side(tokenizer, Vocabulary.most_frequent(counts, symbols=ALL_SYMBOLS))


def whole_lines(folder, tokenizer):
    side = side_of(tokenizer)
    pairs = [tuple(map(side.ids, pair)) for pair in LINES]
    write_shards([Block.of(pairs)], folder, pairs_per_shard=7)
    return side, ShardDataset(folder)


def augment(folder, tokenizer):
    side, dataset = whole_lines(folder, tokenizer)
    return AugmentedPairs(dataset, (side, side), [("de", "en")], AUGMENTED, 3).draw


def cut_anew(folder, kind):
    own = sampler(kind, **({"dropout": 0.3} if kind == "bpe_dropout" else {"alpha": 0.3}))
    return SampledPairs(write_lines(folder, kind).draw, own, own, 5).draw


def tag(folder):
    _, dataset = whole_lines(folder, Characters())
    return TaggedPairs(dataset.draw, [range(9), range(9, 18)], [(7,), ()], 0.2, 4).draw


DRAWS = {
    "subwords": lambda folder: augment(folder, subwords("bpe")),
    "unigrams": lambda folder: augment(folder, subwords("unigram")),
    "characters": lambda folder: augment(folder, Characters()),
    "words": lambda folder: augment(folder, SpacyWords("de")),
    **{kind: partial(cut_anew, kind=kind) for kind in KINDS},
    "tags": tag,
}


@pytest.mark.parametrize("name", DRAWS)
def test_process_draws_the_same_pairs(name, tmp_path):
    draw = DRAWS[name](tmp_path / "train")
    elsewhere = ForkingPickler.loads(ForkingPickler.dumps(draw))

    for epoch in range(3):
        for number in range(len(LINES)):
            for here, there in zip(draw(number, epoch), elsewhere(number, epoch), strict=True):
                np.testing.assert_array_equal(here, there)


@pytest.mark.slow
def test_shares_are_the_same_from_any_position(tmp_path):
    draw = DRAWS["subwords"](tmp_path / "train")
    dataset = ShardDataset(tmp_path / "train")
    batches = TrainingBatches(dataset, TokenBatching(max_tokens=64, pool_batches=3), 1, draw)
    after = next(islice(batches.start_from(Position()), 4, None)).after
    make = partial(batches.start_from, after, rank=1, size=2)

    several = islice(zip(read_in_process(make), make(), strict=True), 40)
    for elsewhere, here in several:
        assert elsewhere.after == here.after
        assert elsewhere.pairs == here.pairs
        assert elsewhere.target_tokens == here.target_tokens
        torch.testing.assert_close(vars(elsewhere.batch), vars(here.batch), rtol=0, atol=0)


def count_slowly():
    """Shares with numbers, and the process that counts them."""
    for number in count():
        yield Share(TensorBatch(), number, os.getpid(), Position())


@pytest.mark.slow
def test_process_ignores_signals_and_ends_with_its_reader():
    numbers = read_in_process(count_slowly)
    process = next(numbers).target_tokens
    for asked in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(process, asked)
    seen = [share.predictions for share in islice(numbers, 3 * READ_AHEAD)]

    assert process != os.getpid()
    assert seen == [*range(1, 3 * READ_AHEAD + 1)]
    numbers.close()
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_killed_process_is_reported():
    numbers = read_in_process(count_slowly)
    process = next(numbers).target_tokens
    os.kill(process, signal.SIGKILL)

    with pytest.raises(NmtError, match="reads training pairs ended"):
        for _ in numbers:
            pass


def fill_pipes():
    """Shares that are too large for a pipe's buffer, and the process that makes them."""
    batch = collate([([4] * 1000, [5] * 1000)] * 50)
    while True:
        yield Share(batch, 0, os.getpid(), Position())


@pytest.mark.slow
def test_process_ends_with_a_killed_training():
    program = (
        "import os, signal; from itertools import islice; "
        "from nmt_core.data.reading_process import read_in_process; "
        "from tests.laws.test_reading_process_laws import fill_pipes; "
        "shares = read_in_process(fill_pipes); "
        "print([share.target_tokens for share in islice(shares, 9)][-1], flush=True); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run(  # which waits for any other process that has its output open
        [sys.executable, "-c", program],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )

    assert ended.returncode == -signal.SIGKILL
    assert wait_for(lambda: not psutil.pid_exists(int(ended.stdout)), seconds=30)
