"""Quotation marks: replaced by known ones, put around a line again, and reported if unpaired.

A translation without any is no mistake: of references whose source has some, 3 to 68 % have none
(docs/results.md). An unpaired one nearly always is.
"""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from nmt_core.literals.checking import Breach

QUOTATION = "quotation"
"""The kind of these breaches."""
LONGEST_NAMED = 40
"""Characters of a passage in quotation marks that a breach names."""

STRAIGHT = '"'
PAIRS = ("„“", STRAIGHT * 2, "“”", "«»")
"""Marks that open and close, as which others are read: the first that are known; last come those
that many a text has only now and then."""
_ENGLISH = ("“", "”")
_OWN = {
    language: pair
    for languages, pair in {
        "bg cs da de et is lt sk sl": ("„", "“"),
        "hr hu pl ro sr": ("„", "”"),
        "be ca el es it nn no pt-PT ru uk": ("«", "»"),
        "fi sv": ("”", "”"),
        "fr": ("«\N{NARROW NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}»"),
    }.items()
    for language in languages.split()
}
"""How languages quote, as CLDR has it; others do as English does."""
_MARKS = '"„“”«»'
_MARK = re.compile(f"[{_MARKS}]")
_READ = re.compile(rf"[{_MARKS}‟‹›‚]|(?<=\w)‘(?!\w)")
"""Those that are read, among them what closes ``‚`` and is an apostrophe elsewhere."""
_MAY_BE_READ = re.compile(f"[{_MARKS}‟‹›‚‘]")
_PASSAGE = re.compile(rf"[{_MARKS}][^{_MARKS}]*[{_MARKS}]")
_ENCLOSED = re.compile(rf"\s*[{_MARKS}][^{_MARKS}\w]*\w[^{_MARKS}]*[{_MARKS}]\s*")


def find_odd_quote(source: str, translation: str) -> list[Breach]:
    """Return that a translation has an odd number of quotation marks, unless its source has."""
    marks = _MARK.findall(translation)
    if len(marks) % 2 == 0 or len(_MARK.findall(source)) % 2:
        return []
    passage = _PASSAGE.search(source)
    if passage is None:
        return [Breach(QUOTATION, marks[0], "", "added")]
    return [Breach(QUOTATION, passage[0][:LONGEST_NAMED], "", "missing")]


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


def enclose(translation: str, source: str, language: str) -> str:
    """Return a translation in quotation marks if its source stands in some and it has none.

    They are those of the translation's language, or straight ones if the source has these.
    """
    if not is_enclosed(source) or not translation or _MARK.search(translation):
        return translation
    if STRAIGHT in source:
        return f"{STRAIGHT}{translation}{STRAIGHT}"
    opening, closing = _OWN.get(language, _OWN.get(language.partition("-")[0], _ENGLISH))
    return f"{opening}{translation}{closing}"
