"""Text: one normal form, strict reading, tokenizers."""

from pathlib import Path

from nmt_core.base.errors import BundleError
from nmt_core.base.packages import format_install_command
from nmt_core.text.subwords import Subwords, read_kind
from nmt_core.text.tokenizer import Characters, Tokenizer


def load_tokenizer(folder: Path) -> Tokenizer:
    """Read a tokenizer of any kind.

    Raises:
        BundleError: if the folder holds none, or one that this program cannot honour, or that
            needs spaCy where that is not installed.
    """
    kind = read_kind(folder)
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
                f"{folder} cuts text into spaCy's words, which is not installed; run: "
                f"{format_install_command('spacy')}"
            ) from None
        return SpacyWords.load(folder)
    raise BundleError(f"{folder} holds a tokenizer of unknown kind {kind!r}; export it again")


__all__ = ["Characters", "Subwords", "Tokenizer", "load_tokenizer"]
