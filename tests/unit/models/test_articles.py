"""The models of van der Goten 2018, in NumPy and plain loops, from the listings of his articles.

Our weights and dropout masks are all that is taken from our code. Each weight must be used, and
each mask must have the shape that the listing names (``noise_shape``).
"""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from nmt_core.data.batch import collate
from nmt_core.models import layers
from nmt_core.models.settings import build_model
from nmt_core.training.loss import batch_loss
from tests.support.presets import SOURCE_SIZE, TARGET_SIZE, tiny_config

START, END = 1, 2
PAIRS = [([4, 5, 6, 7], [4, 5, 6]), ([8, 5], [7]), ([6], [5, 4, 4, 8])]


def exponentials(x):
    return np.exp(x - x.max(axis=-1, keepdims=True))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Listing:
    """The common part of both articles: words, positions, the output, the loss.

    Args:
      model: whose weights are taken.
      masks: the dropout masks, in the order of drawing; empty outside training.
    """

    def __init__(self, model, masks):
        trained = {n: w for n, w in model.named_parameters() if w.requires_grad}
        self.weights = {name: w.detach().numpy() for name, w in trained.items()}
        self.unused = set(self.weights)
        self.masks = iter(masks)

    def get(self, name):
        self.unused.discard(name)
        return self.weights[name]

    def embed(self, side, sentences):
        """``add_positional_embedding``: word + gamma * f(t, i), sentence by sentence."""
        table, gamma = (
            self.get(f"{side}_embedding.{n}") for n in ("table.weight", "positions.scale")
        )
        width = table.shape[1]
        found = []
        for sentence in sentences:
            rows = np.empty((len(sentence), width))
            for t, word in enumerate(sentence):
                for i in range(width):
                    wave = np.sin if i % 2 == 0 else np.cos
                    rows[t, i] = table[word, i] + gamma * wave(t / 10_000 ** ((i - i % 2) / width))
            found.append(rows)
        return found

    def drop(self, sentences, wanted):
        """Multiply by the next mask, whose shape must be [B, 1, E] or [1, E] as wanted."""
        mask = next(self.masks, None)
        if mask is None:
            return sentences
        width = sentences[0].shape[1]
        assert mask.shape == ((len(sentences), 1, width) if wanted == "sentence" else (1, 1, width))
        rows = np.broadcast_to(mask, (len(sentences), 1, width))
        return [2 * x * row for x, row in zip(sentences, rows, strict=True)]

    def dense(self, name, x, *, bias):
        product = np.einsum("ti,oi->to", x, self.get(f"{name}.weight"))
        return product + self.get(f"{name}.bias") if bias else product

    def measure(self, pairs):
        """Return the loss: the mean over sentences of the mean over their words."""
        sources = [[START, *source, END] for source, _ in pairs]
        targets = [[START, *target, END] for _, target in pairs]
        outputs = self.decode(self.embed("target", targets), self.encode(sources))
        losses = []
        for states, target in zip(outputs, targets, strict=True):
            logits = self.dense("output", states, bias=True)[:-1]
            weights = exponentials(logits)
            probabilities = weights / weights.sum(axis=1, keepdims=True)
            reference = target[1:]
            losses.append(
                -np.mean([np.log(p[w]) for p, w in zip(probabilities, reference, strict=True)])
            )
        assert not self.unused
        assert next(self.masks, None) is None
        return np.mean(losses)


class TransformerListing(Listing):
    """``encoder_layer``, ``decoder_layer`` and ``attention`` of the first article."""

    def __init__(self, model, masks, config):
        super().__init__(model, masks)
        self.heads, self.head_width = config.heads, config.head_width
        self.layers = config.encoder_layers, config.decoder_layers

    def encode(self, sentences):
        x = self.embed("source", sentences)
        for number in range(self.layers[0]):
            name = f"encoder.{number}"
            y = self.normalize(f"{name}.attend.before", x)
            y = [self.attend(f"{name}.attention", s, s) for s in y]
            x = self.add(f"{name}.attend.after", x, self.drop(y, "sentence"))
            x = self.transform(name, x)
        return x

    def decode(self, x, memory):
        for number in range(self.layers[1]):
            name = f"decoder.{number}"
            y = self.normalize(f"{name}.attend_self.before", x)
            y = [self.attend(f"{name}.self_attention", s, s, mask_future=True) for s in y]
            x = self.add(f"{name}.attend_self.after", x, self.drop(y, "sentence"))
            y = [
                self.attend(f"{name}.cross_attention", s, m) for s, m in zip(x, memory, strict=True)
            ]
            x = self.add(f"{name}.attend_source.after", x, self.drop(y, "sentence"))
            x = self.transform(name, x)
        return x

    def add(self, norm, residual, y):
        return self.normalize(norm, [r + s for r, s in zip(residual, y, strict=True)])

    def normalize(self, name, sentences):
        """``center=True, scale=False, begin_norm_axis=2``."""
        found = []
        for x in sentences:
            mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
            found.append((x - mean) / np.sqrt(variance + 1e-5) + self.get(f"{name}.bias"))
        return found

    def transform(self, name, x):
        """The dense sub-layer, whose masks have shape [1, num_dense_dims] and [1, E]."""
        y = [self.activate(self.dense(f"{name}.feed_forward.inner", s, bias=True)) for s in x]
        y = self.drop(y, "batch")
        y = [self.activate(self.dense(f"{name}.feed_forward.outer", s, bias=True)) for s in y]
        return self.add(f"{name}.transform.after", x, self.drop(y, "batch"))

    def activate(self, x):
        """``tf.nn.leaky_relu``, whose alpha is 0.2."""
        return np.where(x > 0, x, 0.2 * x)

    def attend(self, name, query, memory, *, mask_future=False):
        """No Dense layer has a bias (``use_bias=False``)."""
        parts = {}
        for part, x in (("query", query), ("key", memory), ("value", memory)):
            weight = self.get(f"{name}.{part}.weight")
            parts[part] = weight.reshape(self.heads, self.head_width, -1), x
        summaries = []
        for head in range(self.heads):
            q, k, v = (np.einsum("ti,oi->to", x, weight[head]) for weight, x in parts.values())
            weights = np.einsum("qd,kd->qk", q, k) / np.sqrt(self.head_width)
            if mask_future:
                for row in range(len(weights)):
                    weights[row, row + 1 :] = -np.inf
            weights = exponentials(weights)
            weights /= weights.sum(axis=1, keepdims=True)
            summaries.append(np.einsum("qk,kd->qd", weights, v))
        return self.dense(f"{name}.output", np.concatenate(summaries, axis=1), bias=False)


