"""A whole translator trained on corpora with tags."""

from dataclasses import replace

import torch

from nmt_core.base.random import derive_seed
from nmt_core.models.settings import build_model
from nmt_core.search.pytorch import PyTorchEngine
from tests.support.tiny import MODEL, tiny_translator

NAMES = ("news", "own")
"""The tags that the translator knows."""


def tagged_translator(names=NAMES, **changes):
    """A whole translator whose vocabularies have tags and which would write tags without end."""
    plain = tiny_translator(**changes)
    vocabulary = plain.source.vocabulary.with_tags(names)
    torch.manual_seed(derive_seed(2))
    model = build_model(MODEL, source_size=len(vocabulary), target_size=len(vocabulary))
    numbers = tuple(vocabulary.tags.values())
    hidden = torch.randn(MODEL.width)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2:
                weight.mul_(3.0 if "table" in name else 2.0)
        model.decoder_norm.bias.copy_(hidden)
        model.output.weight[[*numbers]] += 2 * hidden
    source, target = (replace(side, vocabulary=vocabulary) for side in (plain.source, plain.target))
    engine = PyTorchEngine(model, len(vocabulary), never=numbers)
    return replace(plain, engine=engine, source=source, target=target)
