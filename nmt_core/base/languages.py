"""The two languages of a translation, as a person sets them."""

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
    """Return a code as OPUS spells it, whose names join two by a hyphen: pt_BR."""
    return code.replace("-", "_")


LanguageCode = Annotated[str, AfterValidator(_language_code)]


class Languages(Config):
    """The languages of the two sides."""

    source: LanguageCode
    """Code of the language to translate from, such as de."""

    target: LanguageCode
    """Code of the language to translate into, such as en."""

    @property
    def codes(self) -> tuple[str, str]:
        """The source's code and the target's."""
        return self.source, self.target


def read_languages(pair: str) -> Languages:
    """Return the languages that ``de-en``, ``pt-BR-en`` or ``zh-Hant pt-BR`` names.

    Raises:
        ConfigError: if it does not name two.
    """
    joint = " " if " " in pair.strip() else "-"
    parts = pair.strip().split(joint)
    for end in range(1, len(parts)):
        try:
            return Languages(source=joint.join(parts[:end]), target=joint.join(parts[end:]))
        except ValidationError:
            continue
    raise ConfigError(f"languages are written as in de-en or pt-BR-en, got {pair!r}")
