"""Labelled texts, and the token IDs of texts."""

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
"""An HTML line break, which is frequent in reviews."""

Labelled = list[tuple[str, str]]
"""Pairs of label and text."""


def list_labels(labelled: Labelled) -> list[str]:
    """Return the distinct labels in alphabetical order."""
    return sorted({label for label, _ in labelled})


def read_labelled(path: Path) -> Labelled:
    """Read lines of label, tab and text.

    Raises:
        CorpusError: if the file cannot be read, is not UTF-8, is empty, or has a line without a
            label or with another number of fields.
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
        raise CorpusError(f"{path} is empty; write lines of label, tab, text")
    return labelled


def hold_out(labelled: Labelled, share: float, *, seed: int) -> tuple[Labelled, Labelled]:
    """Return training texts, and a random share of the texts for validation.

    Texts that differ only in letter case and spaces are not separated.

    Raises:
        CorpusError: if there is only one label, or the training texts do not have every label.
    """
    labels = list_labels(labelled)
    if len(labels) == 1:
        raise CorpusError(
            f"all {len(labelled):,} texts have the label {labels[0]!r}; add texts of other labels"
        )
    rows_by_text: dict[str, list[int]] = {}
    for row, (_, text) in enumerate(labelled):
        rows_by_text.setdefault(" ".join(text.lower().split()), []).append(row)
    groups = list(rows_by_text.values())
    order = make_generator(seed, "held out").permutation(len(groups)).tolist()
    count = max(1, round(len(groups) * share))
    held_out, training = (
        [labelled[row] for row in sorted(row for group in numbers for row in groups[group])]
        for numbers in (order[:count], order[count:])
    )
    if missing := [label for label in labels if label not in list_labels(training)]:
        raise CorpusError(
            f"all texts of the labels {', '.join(missing)} are held out ({len(held_out):,} of "
            f"{len(labelled):,} texts); add texts of these labels, or lower held_out"
        )
    return training, held_out


class TextConfig(Config):
    """Settings of the tokens of a text."""

    words: int = Field(10_000, ge=1, le=10_000_000)
    """Number of frequent words with their own embedding."""
    buckets: int = Field(1_000, ge=1, le=10_000_000)
    """Number of embeddings that all other words share, selected by a hash."""
    lower_case: bool = True
    """Convert texts to lower case."""
    longest: int = Field(250, ge=1)
    """Maximum tokens of a text."""
    keep: Literal["first", "last"] = "last"
    """Part of a longer text to read: its beginning or its end."""


@dataclass(frozen=True)
class HashedWords:
    """IDs of words: the vocabulary, then buckets.

    The CRC-32 of a word selects its bucket if it is not in the vocabulary.
    """

    config: TextConfig
    vocabulary: Vocabulary

    @property
    def size(self) -> int:
        """Number of IDs."""
        return len(self.vocabulary) + self.config.buckets

    def encode(self, text: str) -> list[int]:
        """Return the IDs of a text's first or last words, or UNK for a text without words."""
        words, limit = split_tokens(text, lower_case=self.config.lower_case), self.config.longest
        kept = words[:limit] if self.config.keep == "first" else words[-limit:]
        return [*map(self._number, kept)] or [UNK]

    def _number(self, word: str) -> int:
        if word in self.vocabulary:
            return self.vocabulary.encode([word])[0]
        return len(self.vocabulary) + zlib.crc32(word.encode()) % self.config.buckets


def learn_words(config: TextConfig, texts: Iterable[str]) -> HashedWords:
    """Return the vocabulary of the most frequent words of texts."""
    counts = Counter(
        word for text in texts for word in split_tokens(text, lower_case=config.lower_case)
    )
    return HashedWords(config, Vocabulary.most_frequent(counts, max_size=config.words))


def split_tokens(text: str, *, lower_case: bool) -> list[str]:
    """Return the words and punctuation marks of a text, without HTML line breaks."""
    plain = LINE_BREAK.sub(" ", text)
    return Words("punctuation", lower_case=lower_case).encode(plain)


def read_embeddings(path: Path, words: HashedWords, *, seed: int) -> Float[Tensor, "V D"]:
    """Return the initial embedding of every ID, random for buckets with the words' variance.

    Raises:
        CorpusError: if the file is missing or damaged, or has none of the words.
    """
    if not path.is_file():
        raise CorpusError(f"{path} is not a file; give word vectors, .vec or .vec.gz")
    vectors = read_vectors(path, words.vocabulary)
    if not np.isfinite(vectors.weight).all():
        raise CorpusError(f"{path} has values that are not finite; download it again")
    draw = make_generator(seed, "embeddings")
    matrix = build_embedding_matrix(vectors, draw, name="classifier's")
    size = float(np.sqrt(np.mean(vectors.weight[vectors.origin > 0] ** 2)))
    buckets = draw.normal(0.0, size, size=(words.size - len(words.vocabulary), vectors.dimensions))
    return torch.from_numpy(np.concatenate([matrix, buckets.astype(np.float32)]))
