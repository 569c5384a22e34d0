"""One side of a translation, source or target: text to numbers of tokens and back."""

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
    """A line with its tokens, cut once; only its own side may read it."""

    line: str
    tokens: list[str]
    tag: str | None = None
    """Where the line is from, for a model that was told so of its training text."""


@dataclass(frozen=True)
class Side:
    """A tokenizer and its vocabulary; every method normalises its lines."""

    tokenizer: Tokenizer
    vocabulary: Vocabulary
    tag: str | None = None
    """The tag of its lines; None for none."""

    @classmethod
    def load(cls, tokenizer: Path, vocabulary: Path) -> Self:
        """Read a tokenizer's folder and a vocabulary's file.

        Raises:
            BundleError: if the folder holds no tokenizer that this program can honour.
        """
        return cls(load_tokenizer(tokenizer), Vocabulary.load(vocabulary))

    def tokenize(self, line: str | Tokenized) -> Tokenized:
        """Return a line with its tokens; one that has them already as it is."""
        if isinstance(line, Tokenized):
            return line
        return Tokenized(line, self.tokenizer.encode(normalize(line)), self.tag)

    def tokens(self, line: str | Tokenized) -> list[str]:
        """Return the tokens of a line."""
        return self.tokenize(line).tokens

    def surfaces(self, line: str) -> list[str]:
        """Return the text of each token of a line, for tokens that are copied."""
        return self.tokenizer.surfaces(normalize(line))

    def ids(self, line: str | Tokenized) -> list[int]:
        """Return the numbers of a line's tokens."""
        return self.vocabulary.encode(self.tokens(line))

    def find_tag(self, text: Tokenized) -> list[int]:
        """Return the number of the tag of a line, or nothing where it has none."""
        return [] if text.tag is None else [self.vocabulary.tags[text.tag]]

    def join(self, tokens: Sequence[str]) -> str:
        """Return the line that tokens make."""
        return normalize(self.tokenizer.decode(tokens))

    def text(self, ids: Iterable[int]) -> str:
        """Return the line that the numbers of tokens make."""
        return self.join(self.vocabulary.decode(ids))
