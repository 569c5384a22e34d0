"""Labelled texts, and texts as numbers of their words."""

import re
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from nmt_core.base.config import Config
from nmt_core.base.errors import CorpusError
from nmt_core.base.files import BYTE_ORDER_MARK
from nmt_core.base.random import make_generator
from nmt_core.data.vectors import build_embedding_matrix, read_vectors
from nmt_core.extensions.language_models.reading import split_lines
from nmt_core.extensions.learning import read_text
from nmt_core.text.tokenizer import Words
from nmt_core.text.vocabulary import UNK, Vocabulary

LINE_BREAK = re.compile(r"<br\s*/?>")
"""Line break of HTML, which is frequent in reviews."""


Labelled = list[tuple[str, str]]
"""Texts with their labels: label, text."""


def list_labels(labelled: Labelled) -> list[str]:
    """Return every label once, by the alphabet."""
    return sorted({label for label, _ in labelled})


def read_labelled(path: Path) -> Labelled:
    """Read lines of label, tab and text.

    Raises:
        CorpusError: if the file cannot be read, is not UTF-8, holds no text, or a line has another
            number of fields or no label.
    """
    content = read_text(path).removeprefix(BYTE_ORDER_MARK)
    labelled = []
    for number, line in enumerate(split_lines(content), start=1):
        label, *texts = line.removesuffix("\r").split("\t")
        if len(texts) != 1 or not label.strip():
            problem = "no label" if len(texts) == 1 else f"{len(texts) + 1} fields instead of 2"
            raise CorpusError(f"line {number} of {path} has {problem}; write label, tab, text")
        labelled.append((label.strip(), texts[0]))
    if not labelled:
        raise CorpusError(f"{path} holds no text; write lines of label, tab, text")
    return labelled


def hold_out(labelled: Labelled, share: float, *, seed: int) -> tuple[Labelled, Labelled]:
    """Return texts to learn from, and a random share of distinct texts to validate on.

    Texts that differ only in capitals and spaces stay together.

    Raises:
        CorpusError: if a label, or any second label, is missing from the texts to learn from.
    """
    labels = list_labels(labelled)
    if len(labels) == 1:
        raise CorpusError(
            f"all {len(labelled):,} texts are labelled {labels[0]!r}; give texts of two labels or "
            f"more"
        )
    alike: dict[str, list[int]] = {}
    for row, (_, text) in enumerate(labelled):
        alike.setdefault(" ".join(text.lower().split()), []).append(row)
    groups = list(alike.values())
    order = make_generator(seed, "held out").permutation(len(groups)).tolist()
    count = max(1, round(len(groups) * share))
    held, rest = (
        [labelled[row] for row in sorted(row for group in part for row in groups[group])]
        for part in (order[:count], order[count:])
    )
    if lost := [label for label in labels if label not in list_labels(rest)]:
        raise CorpusError(
            f"once {len(held):,} of {len(labelled):,} texts are held out, none is left labelled "
            f"{', '.join(lost)}; give more of them, or set held_out lower"
        )
    return rest, held


class TextConfig(Config):
    """Settings of the tokens of a text."""

    words: int = Field(10_000, ge=1, le=10_000_000)
    """Most frequent words, each with its own embedding."""
    buckets: int = Field(1_000, ge=1, le=10_000_000)
    """Embeddings of all other words, by a hash of their letters."""
    lower_case: bool = True
    """Read capital letters as small ones."""
    longest: int = Field(250, ge=1)
    """Tokens of a text that are read."""
    keep: Literal["first", "last"] = "last"
    """Part of a longer text to read: its beginning or its end."""


@dataclass(frozen=True)
class HashedWords:
    """Numbers of words: those of the vocabulary first, then buckets.

    A word outside the vocabulary falls into a bucket by its CRC-32, the same on every machine.
    """

    config: TextConfig
    vocabulary: Vocabulary

    @property
    def size(self) -> int:
        """Count of numbers."""
        return len(self.vocabulary) + self.config.buckets

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text's first or last words; UNK for a text without any."""
        words, longest = split(text, lower_case=self.config.lower_case), self.config.longest
        read = words[:longest] if self.config.keep == "first" else words[-longest:]
        return [*map(self._number, read)] or [UNK]

    def _number(self, word: str) -> int:
        if word in self.vocabulary:
            return self.vocabulary.encode([word])[0]
        return len(self.vocabulary) + zlib.crc32(word.encode()) % self.config.buckets


def learn_words(config: TextConfig, texts: Iterable[str]) -> HashedWords:
    """Return the most frequent words of texts."""
    counts = Counter(word for text in texts for word in split(text, lower_case=config.lower_case))
    return HashedWords(config, Vocabulary.most_frequent(counts, max_size=config.words))


def split(text: str, *, lower_case: bool) -> list[str]:
    """Return the words and marks of a text, without line breaks of HTML."""
    plain = LINE_BREAK.sub(" ", text)
    return Words("punctuation", lower_case=lower_case).encode(plain)


def read_embeddings(path: Path, words: HashedWords, *, seed: int) -> Float[Tensor, "V D"]:
    """Return the vector of every number; those of buckets are random, as long as those of words.

    Raises:
        CorpusError: if the file is missing or damaged, or has none of the words.
    """
    if not path.is_file():
        raise CorpusError(f"{path} is not a file; name word vectors, .vec or .vec.gz")
    vectors = read_vectors(path, words.vocabulary)
    if not np.isfinite(vectors.weight).all():
        raise CorpusError(f"{path} holds numbers that are not finite; download it again")
    draw = make_generator(seed, "embeddings")
    matrix = build_embedding_matrix(vectors, draw, name="classifier's")
    size = float(np.sqrt(np.mean(vectors.weight[vectors.origin > 0] ** 2)))
    buckets = draw.normal(0.0, size, size=(words.size - len(words.vocabulary), vectors.dimensions))
    return torch.from_numpy(np.concatenate([matrix, buckets.astype(np.float32)]))
