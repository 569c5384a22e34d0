"""Quotation marks: read as ones that a model knows, and put around a whole line again."""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

STRAIGHT = '"'
PAIRS = ("„“", STRAIGHT * 2, "“”", "«»")
"""Marks that open and close, as which others are read: the first that are known; last come those
that many a text has only now and then."""
_MARKS = '"„“”«»'
_MARK = re.compile(f"[{_MARKS}]")
_READ = re.compile(rf"[{_MARKS}‟‹›‚]|(?<=\w)‘(?!\w)")
"""Those that are read, among them what closes ``‚`` and is an apostrophe elsewhere."""
_MAY_BE_READ = re.compile(f"[{_MARKS}‟‹›‚‘]")
_ENCLOSED = re.compile(rf"\s*[{_MARKS}][^{_MARKS}\w]*\w[^{_MARKS}]*[{_MARKS}]\s*")


def list_known_marks(tokens: Iterable[str]) -> frozenset[str]:
    """Return the characters of a vocabulary that are quotation marks."""
    return frozenset(mark for token in tokens for mark in _READ.findall(token))


def read_quotes(line: str, known: AbstractSet[str]) -> str:
    """Return a line with quotation marks that a model knows in the place of those it does not."""
    marks = [*_READ.finditer(line)] if _MAY_BE_READ.search(line) else []
    if known >= {match[0] for match in marks}:
        return line
    pair = next((pair for pair in PAIRS if known >= {*pair}), "")
    if not pair:
        return line
    parts, end, is_open = [], 0, False
    for match in marks:
        before = line[end : match.start()]
        if not is_open and before[-1:].isalnum():  # such as that of inches
            continue
        parts += [before.rstrip(), pair[1]] if is_open else [before, pair[0]]
        end = match.end()
        is_open = not is_open
        if is_open:
            end += len(line[end:]) - len(line[end:].lstrip())
    return line if is_open else "".join([*parts, line[end:]])


def is_enclosed(line: str) -> bool:
    """Tell whether a line stands in quotation marks as a whole."""
    return _ENCLOSED.fullmatch(line) is not None


def unquote(line: str) -> str:
    """Return a line without quotation marks around all of it, see :func:`enclose`."""
    return line.strip()[1:-1].strip() if is_enclosed(line) else line


def enclose(translation: str, source: str) -> str:
    """Return a translation in straight quotation marks if its source stands in any and it has none.

    Straight ones are right in every language.
    """
    if not is_enclosed(source) or not translation or _MARK.search(translation):
        return translation
    return f"{STRAIGHT}{translation}{STRAIGHT}"
