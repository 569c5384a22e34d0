"""What the Transformer language model sees of a text, and what it is made of."""

import pytest
import torch
from torch.testing import assert_close

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError
from nmt_core.extensions.language_models.neural import TransformerLanguageConfig
from nmt_core.extensions.language_models.training import LearningConfig, build_language_model
from nmt_core.text.vocabulary import BOS

WORDS = 12
SHAPE = {"layers": 2, "width": 8, "heads": 2, "feed_forward_width": 16, "dropout": 0.0}
TEXT = torch.tensor([[BOS, 4, 5, 6, 7, 8, 9, 10, 11, 4, 6, 8, 10]])


def tiny(context):
    torch.manual_seed(0)
    model = build_language_model(TransformerLanguageConfig(**SHAPE, context=context), WORDS)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model.double().eval()


def test_a_full_context_begins_anew_with_its_newer_half():
    """As a training window does, with BOS; the law is written out for a context of six."""
    model = tiny(context=6)
    predicted = model(TEXT)[0]
    seen = {
        5: [BOS, 4, 5, 6, 7, 8],
        6: [BOS, 6, 7, 8, 9],
        7: [BOS, 6, 7, 8, 9, 10],
        8: [BOS, 8, 9, 10, 11],
        12: [BOS, 4, 6, 8, 10],
    }

    for place, tokens in seen.items():
        assert_close(predicted[place], model(torch.tensor([tokens]))[0, -1])


def test_what_lies_behind_a_context_is_forgotten():
    model, changed = tiny(context=4), TEXT.clone()
    changed[0, 3] = 11
    differs = (model(TEXT)[0].exp() - model(changed)[0].exp()).abs().amax(dim=-1) > 1e-9

    assert differs.tolist() == [False] * 3 + [True] * 3 + [False] * 7


def test_a_context_that_training_never_shows_is_refused():
    values = {"model": {"kind": "transformer", "context": 65}}

    with pytest.raises(ConfigError, match=r"context 65 is more than .* training.window to 65"):
        build(LearningConfig, values, at="learn")
