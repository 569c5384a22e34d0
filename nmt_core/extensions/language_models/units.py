"""Tokens of language models: characters, words, or the subwords of a translator.

Characters make a document, kept verbatim, line ends included, and read as one stream. Words and
subwords make lines, each from BOS to EOS, as translations are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Int
from pydantic import Field, TypeAdapter
from typing_extensions import override

from nmt_core.base import config, files
from nmt_core.base.config import Config
from nmt_core.base.errors import BundleError, CorpusError
from nmt_core.text import load_tokenizer
from nmt_core.text.side import Side
from nmt_core.text.tokenizer import Tokenizer, Words
from nmt_core.text.vocabulary import BOS, EOS, SPECIALS, Vocabulary


class CharacterUnit(Config):
    """Characters, all that the training text holds."""

    kind: Literal["character"] = "character"
    """The tag of this choice."""
    lower_case: bool = False
    """Read capital letters as small ones."""


class WordUnit(Config):
    """Words; rare ones are all alike."""

    kind: Literal["word"] = "word"
    """The tag of this choice."""
    split: Literal["punctuation", "whitespace"] = "punctuation"
    """Cut at spaces alone, or around punctuation marks too."""
    lower_case: bool = False
    """Read capital letters as small ones."""
    min_count: int = Field(2, ge=1)
    """Occurrences below which a word is the unknown token."""
    max_words: int | None = Field(None, ge=1)
    """Most frequent words to keep; null keeps all."""


class SubwordUnit(Config):
    """The target tokens of an exported translator, which then can start from the model."""

    kind: Literal["subword"] = "subword"
    """The tag of this choice."""


UnitConfig = Annotated[CharacterUnit | WordUnit | SubwordUnit, Field(discriminator="kind")]


class VerbatimCharacters(Tokenizer):
    """Cuts text into characters, line ends included."""

    def __init__(self, *, lower_case: bool = False) -> None:
        self.lower_case = lower_case

    @override
    def encode(self, line: str) -> list[str]:
        return list(line.lower() if self.lower_case else line)

    @override
    def decode(self, tokens: Sequence[str]) -> str:
        return "".join(tokens)

    @override
    def save(self, folder: Path) -> None:
        """Do nothing: there is nothing to know."""


@dataclass(frozen=True)
class Units:
    """Text to numbers and back."""

    config: CharacterUnit | WordUnit | SubwordUnit
    tokenizer: Tokenizer
    vocabulary: Vocabulary

    @property
    def document(self) -> bool:
        """Tells whether a text is one stream, rather than lines."""
        return isinstance(self.config, CharacterUnit)

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
        if self.document:
            return self.vocabulary.encode(self.tokenizer.encode(part))
        return Side(self.tokenizer, self.vocabulary).ids(part)

    def decode(self, numbers: Iterable[int]) -> str:
        """Return the text; EOS ends a line."""
        lines: list[list[int]] = [[]]
        for number in numbers:
            if number == EOS:
                lines.append([])
            else:
                lines[-1].append(number)
        return "\n".join(self.tokenizer.decode(self.vocabulary.decode(line)) for line in lines)

    def save(self, folder: Path) -> None:
        """Write everything to a folder."""
        files.write_json(folder / "units.json", self.config.model_dump(mode="json"))
        # a character may be a line end, so this is no file of lines
        files.write_json(folder / "vocabulary.json", list(self.vocabulary.tokens))
        if isinstance(self.config, SubwordUnit):
            self.tokenizer.save(folder / "tokenizer")

    @classmethod
    def load(cls, folder: Path) -> "Units":
        """Read the files of :meth:`save`.

        Raises:
            BundleError: if the folder holds no language model.
        """
        try:
            values = files.read_json(folder / "units.json")
            tokens = files.read_json(folder / "vocabulary.json")
        except FileNotFoundError as error:
            raise BundleError(
                f"{folder} is no language model, for it holds no {Path(error.filename).name}; "
                f"name a folder that nmt learn wrote"
            ) from None
        tokens = TypeAdapter(list[str]).validate_python(tokens, strict=True)
        settings = config.build(_Settings, {"unit": values}, at="units").unit
        return cls(settings, _tokenizer(settings, folder / "tokenizer"), Vocabulary(tokens))


class _Settings(Config):
    unit: UnitConfig


def learn_units(settings: CharacterUnit | WordUnit, text: str) -> Units:
    """Return the units that a training text is made of."""
    tokenizer = _tokenizer(settings, None)
    if isinstance(settings, CharacterUnit):
        return Units(settings, tokenizer, Vocabulary.most_frequent(Counter(tokenizer.encode(text))))
    counts = Counter(token for line in split_lines(text) for token in tokenizer.encode(line))
    vocabulary = Vocabulary.most_frequent(
        counts, max_size=settings.max_words, min_count=settings.min_count
    )
    return Units(settings, tokenizer, vocabulary)


def split_lines(text: str) -> list[str]:
    r"""Return the lines of a text, ended by ``\n`` alone."""
    return text.removesuffix("\n").split("\n") if text else []


def _tokenizer(settings: CharacterUnit | WordUnit | SubwordUnit, folder: Path | None) -> Tokenizer:
    if isinstance(settings, CharacterUnit):
        return VerbatimCharacters(lower_case=settings.lower_case)
    if isinstance(settings, WordUnit):
        return Words(settings.split, lower_case=settings.lower_case)
    assert folder is not None
    return load_tokenizer(folder)


def hold_out_end(text: str, share: float, *, document: bool) -> tuple[str, str]:
    """Cut a text in order, as shuffled parts would share paragraphs (Géron, chapter 16).

    Args:
        text: characters if it is a document, else lines.
        share: share to validate on; with 0, validation is the training text.
        document: whether the text is one stream, rather than lines.

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


def encode_parts(
    parts: Mapping[str, str], units: Units, *, masked: bool
) -> dict[str, Int[np.ndarray, " N"]]:
    """Return the token numbers of texts by their names.

    Raises:
        CorpusError: naming the first text without a token, or without one to mask.
    """
    encoded = {name: units.encode(text, name=f"{name} text") for name, text in parts.items()}
    for name, numbers in encoded.items():
        if masked and not (numbers >= len(SPECIALS)).any():
            remedy = ", or lower unit.min_count" if isinstance(units.config, WordUnit) else ""
            raise CorpusError(
                f"the {name} text holds no {units.config.kind} that the model knows, so there is "
                f"none to hide; give more text{remedy}"
            )
    return encoded
