"""Texts of a document that stay as they are, counted by the reason."""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from nmt_core.text.language_codes import LanguageCodes, pick_code

NO_LANGUAGE = ("x", "und", "zxx", "mul")
"""Codes, up to their first dash, that name no language."""


class Reason(Enum):
    """A reason why a text stays; the value says which texts, after their number."""

    CHOICE = (
        "with a plural or select amid their text or beside quoted syntax; translate them by hand"
    )
    LANGUAGE = "marked as another language than the source"
    COMPARED = "that a formula, a list of choices or a condition compares with"


Untranslated = Counter[Reason]
"""Number of texts that stay untranslated, by reason."""


@dataclass
class LanguageMarks:
    """The languages that a document names for parts of its text."""

    codes: LanguageCodes | None
    """The codes of source and target, if they are known."""
    untranslated: Untranslated = field(default_factory=Counter)
    """Texts that stay because of their language."""

    def is_other(self, code: str) -> bool:
        """Tell whether a code names another language than the source's."""
        named = code.strip().replace("_", "-").partition("-")[0].lower()
        if self.codes is None or not named or named in NO_LANGUAGE:
            return False
        return pick_code([code], self.codes[0]) is None

    def is_source(self, code: str) -> bool:
        """Tell whether a code names the source language."""
        return self.codes is not None and pick_code([code], self.codes[0]) is not None

    def count(self) -> None:
        """Count a text that stays because of its language."""
        self.untranslated[Reason.LANGUAGE] += 1


def count_untranslated(document: object) -> Untranslated:
    """Return how many texts of a document stay."""
    counted = getattr(document, "untranslated", None)
    return counted if isinstance(counted, Counter) else Counter()
