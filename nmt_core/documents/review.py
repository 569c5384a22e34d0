"""Report segments that need review, in the same way in every interface."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from nmt_core.base import files
from nmt_core.text.translation import Translation

REVIEW_BELOW = 0.5
"""Default minimum confidence of segments that need no review."""

MAX_NAMED_ITEMS = 10
"""Maximum number of segments or words in a message."""

RESTORED = "case or accents restored"
UNKNOWN = "not in the training text"

_FORBIDDEN = "[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""Characters that XML forbids; compiled at first use, which takes a while."""

TranslatedSegment = tuple[str, Translation]
"""A sentence of a document with its translation."""


def list_doubts(translated: Translation, review_below: float) -> list[str]:
    """Return the reasons to review a translation, such as a confidence below ``review_below``."""
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
    translations: Mapping[int, Translation], review_below: float, noun: str = "segment"
) -> str:
    """Return a line with the numbers of translations to review and the reasons; may be empty."""
    doubts = [
        f"{noun} {number}: {', '.join(reasons)}"
        for number, translated in translations.items()
        if (reasons := list_doubts(translated, review_below))
    ]
    if not doubts:
        return ""
    total = _count(len(translations), noun)
    verb = "needs" if len(doubts) == 1 else "need"
    return f"{len(doubts):,} of {total} {verb} review: {name_first(doubts, '; ')}"


def report_doubts(
    translations: Mapping[int, Translation], review_below: float, noun: str = "segment"
) -> Iterator[str]:
    """Yield a line about doubts and a line about translations from the memory, if any."""
    if summary := summarize_doubts(translations, review_below, noun):
        yield summary
    if recalled := sum(each.origin == "memory" for each in translations.values()):
        yield f"{recalled:,} of {_count(len(translations), noun)} from the memory"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def name_first(items: Sequence[str], separator: str) -> str:
    """Return the first items joined, with the number of further items."""
    more = f" and {len(items) - MAX_NAMED_ITEMS} more" if len(items) > MAX_NAMED_ITEMS else ""
    return f"{separator.join(items[:MAX_NAMED_ITEMS])}{more}"


def write_review(
    path: Path,
    segments: Mapping[str, Sequence[TranslatedSegment]],
    codes: tuple[str, str],
    review_below: float,
) -> None:
    """Write the segments of documents, by document name, as XLIFF 1.2, atomically.

    After review, ``nmt corrections import`` imports the corrections.
    """
    root = ET.Element("xliff", version="1.2", xmlns="urn:oasis:names:tc:xliff:document:1.2")
    for name, document_segments in segments.items():
        languages = {"source-language": codes[0], "target-language": codes[1]}
        file = ET.SubElement(root, "file", languages, original=_clean(name), datatype="plaintext")
        body = ET.SubElement(file, "body")
        body.extend(
            _format_unit(number, *segment, review_below)
            for number, segment in enumerate(document_segments, start=1)
        )
    ET.indent(root, "")
    with files.whole_file(path) as part:
        ET.ElementTree(root).write(part, encoding="utf-8", xml_declaration=True)


def _format_unit(
    number: int, source: str, translated: Translation, review_below: float
) -> ET.Element:
    """Return a segment as a unit with the machine translation both as target and unchanged."""
    doubts, target = list_doubts(translated, review_below), _clean(translated.text)
    state = "needs-review-translation" if doubts else "translated"
    notes = [("origin", translated.origin), *(("review", doubt) for doubt in doubts)]
    if translated.confidence is not None:
        notes.append(("confidence", f"{translated.confidence:.2f}"))
    unit = ET.Element("trans-unit", id=str(number))
    ET.SubElement(unit, "source").text = _clean(source)
    ET.SubElement(unit, "target", state=state).text = target
    for name, note in notes:
        ET.SubElement(unit, "note", {"from": name}).text = _clean(note)
    ET.SubElement(ET.SubElement(unit, "alt-trans", origin="nmt"), "target").text = target
    return unit


def _clean(text: str) -> str:
    return re.sub(_FORBIDDEN, " ", text)
