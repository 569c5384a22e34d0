"""Lines to tokens and back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Tokenizer(Protocol):
    """Cuts lines into tokens and joins tokens to lines.

    Lines are normalised (``normalize.py``) before they come here, in training as in translation:
    a tokenizer need not do it, and of a line that is not may make other tokens.
    """

    def encode(self, line: str) -> list[str]:
        """Return the tokens of one normalised line; none holds a space."""

    def surfaces(self, line: str) -> list[str]:
        """Return the text of each token of :meth:`encode`, for tokens that are copied.

        The tokens themselves, where they keep all that the line shows.
        """
        return self.encode(line)

    def decode(self, tokens: Sequence[str]) -> str:
        """Return the line that the tokens make."""

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json`` and other files that :func:`load_tokenizer` needs."""
