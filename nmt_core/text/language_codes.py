"""Match the language codes of files with a requested language."""

from collections.abc import Sequence
from functools import cache

LanguageCodes = tuple[str, str]
"""Codes of the source and the target."""


def pick_code(codes: Sequence[str], requested: str) -> int | None:
    """Return the index of the closest code that matches the requested one; None without a match.

    ``de`` and ``de-AT`` match each other, in any case and with ``_`` or ``-``; ``pt-BR`` and
    ``pt-PT`` do not.
    """
    subtags = _split(requested)
    matches = [
        (abs(len(candidate) - len(subtags)), index)
        for index, candidate in enumerate(map(_split, codes))
        if candidate[: len(subtags)] == subtags[: len(candidate)] and candidate != [""]
    ]
    return min(matches)[1] if matches else None


def _split(code: str) -> list[str]:
    return code.strip().lower().replace("_", "-").split("-")


@cache
def list_language_names(code: str, display_languages: tuple[str, ...] = ()) -> frozenset[str]:
    """Return the case-folded names of a language in English, its own and the display languages.

    There are none if babel is not installed.
    """
    try:
        from babel import Locale, UnknownLocaleError  # optional
    except ImportError:
        return frozenset()
    try:
        locale = Locale.parse(code, sep="-")
    except (ValueError, UnknownLocaleError):  # babel does not know all languages
        return frozenset()
    names = {locale.get_language_name("en"), locale.get_language_name()}
    for display_language in display_languages:
        try:
            names.add(locale.get_language_name(display_language.replace("-", "_")))
        except (ValueError, UnknownLocaleError):
            continue
    return frozenset(name.casefold() for name in names if name)
