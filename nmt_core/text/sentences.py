"""Split text into sentences, and split sentences that are too long for a model."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

import sentencex

from nmt_core.text.words import Span

WINDOW = 10_000
"""Characters per call of sentencex, whose time is quadratic in the length of a text."""

END_CHARACTERS = 20
"""Characters at the end of a sentence that are searched for a wrong end."""

SPLIT_POINTS = (
    re.compile(r"(?<=[;:])\s|(?<=[；：])"),
    re.compile(r"(?<=[,،、，])\s|(?<=[、，])|\s(?=[–—-]\s)"),
    re.compile(r"\s"),
)
"""Patterns at which a long sentence is split, best first; otherwise at any character."""


WRONG_ENDS = {"de": re.compile(r"(?<![\w.,])\d{1,2}\.\s*$"), "fr": re.compile(r"(?<!\w)MM?\.\s*$")}
"""Ends at which sentencex 1.0 splits a sentence wrongly, by language: *im 21. Jahrhundert*, *M.
Dupont*. In French Europarl, 1 in 20 splits is wrong."""


def split_sentences(text: str, language: str, fits: Callable[[str], bool]) -> list[Span]:
    """Return the spans of sentences; sentences that do not fit are split.

    Spans are ordered and disjoint, have no white space at their ends, and leave out only white
    space, so that the text can be reassembled exactly. Newlines count as white space. An unknown
    language has the rules of English.
    """
    # sentencex 1.0 may panic at other white space; newlines do not end sentences
    plain, start, pieces = re.sub(r"\s", " ", text), 0, list[Span]()
    while start < len(text):
        window = plain[start : start + WINDOW]
        sentences = _join(sentencex.segment(language, window), WRONG_ENDS.get(language[:2]))
        assert "".join(sentences) == window
        if start + WINDOW < len(text) and len(sentences) > 1:
            del sentences[-1]  # it is split again with the next window
        for sentence in sentences:
            for stripped in _strip(text, Span(start, start + len(sentence))):
                pieces += _split_long(text, stripped, fits)
            start += len(sentence)
    return pieces


def space_sentences(source: str, gap: Span, target: str) -> str:
    """Return the white space between two translated sentences, usually that in the source's gap.

    If the source is Chinese or Japanese, other target languages get a space.
    """
    start, end = gap
    if target and start == end and not _is_wide(target[-1]):
        sides = source[max(start - 1, 0) : start], source[end : end + 1]
        return " " if any(map(_is_wide, sides)) else ""
    return source[start:end]


def _is_wide(character: str) -> bool:
    """Return whether a character is Chinese or Japanese."""
    return unicodedata.east_asian_width(character or " ") in {"W", "F"}


def _join(sentences: Sequence[str], wrong_end: re.Pattern[str] | None) -> list[str]:
    """Return sentences, joined to the next one after a wrong end."""
    joined: list[str] = []
    for sentence in sentences:
        if joined and wrong_end and wrong_end.search(joined[-1][-END_CHARACTERS:]):
            joined[-1] += sentence
        else:
            joined.append(sentence)
    return joined


def _strip(text: str, span: Span) -> Iterator[Span]:
    """Yield a span without white space at its ends; nothing if it is all white space."""
    piece = text[span.start : span.end]
    start = span.start + len(piece) - len(piece.lstrip())
    if start < span.end:
        yield Span(start, start + len(piece.strip()))


def _split_long(text: str, span: Span, fits: Callable[[str], bool]) -> Iterator[Span]:
    """Yield pieces of a span that fit, split near the middle at the best split point."""
    if span.end - span.start < 2 or fits(text[span.start : span.end]):  # noqa: PLR2004 - a pair
        yield span
        return
    middle = _find_middle(text, span)
    for half in (Span(span.start, middle), Span(middle, span.end)):
        for stripped in _strip(text, half):
            yield from _split_long(text, stripped, fits)


def _find_middle(text: str, span: Span) -> int:
    """Return the offset at which to split a span, in its middle half if possible."""
    middle, quarter = (span.start + span.end) // 2, (span.end - span.start) // 4
    for pattern in SPLIT_POINTS:
        offsets = [
            match.start()
            for match in pattern.finditer(text, middle - quarter, middle + quarter)
            if span.start < match.start()
        ]
        if offsets:
            return min(offsets, key=lambda offset: abs(offset - middle))
    for offset in range(middle, span.end):
        if not unicodedata.combining(text[offset]):  # do not split a character from its marks
            return offset
    return middle
