"""Text: one normal form, strict reading, tokenizers."""

from pathlib import Path

from nmt_core.errors import TokenizerError
from nmt_core.text.characters import Characters
from nmt_core.text.subwords import Subwords, read_kind
from nmt_core.text.tokenizer import Tokenizer


def load_tokenizer(folder: Path) -> Tokenizer:
    """Read a tokenizer of any kind.

    Raises:
        TokenizerError: if the folder holds none, or one that this program cannot honour.
    """
    kind = read_kind(folder)
    if kind == "sentencepiece":
        return Subwords.load(folder)
    if kind == "characters":
        return Characters()
    if kind == "spacy":
        from nmt_core.text.spacy_words import SpacyWords  # noqa: PLC0415 - takes a second

        return SpacyWords.load(folder)
    raise TokenizerError(f"{folder} holds a tokenizer of unknown kind {kind!r}; export it again")


__all__ = ["Characters", "Subwords", "Tokenizer", "load_tokenizer"]
