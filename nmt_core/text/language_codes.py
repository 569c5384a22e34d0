"""Match codes of languages, as others write them, with those that are asked for."""

from collections.abc import Sequence
from functools import cache

LanguageCodes = tuple[str, str]
"""Codes of the source and the target."""


def pick_code(codes: Sequence[str], wanted: str) -> int | None:
    """Return the index of the code that is the wanted language, the closest one first.

    ``de`` and ``de-AT`` match each other, in any case and with any dash; ``pt-BR`` and ``pt-PT``
    do not.
    """
    parts = _split(wanted)
    alike = [
        (abs(len(found) - len(parts)), index)
        for index, found in enumerate(map(_split, codes))
        if found[: len(parts)] == parts[: len(found)] and found != [""]
    ]
    return min(alike)[1] if alike else None


def _split(code: str) -> list[str]:
    return code.strip().lower().replace("_", "-").split("-")


@cache
def list_language_names(code: str, readers: tuple[str, ...] = ()) -> frozenset[str]:
    """Return the names of a language where babel is installed: in English, in itself, in others.

    Args:
        code: of the language.
        readers: codes of further languages in which it is named, too.
    """
    try:
        from babel import Locale, UnknownLocaleError  # optional
    except ImportError:
        return frozenset()
    try:
        locale = Locale.parse(code, sep="-")
    except (ValueError, UnknownLocaleError):  # babel knows some hundred
        return frozenset()
    names = {locale.get_language_name("en"), locale.get_language_name()}
    for reader in readers:
        try:
            names.add(locale.get_language_name(reader.replace("-", "_")))
        except (ValueError, UnknownLocaleError):
            continue
    return frozenset(name.casefold() for name in names if name)
