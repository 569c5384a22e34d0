"""The interface of tokenizers, and the tokenizers that need no training."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from typing_extensions import override

from nmt_core.base import files
from nmt_core.text.normalize import WORD_BOUNDARY, normalize


class Tokenizer(Protocol):
    """Splits lines into tokens and joins tokens into lines.

    Callers normalise lines (``normalize.py``) in training and translation. Tokens of other lines
    may differ.
    """

    def encode(self, line: str) -> list[str]:
        """Return the tokens of a normalised line; no token contains a space."""

    def surfaces(self, line: str) -> list[str]:
        """Return the surface text of each token of ``encode``, for copied tokens.

        These are the tokens themselves if the tokenizer is lossless.
        """
        return self.encode(line)

    def decode(self, tokens: Sequence[str]) -> str:
        """Return the line of these tokens."""

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json`` and other files that ``load_tokenizer`` needs."""


WORDS_AND_MARKS = re.compile(r"\w+|[^\w\s]")


class Words(Tokenizer):
    """Splits lines at white space, or also at punctuation; ``decode`` joins words with spaces."""

    def __init__(
        self, split: Literal["punctuation", "whitespace"], *, lower_case: bool = False
    ) -> None:
        self.split = split
        self.lower_case = lower_case

    @override
    def encode(self, line: str) -> list[str]:
        line = normalize(line.lower() if self.lower_case else line)
        return line.split() if self.split == "whitespace" else WORDS_AND_MARKS.findall(line)

    @override
    def decode(self, tokens: Sequence[str]) -> str:
        return " ".join(tokens)

    @override
    def save(self, folder: Path) -> None:
        """Do nothing: the settings describe this tokenizer completely."""


class Characters(Tokenizer):
    """Splits lines into characters and joins them without loss."""

    @override
    def encode(self, line: str) -> list[str]:
        """Return the characters of a line, with ``▁`` for spaces."""
        return [*normalize(line).replace(" ", WORD_BOUNDARY)]

    @override
    def decode(self, tokens: Sequence[str]) -> str:
        """Return the line of these characters; the unknown token is written as ``<unk>``."""
        return "".join(tokens).replace(WORD_BOUNDARY, " ")

    @override
    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json``."""
        files.write_json(folder / "tokenizer.json", {"kind": "characters"})
