"""Text: normalisation, sentences, words, tokenizers and vocabularies."""

from pathlib import Path

from nmt_core.base.errors import BundleError
from nmt_core.base.packages import format_install_command
from nmt_core.text.subwords import Subwords, read_kind
from nmt_core.text.tokenizer import Characters, Tokenizer


def load_tokenizer(folder: Path) -> Tokenizer:
    """Return the tokenizer of any kind in a folder.

    Raises:
        BundleError: if the folder contains no tokenizer, one of an unknown kind, or one that
            requires spaCy, which is not installed.
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
                f"the tokenizer in {folder} requires spaCy, which is not installed; run: "
                f"{format_install_command('spacy')}"
            ) from None
        return SpacyWords.load(folder)
    raise BundleError(f"{folder} contains a tokenizer of unknown kind {kind!r}; export it again")


__all__ = ["Characters", "Subwords", "Tokenizer", "load_tokenizer"]
