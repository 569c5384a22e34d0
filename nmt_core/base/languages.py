"""Settings of the source and target language, or of several directions of translation."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, ValidationError

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError


def _language_code(code: str) -> str:
    if not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", code):
        raise ValueError(f"must be a language code such as de or pt-BR, got {code!r}")
    return code


def spell_with_underscores(code: str) -> str:
    """Return a code as OPUS spells it: pt_BR. OPUS joins two codes with a hyphen."""
    return code.replace("-", "_")


KeyT = TypeVar("KeyT")

MULTIPLE = "mul"
"""Code of several languages in ISO 639-2: the source or target of a multilingual model."""

LanguageCode = Annotated[str, AfterValidator(_language_code)]


class Languages(Config):
    """The source and target language."""

    source: LanguageCode
    """Code of the language to translate from, such as de."""

    target: LanguageCode
    """Code of the language to translate into, such as en."""

    @property
    def codes(self) -> tuple[str, str]:
        """The codes of source and target."""
        return self.source, self.target

    @property
    def reversed(self) -> "Languages":
        """The opposite direction."""
        return Languages(source=self.target, target=self.source)

    def __str__(self) -> str:
        return "-".join(self.codes)


def read_languages(pair: str) -> Languages:
    """Return the languages of a pair such as ``de-en``, ``pt-BR-en`` or ``zh-Hant pt-BR``.

    Raises:
        ConfigError: if the text does not name two languages.
    """
    separator = " " if " " in pair.strip() else "-"
    parts = pair.strip().split(separator)
    for end in range(1, len(parts)):
        try:
            return Languages(source=separator.join(parts[:end]), target=separator.join(parts[end:]))
        except ValidationError:
            continue
    raise ConfigError(f"{pair!r} is not a pair of languages; write it like de-en or pt-BR-en")


def _read_pair(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return read_languages(value)
    except ConfigError as error:
        raise ValueError(str(error)) from None


LanguagePair = Annotated[Languages, BeforeValidator(_read_pair), PlainSerializer(str)]
"""Source and target language, which settings may also write as de-en."""

_PAIR = re.compile(r"[a-z]{2,3}(?:-[A-Z][A-Za-z]+)*-[a-z]{2,3}(?:-[A-Z][A-Za-z]+)*")
"""Two codes joined by a hyphen; scripts and regions, unlike languages, begin with a capital."""


def read_directions(text: str) -> tuple[Languages, ...]:
    """Return the directions of a list such as ``de-en fr-en``; a single pair is one direction.

    Raises:
        ConfigError: if a part is not a pair of languages.
    """
    parts = text.split()
    if len(parts) > 1 and all(map(_PAIR.fullmatch, parts)):
        return tuple(map(read_languages, parts))
    return (read_languages(text),)


def summarize_directions(directions: Sequence[Languages]) -> Languages:
    """Return the common source and target of directions; ``MULTIPLE`` where they differ."""
    sides = ({direction.codes[side] for direction in directions} for side in (0, 1))
    source, target = (codes.pop() if len(codes) == 1 else MULTIPLE for codes in sides)
    return Languages(source=source, target=target)


def group_rows(keys: Sequence[KeyT]) -> dict[KeyT, list[int]]:
    """Return the rows of each key, such as the direction of each line, in order."""
    rows: dict[KeyT, list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    return rows
