"""English names of languages, from the Common Locale Data Repository."""

from babel import Locale

NAMES = {**Locale("en").languages, "bn": "Bengali"}
"""By code, as LibreTranslate says them: it has no Bangla."""


def name_language(code: str) -> str:
    """Return the English name of a language, or its code where there is none."""
    return str(NAMES.get(code, code))
