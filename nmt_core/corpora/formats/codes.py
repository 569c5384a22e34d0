"""Match codes of languages, as others write them, with those that are asked for."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.text.language_codes import pick_code

MOST_NAMED = 20
"""Codes in a message, and characters of each."""

MOST_CODES = 1000
"""Different codes of a file that are remembered."""


def pick_pair(codes: Sequence[str], languages: Languages) -> tuple[int, int] | None:
    """Return the indices of source and target among codes, or None if one is missing."""
    source, target = (pick_code(codes, wanted) for wanted in languages.codes)
    return None if source is None or target is None or source == target else (source, target)


def refuse_languages(path: Path, found: Counter[str], languages: Languages) -> CorpusError:
    """Return the error of a file that has not the two languages, and name those that it has."""
    named = [
        f"{' '.join(code.split())[:MOST_NAMED] or 'none named'} ({count:,})"
        for code, count in found.most_common(MOST_NAMED)
    ]
    return CorpusError(
        f"{path} has no unit in {' and '.join(languages.codes)}; "
        f"it has {', '.join(named) or 'no unit at all'}; "
        f"set download.languages, or give another file"
    )
