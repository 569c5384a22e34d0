"""Labelled texts, and texts as numbers of their words."""

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
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
from nmt_core.base.random import make_generator
from nmt_core.base.raw_lines import BYTE_ORDER_MARK, decode_utf8
from nmt_core.data.vectors import build_embedding_matrix, read_vectors
from nmt_core.text.tokenizer import Words
from nmt_core.text.vocabulary import UNK, Vocabulary

COLUMNS = ("label", "text")
"""Columns of a line; a first line with these names gives their places."""

LINE_BREAK = re.compile(r"<br\s*/?>")
"""Line break of HTML, which is frequent in reviews."""


@dataclass(frozen=True)
class LabelledTexts:
    """Texts and the label of each."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def classes(self) -> tuple[str, ...]:
        """Every label once, by the alphabet."""
        return tuple(sorted({*self.labels}))

    def take(self, rows: Sequence[int]) -> "LabelledTexts":
        """Return some of them, in this order."""
        texts, labels = [self.texts[row] for row in rows], [self.labels[row] for row in rows]
        return LabelledTexts(tuple(texts), tuple(labels))


def read_labelled(path: Path) -> LabelledTexts:
    """Read lines of label, tab and text, or of the columns that the first line names.

    Raises:
        CorpusError: if the file cannot be read, is not UTF-8, holds no text, or a line has another
            number of fields or no label.
    """
    try:
        content = decode_utf8(path.read_bytes(), path).removeprefix(BYTE_ORDER_MARK)
    except OSError as error:
        raise CorpusError(f"{path} cannot be read ({error.strerror}); check its name") from None
    lines = [line.removesuffix("\r").split("\t") for line in content.split("\n")]
    if lines[-1] == [""]:
        lines.pop()
    header = lines[0] if lines and {*COLUMNS} <= {*lines[0]} else None
    columns = header or list(COLUMNS)
    label, text = (columns.index(name) for name in COLUMNS)
    first = 2 if header else 1
    rows = lines[first - 1 :]
    for number, fields in enumerate(rows, start=first):
        if len(fields) != len(columns):
            raise CorpusError(
                f"line {number} of {path} has {len(fields)} fields instead of {len(columns)}; "
                f"write label, tab, text, or name the columns in a first line"
            )
        if not fields[label].strip():
            raise CorpusError(f"line {number} of {path} has no label; write label, tab, text")
    if not rows:
        raise CorpusError(f"{path} holds no text; write lines of label, tab, text")
    return LabelledTexts(
        tuple(fields[text] for fields in rows), tuple(fields[label].strip() for fields in rows)
    )


def hold_out(
    labelled: LabelledTexts, share: float, *, seed: int
) -> tuple[LabelledTexts, LabelledTexts]:
    """Return texts to learn from, and a random share of distinct texts to validate on.

    Texts that differ only in capitals and spaces stay together.

    Raises:
        CorpusError: if a label, or any second label, is missing from the texts to learn from.
    """
    if len(labelled.classes) == 1:
        raise CorpusError(
            f"all {len(labelled):,} texts are labelled {labelled.classes[0]!r}; give texts of two "
            f"labels or more"
        )
    alike: dict[str, list[int]] = {}
    for row, text in enumerate(labelled.texts):
        alike.setdefault(" ".join(text.lower().split()), []).append(row)
    groups = list(alike.values())
    order = make_generator(seed, "held out").permutation(len(groups)).tolist()
    count = max(1, round(len(groups) * share))
    held = sorted(row for group in order[:count] for row in groups[group])
    training = labelled.take(sorted(row for group in order[count:] for row in groups[group]))
    if training.classes != labelled.classes:
        lost = sorted({*labelled.classes} - {*training.classes})
        raise CorpusError(
            f"once {len(held):,} of {len(labelled):,} texts are held out, none is left labelled "
            f"{', '.join(lost)}; give more of them, or set held_out lower"
        )
    return training, labelled.take(held)


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
