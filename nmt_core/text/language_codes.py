"""Match codes of languages, as others write them, with those that are asked for."""

from collections.abc import Sequence

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
