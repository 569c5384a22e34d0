"""Read .jsonl: an object of JSON a line, whose keys name the languages, as data sets have them.

The sides stand in the object itself, ``{"de": "Guten Tag.", "en": "Good day."}``, or in one of its
``translation``, as Hugging Face keeps pairs.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import read_raw_lines
from nmt_core.base.utf8 import BYTE_ORDER_MARK, refuse_utf16
from nmt_core.corpora.formats.tables import MOST_LINE_BYTES, find_columns
from nmt_core.corpora.formats.units import PairedUnits, RowPlace

NESTED = "translation"
"""Key of the object with both sides, where they do not stand in the line's own."""


def read_jsonl(path: Path, languages: Languages) -> PairedUnits:
    """Read a .jsonl; an object without a side, or a blank line, is a unit without it.

    Raises:
        CorpusError: if the keys of the first object name no two languages, or a line is no object;
            reading the rows may raise it, too.
    """
    first = next((each for each in _read_objects(path) if each), {})
    keys = [*_find_sides(first)]
    columns = find_columns(keys, languages)
    if first and columns is None:
        shown = ", ".join(repr(key[:20]) for key in keys[:10])
        raise CorpusError(
            f"{path} does not say which keys of its first object are source and target: {shown}; "
            f"name them {' and '.join(languages.codes)}"
        )
    named = tuple(keys[column] for column in columns or ())
    rows = (_pick(each, named) for each in _read_objects(path))
    return PairedUnits(rows, RowPlace())


def _read_objects(path: Path) -> Iterator[dict[str, Any]]:
    for number, raw in enumerate(read_raw_lines(path, max_line_bytes=MOST_LINE_BYTES), start=1):
        if raw is None:
            raise CorpusError(f"{path} line {number} is longer than {MOST_LINE_BYTES:,} bytes")
        if number == 1:
            refuse_utf16(raw, path)
        text = raw.decode(errors="surrogateescape")  # what is no UTF-8 is told with its pair
        text = text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text
        try:
            found = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise CorpusError(
                f"{path} line {number} is no object of JSON; a .jsonl has one on each line, as "
                f"jq -c '.[]' writes those of a list"
            )
        yield found


def _find_sides(found: dict[str, Any]) -> dict[str, Any]:
    nested = found.get(NESTED)
    return nested if isinstance(nested, dict) else found


def _pick(found: dict[str, Any], keys: tuple[str, ...]) -> tuple[str, ...]:
    sides = _find_sides(found)
    values = [sides.get(key) for key in keys] or ["", ""]
    return tuple(value if isinstance(value, str) else "" for value in values)
