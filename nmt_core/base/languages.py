"""Settings of the source and target language."""

import re
from typing import Annotated

from pydantic import AfterValidator, ValidationError

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError


def _language_code(code: str) -> str:
    if not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", code):
        raise ValueError(f"must be a language code such as de or pt-BR, got {code!r}")
    return code


def spell_with_underscores(code: str) -> str:
    """Return a code as OPUS spells it: pt_BR. OPUS joins two codes with a hyphen."""
    return code.replace("-", "_")


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
