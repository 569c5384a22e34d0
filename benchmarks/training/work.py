"""The same work for all systems: a pre-norm Transformer, and text of which each token is a word."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

VOCABULARY = 8000
"""Tokens of the random text."""

FIRST_WORD = 4
"""Numbers below it are those of special tokens."""


@dataclass(frozen=True)
class Shape:
    """A pre-norm Transformer whose embeddings and output share their weights."""

    width: int
    heads: int
    encoder_layers: int
    decoder_layers: int
    feed_forward_width: int
    dropout: float


SHAPE = Shape(256, 4, 3, 3, 1024, 0.2)
"""Of the model whose speed is measured."""


@dataclass(frozen=True)
class Work:
    """Text, its tokens between spaces, and what is to learn from it."""

    source: Path
    target: Path
    tokens: Path
    """Every token once, one a line."""
    batch_tokens: int
    """The most target tokens of a batch, padding counted."""
    shape: Shape = SHAPE
    warmup: int = 0
    """Updates in which the learning rate grows before it falls, as in Vaswani et al. 2017, section
    5.3; 0 keeps it at a ten-thousandth, where speed alone counts."""

    def read_tokens(self) -> list[str]:
        """Return every token once."""
        return self.tokens.read_text().split()


def draw_pairs(count: int = 8000) -> list[tuple[list[int], list[int]]]:
    """Return random pairs with lengths like those of image captions in subwords."""
    draw = np.random.default_rng(1)
    source = np.clip(draw.poisson(14.8, count), 3, 60)
    target = np.clip(source + draw.integers(-4, 4, count), 3, 60)
    return [
        (
            draw.integers(FIRST_WORD, VOCABULARY, s).tolist(),
            draw.integers(FIRST_WORD, VOCABULARY, t).tolist(),
        )
        for s, t in zip(source, target, strict=True)
    ]


def write_work(folder: Path, batch_tokens: int) -> Work:
    """Write the pairs as text, each token a word."""
    work = Work(folder / "source", folder / "target", folder / "tokens", batch_tokens)
    sources, targets = zip(*draw_pairs(), strict=True)
    words = [[number] for number in range(FIRST_WORD, VOCABULARY)]
    for path, sentences in ((work.source, sources), (work.target, targets), (work.tokens, words)):
        lines = (" ".join(f"t{number}" for number in sentence) for sentence in sentences)
        path.write_text("".join(f"{line}\n" for line in lines))
    return work
