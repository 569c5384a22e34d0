"""Every preset learns to reverse, and one of each family also learns to copy."""

import pytest
import torch

from nmt_core.base.random import make_generator
from nmt_core.data.batch import collate
from nmt_core.models.settings import build_model
from nmt_core.search.beam import beam_search
from nmt_core.search.settings import BeamConfig
from nmt_core.training.loss import batch_loss
from tests.support.presets import PRESETS, tiny_config

DIGITS = range(4, 14)
LENGTH = 4
LEARNT = 0.002
"""Maximum loss per digit, over the last batches, of a model that is almost certain."""
RIGHT = 0.98
"""Minimum share of correct new lines; on some CPUs, one line of 50 is wrong."""

SHAPES = [name for name in PRESETS if not name.endswith("_lite")]
"""Presets that are equal to another preset when they are tiny."""


TASKS = [("copy", name) for name in ("transformer", "convs2s", "rnn_attention")]
TASKS += [("reverse", name) for name in SHAPES]
"""Reversing requires everything that copying does, so only one of each family also copies."""


@pytest.mark.slow
@pytest.mark.parametrize(("task", "name"), TASKS)
def test_preset_learns_digits(name, task):
    """After a minute of training, a beam of three makes almost no errors on new lines."""
    wider = {"width": 48, "heads": 4, "head_width": 12, "feed_forward_width": 64, "dropout": 0.0}
    config = tiny_config(name).model_copy(update=wider)
    model = build_model(config, source_size=14, target_size=14)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    draw = make_generator(0, "digits")

    def batch(pairs):
        rows = draw.integers(DIGITS.start, DIGITS.stop, (pairs, LENGTH)).tolist()
        return collate([(row, row if task == "copy" else row[::-1]) for row in rows])

    recent = 1.0
    for _ in range(800):
        loss, _ = batch_loss(model, batch(64), label_smoothing=0.0, per="token")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent = 0.8 * recent + 0.2 * loss.item()
        if recent < LEARNT:
            break
    unseen = batch(300)
    found = beam_search(model.eval(), unseen.source, unseen.source_padding, BeamConfig(beam_size=3))

    expected = [tuple(row[:LENGTH]) for row in unseen.target_output.tolist()]
    right = [row == best.tokens for row, (best, *_) in zip(expected, found, strict=True)]
    assert sum(right) >= RIGHT * len(right)
