"""Split text into sentences, and cut those that are too long for a model."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

import sentencex

from nmt_core.text.words import Span

WINDOW = 10_000
"""Characters that are cut into sentences at a time: sentencex takes the square of their number."""

ENOUGH = 20
"""Characters at the end of a sentence that say whether it goes on."""

CUTS = (
    re.compile(r"(?<=[;:])\s|(?<=[；：])"),
    re.compile(r"(?<=[,،、，])\s|(?<=[、，])|\s(?=[–—-]\s)"),
    re.compile(r"\s"),
)
"""Where a sentence that is too long may be cut, best first; last, it is anywhere."""


GOES_ON = {
    "de": re.compile(r"(?<![\w.,])\d{1,2}\.\s*$"),
    "fr": re.compile(r"(?<!\w)MM?\.\s*$"),
}
"""Wrong ends of sentences of sentencex 1.0, by language: *im 21. Jahrhundert*, *M. Dupont*. In
Europarl's French, 1 in 20 of its ends is wrong like this."""


def split_sentences(text: str, language: str, fits: Callable[[str], bool]) -> list[Span]:
    """Split a text into sentences; cut those that do not fit.

    The spans are in order and disjoint, have no white space at their ends, and leave out nothing
    but white space, so that the text can be put together again exactly.

    Args:
        text: any text; its line ends count as white space.
        language: code of its language, such as ``de``; for one that sentencex does not know it
            cuts by the rules for English.
        fits: tells whether a piece is short enough to be translated at once.
    """
    return [
        piece
        for sentence in _find_sentences(text, language)
        for piece in _cut(text, sentence, fits)
    ]


def space_sentences(source: str, between: Span, target: str) -> str:
    """Return what stands between two sentences of a translation: what stood there in its source.

    Chinese and Japanese write no space there; another language gets one.

    Args:
        source: all of it.
        between: what stood between the sentences.
        target: the translation before it.
    """
    start, end = between
    sides = source[max(start - 1, 0) : start], source[end : end + 1]
    needs_space = start == end and any(map(_is_wide, sides)) and not _is_wide(target[-1:])
    return " " if target and needs_space else source[start:end]


def _is_wide(character: str) -> bool:
    """Tell whether a character is one of Chinese or Japanese."""
    return unicodedata.east_asian_width(character or " ") in {"W", "F"}


def _find_sentences(text: str, language: str) -> Iterator[Span]:
    """Yield the sentences of a text, window by window; of each the last waits for the next."""
    # after other white space sentencex 1.0 may stop with a Rust panic; line ends end no sentence
    plain, start = re.sub(r"\s", " ", text), 0
    while start < len(text):
        window = plain[start : start + WINDOW]
        sentences = _join(sentencex.segment(language, window), GOES_ON.get(language[:2]))
        assert "".join(sentences) == window
        if start + WINDOW < len(text) and len(sentences) > 1:
            del sentences[-1]
        for sentence in sentences:
            yield from _strip(text, Span(start, start + len(sentence)))
            start += len(sentence)


def _join(sentences: Sequence[str], goes_on: re.Pattern[str] | None) -> list[str]:
    """Return sentences, those that go on together with the next."""
    joined: list[str] = []
    for sentence in sentences:
        if joined and goes_on and goes_on.search(joined[-1][-ENOUGH:]):
            joined[-1] += sentence
        else:
            joined.append(sentence)
    return joined


def _strip(text: str, span: Span) -> Iterator[Span]:
    """Yield a span without the white space at its ends, unless nothing is left."""
    piece = text[span.start : span.end]
    start = span.start + len(piece) - len(piece.lstrip())
    if start < span.end:
        yield Span(start, start + len(piece.strip()))


def _cut(text: str, span: Span, fits: Callable[[str], bool]) -> Iterator[Span]:
    """Yield the pieces of a span that fit, each cut near its middle where it hurts least."""
    if span.end - span.start < 2 or fits(text[span.start : span.end]):  # noqa: PLR2004 - a pair
        yield span
        return
    middle = _find_middle(text, span)
    for half in (Span(span.start, middle), Span(middle, span.end)):
        for stripped in _strip(text, half):
            yield from _cut(text, stripped, fits)


def _find_middle(text: str, span: Span) -> int:
    """Return where to cut a span: within its middle half if a place can be found there."""
    middle, quarter = (span.start + span.end) // 2, (span.end - span.start) // 4
    for cut in CUTS:
        places = [
            match.start()
            for match in cut.finditer(text, middle - quarter, middle + quarter)
            if span.start < match.start()
        ]
        if places:
            return min(places, key=lambda offset: abs(offset - middle))
    for offset in range(middle, span.end):
        if not unicodedata.combining(text[offset]):  # which belongs to the character before
            return offset
    return middle
