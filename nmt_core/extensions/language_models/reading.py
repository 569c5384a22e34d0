"""Texts of language models: their tokens, and batches of them in training.

Characters make a document, kept verbatim, line ends included, and read as one stream. Words, and
the subwords of a translator, make lines, each from BOS to EOS, as translations are.

A row of a batch begins with BOS, which says that nothing is known of what came before. Targets are
PAD where there is nothing to learn: in padding, and at the BOS between two lines.
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
    """A batch of one step."""

    tokens: Int[Tensor, "R T"]
    targets: Int[Tensor, "R T"]
    continues: bool
    """Whether every row continues its row of the batch before."""


@dataclass(frozen=True)
class Streams:
    """A text cut into as many streams as there are rows, read side by side from end to end.

    Attributes:
        text: in which BOS begins what is independent.
        rows: streams, R; fewer for a short text.
        window: tokens of a row, T.
    """

    text: Int[np.ndarray, " N"]
    rows: int
    window: int

    def steps(self, epoch: int) -> int:
        """See the contract."""
        del epoch
        return -(-self._targets().size(1) // self.window)

    def epoch(self, epoch: int) -> Iterator[TextBatch]:
        """See the contract; the text of all epochs is the same."""
        targets = self._targets()
        begin = torch.full((len(targets), 1), BOS)
        tokens = torch.cat([begin, targets[:, :-1]], dim=1)
        targets = targets.masked_fill(targets == BOS, PAD)
        for step in range(self.steps(epoch)):
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
    """A text cut into windows, or lines, that are read in an order of chance.

    What is longer than a window is cut, each epoch at other places.

    Attributes:
        text: in which BOS begins what is independent.
        rows: windows of a batch, R.
        window: tokens per window at most, T.
        seed: where chance comes from.
    """

    text: Int[np.ndarray, " N"]
    rows: int
    window: int
    seed: int

    def steps(self, epoch: int) -> int:
        """See the contract."""
        return -(-len(self._spans(epoch)) // self.rows)

    def epoch(self, epoch: int) -> Iterator[TextBatch]:
        """See the contract."""
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
"""Settings of each kind of unit."""


class UnitConfig(Config):
    """The tokens of a text."""

    kind: Literal["character", "word", "subword"] = "character"
    """All characters of the training text, its words, or the target tokens of an exported
    translator, which then can start from the model."""
    lower_case: bool = False
    """Characters and words only: read capital letters as small ones."""
    split: Literal["punctuation", "whitespace"] = "punctuation"
    """Words only: cut at spaces alone, or around punctuation marks too."""
    min_count: int = Field(2, ge=1)
    """Words only: occurrences below which a word is the unknown token."""
    max_words: int | None = Field(None, ge=1)
    """Words only: most frequent words to keep; null keeps all."""

    @model_validator(mode="after")
    def _check(self) -> "UnitConfig":
        for name in type(self).model_fields.keys() - SETTINGS[self.kind]:
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name} cannot be combined with kind {self.kind!r}; remove it")
        return self


@dataclass(frozen=True)
class Units:
    """Text to numbers and back."""

    config: UnitConfig
    tokenizer: Tokenizer | None
    """None for characters."""
    vocabulary: Vocabulary

    @property
    def document(self) -> bool:
        """Tells whether a text is one stream, rather than lines."""
        return self.tokenizer is None

    def encode(self, text: str, *, name: str = "text") -> Int[np.ndarray, " T"]:
        """Return a text as one array; BOS begins independent parts; blank lines are left out.

        Raises:
            CorpusError: if nothing is left, by what the text is called.
        """
        if self.document:
            numbers = [BOS, *self.encode_part(text)]
        else:
            lines = (self.encode_line(line) for line in split_lines(text) if line.strip())
            numbers = [number for line in lines for number in line]
        if len(numbers) <= 1:
            raise CorpusError(f"the {name} is empty or holds blank lines alone; give more text")
        return np.array(numbers)

    def encode_line(self, line: str) -> list[int]:
        """Return a line from BOS to EOS, normalised as translators read it."""
        return [BOS, *self.encode_part(line), EOS]

    def encode_part(self, part: str) -> list[int]:
        """Return a part of a line, normalised so, or of a document, as it is."""
        if self.tokenizer is None:
            return self.vocabulary.encode(part.lower() if self.config.lower_case else part)
        return Side(self.tokenizer, self.vocabulary).ids(part)

    def decode(self, numbers: Iterable[int]) -> str:
        """Return the text; EOS ends a line."""
        lines: list[list[int]] = [[]]
        for number in numbers:
            if number == EOS:
                lines.append([])
            else:
                lines[-1].append(number)
        join = "".join if self.tokenizer is None else self.tokenizer.decode
        return "\n".join(join(self.vocabulary.decode(line)) for line in lines)


def learn_units(settings: UnitConfig, text: str) -> Units:
    """Return the units that a training text is made of: characters or words."""
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
    r"""Return the lines of a text, ended by ``\n`` alone."""
    return text.removesuffix("\n").split("\n") if text else []


def find_tokenizer(settings: UnitConfig, folder: Path | None = None) -> Tokenizer | None:
    """Return what cuts text into units, subwords by a tokenizer's folder; None for characters."""
    if settings.kind == "word":
        return Words(settings.split, lower_case=settings.lower_case)
    return load_tokenizer(folder) if folder and settings.kind == "subword" else None


def hold_out_end(text: str, share: float, *, document: bool) -> tuple[str, str]:
    """Cut a text in order, as shuffled parts would share paragraphs (Géron, chapter 16).

    The end is for validation; if its share is 0, so is all of the text. ``document`` tells whether
    to cut between characters rather than lines.

    Raises:
        CorpusError: if nothing would be left to learn from.
    """
    pieces = list(text) if document else split_lines(text)
    joint = "" if document else "\n"
    end = len(pieces) - max(1, round(len(pieces) * share)) if share else len(pieces)
    if end < 1:
        raise CorpusError(
            "the text is too short to hold out any of it; give more, or a text for --validation"
        )
    return joint.join(pieces[:end]), joint.join(pieces[end:] if share else pieces)
