"""Tokenize text with spaCy into lower-case words, numbers, full stops and commas.

Without numbers, this is the tokenizer of the first experiments. Other punctuation and case are
lost, so ``decode`` returns a readable line, not the encoded one.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

import spacy
from spacy.about import __version__ as spacy_version

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.base.symbols import ALL_SYMBOLS

KEPT_PUNCTUATION = (".", ",")
"""Punctuation that is not dropped; ``decode`` writes it without a space before."""

NumberHandling = Literal["keep", "drop"]
"""Handling of words with a digit, such as ``2014``, ``3,5`` and ``20-jährig``."""

MAX_STRINGS = 1_000_000
"""Maximum number of strings in spaCy's string store, which is cleared to bound memory."""

FILE = "tokenizer.json"


class SpacyWords:
    """Tokenizer by the rules of one of spaCy's languages, such as ``"de"``, without a model.

    Raises:
        ConfigError: if spaCy does not support the language, or a package for it is missing.
    """

    def __init__(self, language: str, *, numbers: NumberHandling = "keep") -> None:
        self.language = language
        self.numbers = numbers
        self._tokenizer = _load_rules(language)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Load the tokenizer that ``save`` wrote.

        Raises:
            ConfigError: if the folder contains no such tokenizer, or the installed spaCy has other
                rules than the one that wrote it.
        """
        try:
            saved = files.read_json(folder / FILE)
            language, numbers, version, rules = (
                saved[name] for name in ("language", "numbers", "spacy_version", "rules_sha256")
            )
        except (OSError, ValueError, KeyError, TypeError):
            raise ConfigError(
                f"{folder / FILE} is missing or does not describe spaCy words; "
                f"run the tokenize stage again"
            ) from None
        tokenizer = cls(language, numbers=numbers)
        saved_release, release = (str(each).split(".")[:2] for each in (version, spacy_version))
        if saved_release != release or tokenizer.rules_sha256() != rules:
            raise ConfigError(
                f"{folder} was written with the {language!r} rules of spaCy {version}, not "
                f"spaCy {spacy_version}; install spacy=={version}, or tokenize and train again"
            )
        return tokenizer

    def save(self, folder: Path) -> None:
        """Write ``tokenizer.json`` with the language, the spaCy version and the rules' digest."""
        description = {
            "kind": "spacy",
            "language": self.language,
            "numbers": self.numbers,
            "spacy_version": spacy_version,
            "rules_sha256": self.rules_sha256(),
        }
        files.write_json(folder / FILE, description)

    def rules_sha256(self) -> str:
        """Return the SHA-256 digest of the rules, which is equal in every process."""
        return hashlib.sha256(self._tokenizer.to_bytes(exclude=["vocab"])).hexdigest()

    def encode(self, line: str) -> list[str]:
        """Return the words, full stops and commas of a line, in lower case."""
        return [word.lower() for word in self.surfaces(line)]

    def surfaces(self, line: str) -> list[str]:
        """Return the words of a line in their original case."""
        if len(self._tokenizer.vocab.strings) > MAX_STRINGS:
            self._tokenizer = _load_rules(self.language)
        kept_signs = {*KEPT_PUNCTUATION, *ALL_SYMBOLS}
        return [
            token.text
            for token in self._tokenizer(line)
            if token.is_alpha or token.text in kept_signs or self._is_number(token.text)
        ]

    def decode(self, tokens: Sequence[str]) -> str:
        """Return words joined by spaces, without spaces before punctuation."""
        pieces = (token if token in KEPT_PUNCTUATION else f" {token}" for token in tokens)
        return "".join(pieces).removeprefix(" ")

    def _is_number(self, text: str) -> bool:
        return self.numbers == "keep" and any(map(str.isdigit, text))


def _load_rules(language: str) -> Any:
    """Return spaCy's tokenizer of a language.

    Raises:
        ConfigError: if spaCy does not support the language, or a package for it is missing.
    """
    try:
        return spacy.blank(language).tokenizer
    except ImportError as error:
        raise ConfigError(
            f"spaCy {spacy_version} cannot tokenize {language!r} ({error}); install the missing "
            f"package, choose 'xx' (language-independent rules), or use a SentencePiece tokenizer"
        ) from None
