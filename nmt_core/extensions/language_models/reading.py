"""Texts of language models: their tokens, and training batches.

A text of characters is a document: one verbatim stream with line ends. A text of words or of a
translator's subwords is a list of lines, each from BOS to EOS, as in translation.

A row of a batch begins with BOS, which stands for an unknown context. Targets are PAD at padding
and at the BOS between two lines, which do not count in the loss.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Int
from pydantic import Field, model_validator
from torch import Tensor

from nmt_core.base.config import Config
from nmt_core.base.errors import CorpusError
from nmt_core.base.random import make_generator
from nmt_core.data.batch import TensorBatch, pad
from nmt_core.data.batching import shuffle_by_length
from nmt_core.text import load_tokenizer
from nmt_core.text.side import Side
from nmt_core.text.tokenizer import Tokenizer, Words
from nmt_core.text.vocabulary import BOS, EOS, PAD, Vocabulary


@dataclass(frozen=True)
class TextBatch(TensorBatch):
    """The batch of one update."""

    tokens: Int[Tensor, "R T"]
    targets: Int[Tensor, "R T"]
    continues: bool
    """Whether every row continues the same row of the previous batch."""


@dataclass(frozen=True)
class Streams:
    """A text divided into parallel streams, each read in order.

    Attributes:
        text: token IDs; BOS begins every independent part.
        rows: number of streams, R; fewer for a short text.
        window: tokens per row and batch, T.
    """

    text: Int[np.ndarray, " N"]
    rows: int
    window: int

    def count_steps(self, epoch: int) -> int:
        """Return the number of batches of an epoch."""
        del epoch
        return -(-self._targets().size(1) // self.window)

    def read_epoch(self, epoch: int) -> Iterator[TextBatch]:
        """Yield the batches of an epoch, the same in all epochs."""
        targets = self._targets()
        begin = torch.full((len(targets), 1), BOS)
        tokens = torch.cat([begin, targets[:, :-1]], dim=1)
        targets = targets.masked_fill(targets == BOS, PAD)
        for step in range(self.count_steps(epoch)):
            window = slice(step * self.window, (step + 1) * self.window)
            yield TextBatch(tokens[:, window], targets[:, window], continues=step > 0)

    def _targets(self) -> Int[Tensor, "R T"]:
        targets = torch.from_numpy(self.text[1:])
        rows = max(1, min(self.rows, len(targets) // self.window))
        length = -(-len(targets) // rows)
        missing = rows * length - len(targets)
        return torch.cat([targets, targets.new_full((missing,), PAD)]).view(rows, length)


@dataclass(frozen=True)
class Windows:
    """A text divided into windows or lines, which are shuffled.

    Parts longer than a window are split, at other positions in each epoch.

    Attributes:
        text: token IDs; BOS begins every independent part.
        rows: windows per batch, R.
        window: maximum tokens per window, T.
        seed: seed of the order and of the splits.
    """

    text: Int[np.ndarray, " N"]
    rows: int
    window: int
    seed: int

    def count_steps(self, epoch: int) -> int:
        """Return the number of batches of an epoch."""
        return -(-len(self._spans(epoch)) // self.rows)

    def read_epoch(self, epoch: int) -> Iterator[TextBatch]:
        """Yield the batches of an epoch."""
        draw = make_generator(self.seed, "windows", epoch)
        spans = self._spans(epoch)
        lengths = [end - begin for begin, end in spans]
        for batch in shuffle_by_length(lengths, rows=self.rows, draw=draw):
            rows = [self.text[slice(*spans[row])] for row in batch]
            tokens = pad([[BOS, *row[:-1]] for row in rows])
            yield TextBatch(tokens, pad(rows), continues=False)

    def _spans(self, epoch: int) -> list[tuple[int, int]]:
        begins = 1 + np.flatnonzero(self.text == BOS)
        ends = [*(begins[1:] - 1), len(self.text)]
        offset = int(make_generator(self.seed, "offset", epoch).integers(1, self.window + 1))
        spans = []
        for begin, end in zip(begins.tolist(), ends, strict=True):
            cuts = [begin, end]
            if end - begin > self.window:
                cuts = [begin, *range(begin + offset, end, self.window), end]
            spans += [(int(a), int(b)) for a, b in pairwise(cuts) if a < b]
        return spans


SETTINGS = {
    "character": ("kind", "lower_case"),
    "word": ("kind", "lower_case", "split", "min_count", "max_words"),
    "subword": ("kind",),
}
"""The settings that apply to each kind of unit."""


class UnitConfig(Config):
    """The tokens of a text."""

    kind: Literal["character", "word", "subword"] = "character"
    """Characters or words of the training text, or the target subwords of an exported
    translator."""
    lower_case: bool = False
    """Characters and words only: convert text to lower case."""
    split: Literal["punctuation", "whitespace"] = "punctuation"
    """Words only: split at spaces, or also around punctuation marks."""
    min_count: int = Field(2, ge=1)
    """Words only: minimum occurrences of a word; rarer words are unknown tokens."""
    max_words: int | None = Field(None, ge=1)
    """Words only: maximum size of the vocabulary, by frequency; null keeps all words."""

    @model_validator(mode="after")
    def _check(self) -> "UnitConfig":
        for name in type(self).model_fields.keys() - SETTINGS[self.kind]:
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name} cannot be combined with kind {self.kind!r}; remove it")
        return self


@dataclass(frozen=True)
class Units:
    """Converts text to token IDs and back."""

    config: UnitConfig
    tokenizer: Tokenizer | None
    """None for characters."""
    vocabulary: Vocabulary

    @property
    def document(self) -> bool:
        """Whether a text is one stream instead of lines."""
        return self.tokenizer is None

    def encode(self, text: str, *, name: str = "text") -> Int[np.ndarray, " T"]:
        """Return the token IDs of a text without its blank lines; BOS begins independent parts.

        Raises:
            CorpusError: if the text has no tokens; the message contains ``name``.
        """
        if self.document:
            numbers = [BOS, *self.encode_part(text)]
        else:
            lines = (self.encode_line(line) for line in split_lines(text) if line.strip())
            numbers = [number for line in lines for number in line]
        if len(numbers) <= 1:
            raise CorpusError(f"the {name} is empty or has only blank lines; give more text")
        return np.array(numbers)

    def encode_line(self, line: str) -> list[int]:
        """Return the token IDs of a line from BOS to EOS, normalised as in translation."""
        return [BOS, *self.encode_part(line), EOS]

    def encode_part(self, part: str) -> list[int]:
        """Return the token IDs of a part of a line (normalised) or of a document (verbatim)."""
        if self.tokenizer is None:
            return self.vocabulary.encode(part.lower() if self.config.lower_case else part)
        return Side(self.tokenizer, self.vocabulary).ids(part)

    def decode(self, numbers: Iterable[int]) -> str:
        """Return the text of token IDs; EOS ends a line."""
        lines: list[list[int]] = [[]]
        for number in numbers:
            if number == EOS:
                lines.append([])
            else:
                lines[-1].append(number)
        join = "".join if self.tokenizer is None else self.tokenizer.decode
        return "\n".join(join(self.vocabulary.decode(line)) for line in lines)


def learn_units(settings: UnitConfig, text: str) -> Units:
    """Return the characters or words of a training text as units."""
    tokenizer = find_tokenizer(settings)
    if tokenizer is None:
        counts = Counter(text.lower() if settings.lower_case else text)
        return Units(settings, None, Vocabulary.most_frequent(counts))
    counts = Counter(token for line in split_lines(text) for token in tokenizer.encode(line))
    vocabulary = Vocabulary.most_frequent(
        counts, max_size=settings.max_words, min_count=settings.min_count
    )
    return Units(settings, tokenizer, vocabulary)


def split_lines(text: str) -> list[str]:
    r"""Return the lines of a text; only ``\n`` ends a line."""
    return text.removesuffix("\n").split("\n") if text else []


def find_tokenizer(settings: UnitConfig, folder: Path | None = None) -> Tokenizer | None:
    """Return the tokenizer of words, or of subwords from a folder; None for characters."""
    if settings.kind == "word":
        return Words(settings.split, lower_case=settings.lower_case)
    return load_tokenizer(folder) if folder and settings.kind == "subword" else None


def hold_out_end(text: str, share: float, *, document: bool) -> tuple[str, str]:
    """Return the training text, and the end of the text for validation.

    The text is not shuffled, so that both parts do not share paragraphs (Géron, chapter 16). If
    ``share`` is 0, validation uses the whole text. ``document`` splits between characters instead
    of lines.

    Raises:
        CorpusError: if the training text would be empty.
    """
    pieces = list(text) if document else split_lines(text)
    separator = "" if document else "\n"
    end = len(pieces) - max(1, round(len(pieces) * share)) if share else len(pieces)
    if end < 1:
        raise CorpusError("the text is too short to hold out its end; give more, or --validation")
    return separator.join(pieces[:end]), separator.join(pieces[end:] if share else pieces)
