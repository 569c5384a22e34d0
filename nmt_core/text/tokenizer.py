"""Tokenizers: their interface, and the tokenizers that need no training."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from typing_extensions import override

from nmt_core.base import files
from nmt_core.text.normalize import WORD_BOUNDARY, normalize


class Tokenizer(Protocol):
    """Cuts lines into tokens and joins tokens to lines.

    Lines are normalised (``normalize.py``) before they come here, in training as in translation:
    a tokenizer need not do it, and of a line that is not may make other tokens.
    """

    def encode(self, line: str) -> list[str]:
        """Return the tokens of one normalised line; none holds a space."""

    def surfaces(self, line: str) -> list[str]:
        """Return the text of each token of ``encode``, for tokens that are copied.

        The tokens themselves, where they keep all that the line shows.
        """
        return self.encode(line)

    def decode(self, tokens: Sequence[str]) -> str:
        """Return the line that the tokens make."""

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json`` and other files that ``load_tokenizer`` needs."""


WORDS_AND_MARKS = re.compile(r"\w+|[^\w\s]")


class Words(Tokenizer):
    """Cuts lines into words; joining them puts a space between any two.

    Args:
        split: where to cut.
        lower_case: read capital letters as small ones.
    """

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
        """Do nothing: the settings say it all."""


class Characters(Tokenizer):
    """Cuts lines into characters and joins them without loss."""

    @override
    def encode(self, line: str) -> list[str]:
        """Return the characters of a line, each space as ``▁``."""
        return [*normalize(line).replace(" ", WORD_BOUNDARY)]

    @override
    def decode(self, tokens: Sequence[str]) -> str:
        """Return the line that the characters make; the unknown token stays as it is spelt."""
        return "".join(tokens).replace(WORD_BOUNDARY, " ")

    @override
    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json``, which says all."""
        files.write_json(folder / "tokenizer.json", {"kind": "characters"})
