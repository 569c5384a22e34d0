"""Segments that need review, reported alike in every interface."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from nmt_core.base import files
from nmt_core.text.words import Translated

REVIEW_BELOW = 0.5
"""The default confidence below which a person must review a segment."""

MOST_NAMED = 10
"""Segments or words that one message names."""

RESTORED = "read in another case or with accents"
UNKNOWN = "never read in training"

_FORBIDDEN = re.compile("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML may hold."""


class TranslatedSegment(NamedTuple):
    """A sentence of a document with its translation."""

    source: str
    translated: Translated


def list_doubts(translated: Translated, review_below: float) -> list[str]:
    """Return the doubts about a translation in words; one is a confidence below a bound."""
    breaches = (f"{breach.problem} {breach.text}".rstrip() for breach in translated.breaches)
    doubts = [*dict.fromkeys(breaches)]
    if translated.restored_words:
        doubts.append(f"{RESTORED}: {name_first(translated.restored_words, ', ')}")
    if translated.confidence is None:
        if translated.unknown_words:
            doubts.append(f"{UNKNOWN}: {name_first(translated.unknown_words, ', ')}")
    elif translated.confidence < review_below:
        doubts.append(f"confidence {translated.confidence:.2f}")
    return doubts


def summarize_doubts(
    translations: Mapping[int, Translated], review_below: float, noun: str = "segment"
) -> str:
    """Return a line that names the translations to review, or an empty one.

    Args:
        translations: by number, from 1.
        review_below: the confidence below which a translation needs review.
        noun: what has these numbers.
    """
    doubts = [
        f"{noun} {number}: {', '.join(own)}"
        for number, translated in translations.items()
        if (own := list_doubts(translated, review_below))
    ]
    if not doubts:
        return ""
    total = _count(len(translations), noun)
    verb = "needs" if len(doubts) == 1 else "need"
    return f"{len(doubts):,} of {total} {verb} review: {name_first(doubts, '; ')}"


def report_doubts(
    translations: Mapping[int, Translated], review_below: float, noun: str = "segment"
) -> Iterator[str]:
    """Yield a line on doubts, if there are any, and one on translations from the memory."""
    if summary := summarize_doubts(translations, review_below, noun):
        yield summary
    if remembered := sum(each.origin == "memory" for each in translations.values()):
        yield f"{remembered:,} of {_count(len(translations), noun)} from the memory"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def name_first(things: Sequence[str], between: str) -> str:
    """Join the first items, and append the number of further ones."""
    more = f" and {len(things) - MOST_NAMED} more" if len(things) > MOST_NAMED else ""
    return f"{between.join(things[:MOST_NAMED])}{more}"


def write_review(
    path: Path,
    segments: Mapping[str, Sequence[TranslatedSegment]],
    codes: tuple[str, str],
    review_below: float,
) -> None:
    """Write the segments of documents, by their names, as XLIFF 1.2, whole or not at all.

    A person corrects it, and ``nmt corrections import`` takes what was corrected.
    """
    source, target = map(html.escape, codes)
    with files.whole_file(path) as part, part.open("w", encoding="utf-8") as file:
        file.write(
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">\n'
        )
        for name, own in segments.items():
            file.write(
                f'<file original="{_escape(name)}" source-language="{source}" '
                f'target-language="{target}" datatype="plaintext"><body>\n'
            )
            for number, segment in enumerate(own, start=1):
                file.write(_format_unit(number, segment, review_below))
            file.write("</body></file>\n")
        file.write("</xliff>\n")


def _format_unit(number: int, segment: TranslatedSegment, review_below: float) -> str:
    """Return a segment as a unit whose machine translation stands beside what is corrected."""
    translated = segment.translated
    doubts = list_doubts(translated, review_below)
    source, target = _escape(segment.source), _escape(translated.text)
    known = {"origin": [translated.origin], "review": doubts}
    if translated.confidence is not None:
        known["confidence"] = [f"{translated.confidence:.2f}"]
    notes = "".join(
        f'<note from="{name}">{_escape(note)}</note>\n'
        for name, values in known.items()
        for note in values
    )
    return (
        f'<trans-unit id="{number}">\n<source>{source}</source>\n'
        f'<target state="{"needs-review-translation" if doubts else "translated"}">{target}'
        f"</target>\n{notes}"
        f'<alt-trans origin="nmt"><target>{target}</target></alt-trans>\n</trans-unit>\n'
    )


def _escape(text: str) -> str:
    return html.escape(_FORBIDDEN.sub(" ", text))
