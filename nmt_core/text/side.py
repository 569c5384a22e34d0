"""One side of a translation, source or target: encode text as token IDs and decode them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from nmt_core.base import files
from nmt_core.base.errors import BundleError
from nmt_core.base.packages import format_install_command
from nmt_core.text.normalize import normalize
from nmt_core.text.subwords import Subwords
from nmt_core.text.tokenizer import Characters, Tokenizer
from nmt_core.text.vocabulary import Vocabulary


class Tokenized(NamedTuple):
    """A line with its tokens, for the side that tokenized it."""

    line: str
    tokens: list[str]
    tags: tuple[str, ...] = ()
    """Tags that the model reads before the line: the target language, and the domain."""


@dataclass(frozen=True)
class Side:
    """A tokenizer and its vocabulary; every method normalises its lines."""

    tokenizer: Tokenizer
    vocabulary: Vocabulary
    tags: tuple[str, ...] = ()
    """The tags of its lines, such as the target language and the domain."""

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
        return Tokenized(line, self.tokenizer.encode(normalize(line)), self.tags)

    def tokens(self, line: str | Tokenized) -> list[str]:
        """Return the tokens of a line."""
        return self.tokenize(line).tokens

    def surfaces(self, line: str) -> list[str]:
        """Return the surface text of each token of a line, for copied tokens."""
        return self.tokenizer.surfaces(normalize(line))

    def ids(self, line: str | Tokenized) -> list[int]:
        """Return the token IDs of a line."""
        return self.vocabulary.encode(self.tokens(line))

    def join(self, tokens: Sequence[str]) -> str:
        """Return the line of these tokens."""
        return normalize(self.tokenizer.decode(tokens))

    def text(self, ids: Iterable[int]) -> str:
        """Return the line of these token IDs."""
        return self.join(self.vocabulary.decode(ids))


def load_tokenizer(folder: Path) -> Tokenizer:
    """Return the tokenizer of any kind in a folder.

    Raises:
        BundleError: if it is missing, of an unknown kind, or needs spaCy, which is not installed.
    """
    try:
        kind = str(files.read_json(folder / "tokenizer.json")["kind"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BundleError(
            f"{folder} contains no tokenizer ({error}); run the tokenize stage again"
        ) from None
    if kind == "sentencepiece":
        return Subwords.load(folder)
    if kind == "characters":
        return Characters()
    if kind == "spacy":
        try:
            from nmt_core.text.spacy_words import SpacyWords  # takes a second
        except ModuleNotFoundError as error:
            if error.name != "spacy":
                raise
            raise BundleError(
                f"the tokenizer in {folder} requires spaCy, which is not installed; run: "
                f"{format_install_command('spacy')}"
            ) from None
        return SpacyWords.load(folder)
    raise BundleError(f"{folder} contains a tokenizer of unknown kind {kind!r}; export it again")
