"""One side of a translation, source or target: encode text as token IDs and decode them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from nmt_core.text import load_tokenizer
from nmt_core.text.normalize import normalize
from nmt_core.text.tokenizer import Tokenizer
from nmt_core.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Tokenized:
    """A line with its tokens, for the side that tokenized it."""

    line: str
    tokens: list[str]
    tag: str | None = None
    """Tag of the corpus for a model that was trained with tags; None for no tag."""


@dataclass(frozen=True)
class Side:
    """A tokenizer and its vocabulary; every method normalises its lines."""

    tokenizer: Tokenizer
    vocabulary: Vocabulary
    tag: str | None = None
    """The tag of its lines; None for no tag."""

    @classmethod
    def load(cls, tokenizer: Path, vocabulary: Path) -> Self:
        """Load the tokenizer of a folder and the vocabulary of a file.

        Raises:
            BundleError: if the folder contains no tokenizer that this program supports.
        """
        return cls(load_tokenizer(tokenizer), Vocabulary.load(vocabulary))

    def tokenize(self, line: str | Tokenized) -> Tokenized:
        """Return a line with its tokens; a tokenized line is returned as it is."""
        if isinstance(line, Tokenized):
            return line
        return Tokenized(line, self.tokenizer.encode(normalize(line)), self.tag)

    def tokens(self, line: str | Tokenized) -> list[str]:
        """Return the tokens of a line."""
        return self.tokenize(line).tokens

    def surfaces(self, line: str) -> list[str]:
        """Return the surface text of each token of a line, for copied tokens."""
        return self.tokenizer.surfaces(normalize(line))

    def ids(self, line: str | Tokenized) -> list[int]:
        """Return the token IDs of a line."""
        return self.vocabulary.encode(self.tokens(line))

    def find_tag(self, text: Tokenized) -> list[int]:
        """Return a list with the ID of the line's tag; empty if the line has no tag."""
        return [] if text.tag is None else [self.vocabulary.tags[text.tag]]

    def join(self, tokens: Sequence[str]) -> str:
        """Return the line of these tokens."""
        return normalize(self.tokenizer.decode(tokens))

    def text(self, ids: Iterable[int]) -> str:
        """Return the line of these token IDs."""
        return self.join(self.vocabulary.decode(ids))
