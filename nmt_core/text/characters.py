"""Characters, one token each: nothing is learnt, and joining gives back the normalised line.

A character is a code point of the normalised line (``normalize.py``, NFC), not a grapheme: a mark
that composes with no letter is a token of its own, as a vocabulary of graphemes has no end. A space
is written as SentencePiece writes it.
"""

from collections.abc import Sequence
from pathlib import Path

from typing_extensions import override

from nmt_core.base import files
from nmt_core.text.normalize import WORD_BOUNDARY, normalize
from nmt_core.text.tokenizer import Tokenizer


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
