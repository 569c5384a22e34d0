"""Words as spaCy's rules find them: letters, numbers, full stops and commas, in lower case.

Without numbers this is the tokenizer of the first experiments. Other punctuation and case are lost,
so ``decode`` gives a readable line and not the line that was encoded.
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

MARKS = (".", ",")
"""The punctuation that is kept; a line is written with no space before it."""

NumberHandling = Literal["keep", "drop"]
"""Treatment of words with a digit, such as ``2014``, ``3,5`` and ``20-jährig``."""

MOST_STRINGS = 1_000_000
"""Strings that spaCy remembers before it starts anew, which bounds memory."""

FILE = "tokenizer.json"


class SpacyWords:
    """Tokenizer rules of one language; no tagger, no parser, no model to download.

    Args:
        language: a code that spaCy knows, such as ``"de"``.
        numbers: whether words that hold a digit are kept.

    Raises:
        ConfigError: if spaCy lacks the language, or a package that the language needs.
    """

    def __init__(self, language: str, *, numbers: NumberHandling = "keep") -> None:
        self.language = language
        self.numbers = numbers
        self._tokenizer = _load_rules(language)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the files of ``save``.

        Raises:
            ConfigError: if the folder holds no such tokenizer, or was written with a spaCy of
                other rules, which would cut the same line into other words.
        """
        try:
            saved = files.read_json(folder / FILE)
            kind, language, numbers, version, rules = (
                saved[name]
                for name in ("kind", "language", "numbers", "spacy_version", "rules_sha256")
            )
        except (OSError, ValueError, KeyError, TypeError):
            raise ConfigError(
                f"{folder / FILE} is missing or does not describe spaCy words; "
                f"run the tokenize stage again"
            ) from None
        if kind != "spacy":
            raise ConfigError(f"{folder / FILE} describes a {kind!r} tokenizer, not spaCy words")
        tokenizer = cls(language, numbers=numbers)
        release, installed = (str(each).split(".")[:2] for each in (version, spacy_version))
        if release != installed or tokenizer.rules_sha256() != rules:
            raise ConfigError(
                f"{folder} was made with the {language!r} rules of spaCy {version}, and spaCy "
                f"{spacy_version} has others; install spacy=={version}, or prepare the text and "
                f"train again"
            )
        return tokenizer

    def save(self, folder: Path) -> None:
        """Write the language and what identifies the rules to ``tokenizer.json``."""
        description = {
            "kind": "spacy",
            "language": self.language,
            "numbers": self.numbers,
            "spacy_version": spacy_version,
            "rules_sha256": self.rules_sha256(),
        }
        files.write_json(folder / FILE, description)

    def rules_sha256(self) -> str:
        """Return a digest of the rules, the same in every process."""
        return hashlib.sha256(self._tokenizer.to_bytes(exclude=["vocab"])).hexdigest()

    def encode(self, line: str) -> list[str]:
        """Return the words of a line, full stops and commas among them, in lower case."""
        return [word.lower() for word in self.surfaces(line)]

    def surfaces(self, line: str) -> list[str]:
        """Return the words of a line in the case they have there."""
        if len(self._tokenizer.vocab.strings) > MOST_STRINGS:
            self._tokenizer = _load_rules(self.language)
        marks = {*MARKS, *ALL_SYMBOLS}
        return [
            token.text
            for token in self._tokenizer(line)
            if token.is_alpha or token.text in marks or self._is_number(token.text)
        ]

    def decode(self, tokens: Sequence[str]) -> str:
        """Return the line of these words."""
        pieces = (token if token in MARKS else f" {token}" for token in tokens)
        return "".join(pieces).removeprefix(" ")

    def _is_number(self, text: str) -> bool:
        return self.numbers == "keep" and any(map(str.isdigit, text))


def _load_rules(language: str) -> Any:
    """Return spaCy's tokenizer of a language.

    Raises:
        ConfigError: if spaCy lacks the language, or a package that the language needs.
    """
    try:
        return spacy.blank(language).tokenizer
    except ImportError as error:
        raise ConfigError(
            f"spaCy {spacy_version} cannot tokenize {language!r} ({error}); install what it asks "
            f"for, choose 'xx' (rules of no language in particular), or use a SentencePiece "
            f"tokenizer, which needs no rules"
        ) from None