class ConvolutionListing(Listing):
    """``encoder_layer``, ``decoder_layer`` and ``attention`` of the second article."""

    def __init__(self, model, masks, config):
        super().__init__(model, masks)
        self.kernel = config.kernel
        self.layers = config.encoder_layers, config.decoder_layers

    def encode(self, sentences):
        words = x = self.embed("source", sentences)
        for number in range(self.layers[0]):
            y = [self.convolve(f"encoder.{number}", s) for s in x]
            x = self.add(f"encoder.{number}", x, y)
        return [(keys, keys + word) for keys, word in zip(x, words, strict=True)]

    def decode(self, x, memory):
        for number in range(self.layers[1]):
            y = [self.convolve(f"decoder.{number}", s) for s in x]
            y = [self.attend(s, *of) for s, of in zip(y, memory, strict=True)]
            x = self.add(f"decoder.{number}", x, y)
        return x

    def convolve(self, name, x):
        """k - 1 zeros at the left, a convolution with 2 E filters, the gated linear unit."""
        width = x.shape[1]
        taps = self.get(f"{name}.convolution.taps.weight").reshape(2 * width, self.kernel, width)
        padded = np.concatenate([np.zeros((self.kernel - 1, width)), x])
        seen = np.stack([padded[t : t + self.kernel] for t in range(len(x))])
        both = np.einsum("tki,oki->to", seen, taps) + self.get(f"{name}.convolution.taps.bias")
        return sigmoid(both[:, width:]) * both[:, :width]

    def attend(self, query, keys, values):
        scores = exponentials(np.einsum("qe,ke->qk", query, keys))
        return np.einsum("qk,ke->qe", scores / scores.sum(axis=1, keepdims=True), values)

    def add(self, name, residual, y):
        """Channel dropout, the residual, and batch normalisation without padding."""
        x = [r + s for r, s in zip(residual, self.drop(y, "sentence"), strict=True)]
        real = np.concatenate(self.seen(name, x))
        scale, shift = self.get(f"{name}.sum.scale"), self.get(f"{name}.sum.shift")
        deviation = np.sqrt(real.var(axis=0) + 1e-3)
        return [(s - real.mean(axis=0)) / deviation * scale + shift for s in x]

    def seen(self, name, x):
        """The decoder does not read END, because its prediction would be discarded."""
        return [s[:-1] for s in x] if name.startswith("decoder") else x


LISTINGS = {
    "transformer_article": TransformerListing,
    "transformer_article_lite": TransformerListing,
    "convs2s_article": ConvolutionListing,
    "convs2s_article_lite": ConvolutionListing,
}


def compare(name, monkeypatch, **changes):
    """Return our loss in training with a dropout of one half, and the article's."""
    config = tiny_config(name).model_copy(update={"dropout": 0.5, **changes})
    torch.manual_seed(3)
    model = build_model(config, source_size=SOURCE_SIZE, target_size=TARGET_SIZE).double().train()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                weight.add_(0.3 * torch.randn_like(weight))
    masks, draw = [], layers._keep

    def record(*given):
        masks.append(draw(*given))
        return masks[-1]

    monkeypatch.setattr(layers, "_keep", record)
    loss, _ = batch_loss(model, collate(PAIRS), label_smoothing=0.0, per="sentence")
    listing = LISTINGS[name](model, [mask.numpy() for mask in masks], config)
    return loss.detach(), torch.tensor(listing.measure(PAIRS))


@pytest.mark.parametrize("name", LISTINGS)
def test_models_compute_the_articles_losses(name, monkeypatch):
    ours, theirs = compare(name, monkeypatch)

    assert_close(ours, theirs)


SHARED = [
    {"variational_dropout": False},
    {"source_start": False},
    {"position_scale": "fixed"},
    {"tie": "output"},
]
CHANGES = {
    "transformer_article": [
        *SHARED,
        {"attention_output_bias": True},
        {"projection_bias": True},
        {"negative_slope": 0.01},
        {"activation": "relu"},
        {"activate_output": False},
        {"embedding_dropout": None},
        {"dense_dropout_masks": "as_elsewhere"},
        {"norm": "post"},
        {"norm": "pre"},
        {"norm_scale": True},
        {"positions": "learned", "position_scale": "fixed"},
        {"scale_embeddings": True},
        {"attention_dropout": 0.5},
    ],
    "convs2s_article": [
        *SHARED,
        {"block": "published"},
        {"encoder_padding": "symmetric"},
        {"word_scale": 4.0},
    ],
}


@pytest.mark.parametrize(
    ("name", "change"),
    [(name, change) for name, changes in CHANGES.items() for change in changes],
    ids=str,
)
def test_each_setting_of_the_articles_has_an_effect(name, change, monkeypatch):
    with pytest.raises((AssertionError, KeyError)):
        assert_close(*compare(name, monkeypatch, **change))
