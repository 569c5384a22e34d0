"""Each architecture learns to write dates in ISO 8601 (Géron, chapter 16)."""

from collections import Counter
from datetime import date
from itertools import chain, islice

import pytest
import torch

from nmt_core.base.compute import Compute
from nmt_core.base.random import make_generator
from nmt_core.data.batch import collate
from nmt_core.evaluation.validation import score_greedy
from nmt_core.models.settings import build_model, read_model_config
from nmt_core.text import Characters
from nmt_core.text.side import Side
from nmt_core.text.vocabulary import Vocabulary
from nmt_core.training.loss import batch_loss
from nmt_core.training.optimizer import apply_gradients, build_optimizer
from nmt_core.training.settings import AdamW, Muon, WarmupDecay
from tests.support.presets import PRESETS
from tests.support.trainings import PROCESSOR

COUNTS = {"test": 1000, "validation": 500, "train": 10_000}

RECURRENT = {"width": 64, "hidden_width": 64, "dropout": 0.0}
DEEP = {"width": 64, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}
TRAININGS = {
    "transformer": (DEEP | {"feed_forward_width": 128}, Muon(), 0.006, 450),
    "convs2s": (DEEP | {"hidden_width": 64}, AdamW(), 0.003, 400),
    "rnn_attention": (RECURRENT, AdamW(), 0.01, 350),
    "rnn_bahdanau": (RECURRENT, AdamW(), 0.01, 350),
}
"""Shape, optimizer, peak learning rate and updates, by preset."""

BATCH = 64
"""Number of dates per update."""


def draw():
    """Return unique dates for each split, in English and in ISO 8601."""
    first, last = (day.toordinal() for day in (date(1000, 1, 1), date.max))
    days = iter(make_generator(1, "dates").permutation(last - first + 1).tolist())
    chosen = {
        split: [date.fromordinal(first + day) for day in islice(days, count)]
        for split, count in COUNTS.items()
    }
    return {
        split: [(f"{day:%B} {day.day}, {day.year}", day.isoformat()) for day in dates]
        for split, dates in chosen.items()
    }


class Exact:
    """A metric: the share of exactly correct lines."""

    value: int

    def score(self, hypotheses, references, _):
        self.value = sum(map(str.__eq__, hypotheses, references))
        return self


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAININGS)
def test_architectures_learn_to_write_dates(name):
    """Greedy search on characters writes 99 of 100 unseen dates correctly.

    The exact number depends on the order of sums, so on threads and CPU.
    """
    shape, optimizer, peak, updates = TRAININGS[name]
    drawn = draw()
    text = chain.from_iterable(drawn["train"])
    known = Counter(chain.from_iterable(map(Characters().encode, text)))
    side = Side(Characters(), Vocabulary.most_frequent(known))
    rows = {split: [tuple(map(side.ids, pair)) for pair in drawn[split]] for split in drawn}
    torch.manual_seed(1)
    size = len(side.vocabulary)
    config = read_model_config(PRESETS[name] | shape)
    model = build_model(config, source_size=size, target_size=size)
    own = build_optimizer(model, optimizer)
    schedule = WarmupDecay(learning_rate=peak, warmup=0.1)
    numbers = make_generator(1, "batches")
    for update in range(updates):
        chosen = numbers.integers(len(rows["train"]), size=BATCH)
        batch = collate([rows["train"][row] for row in chosen])
        loss, _ = batch_loss(model, batch, label_smoothing=0.0, per="token")
        loss.backward()
        rate = schedule.rate(update, (update + 1) / updates)
        weights = [*model.parameters()]
        apply_gradients(weights, own, compute=PROCESSOR, learning_rate=rate, max_norm=1.0)

    sources, references = zip(*drawn["test"], strict=True)
    right = score_greedy(
        model.eval(),
        metric=Exact(),
        sources=sources,
        source_numbers=[source for source, _ in rows["test"]],
        references=references,
        target=side,
        compute=Compute(torch.device("cpu"), torch.float32),
    )
    assert len(references) == 1000
    assert right >= 990
