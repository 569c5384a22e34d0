"""Read XLIFF 1.2 and 2.x: text on its way through a translation, with both sides of each segment.

The formats: https://docs.oasis-open.org/xliff/v1.2/os/xliff-core.html,
https://docs.oasis-open.org/xliff/xliff-core/v2.1/os/xliff-core-v2.1-os.html
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nmt_core.base.languages import Languages
from nmt_core.corpora.formats.codes import MOST_CODES, pick_pair, refuse_languages
from nmt_core.corpora.formats.markup import Element, iterate_elements, join_text
from nmt_core.corpora.formats.units import Metadata, PairedUnits, RowPlace
from nmt_core.text.language_codes import pick_code

KEPT = ("g", "mrk", "pc")
"""Inline elements with text; the others stand for codes."""

UNTRANSLATED = ("new", "initial", "needs-translation", "needs-l10n", "needs-adaptation")
"""States of targets that hold no translation yet."""


def read_xliff(path: Path, languages: Languages) -> PairedUnits:
    """Read the segments of a file, in whichever direction it was translated.

    One that is not translated yet, or of other languages, is empty. Its document is its file, or
    the outermost group in it.

    Raises:
        CorpusError: at its end, if no segment has both languages.
    """
    return PairedUnits(
        _read_segments(path, languages), RowPlace("segment"), metadata=lambda: _describe(path)
    )


def _read_segments(path: Path, languages: Languages) -> Iterator[tuple[str, str]]:
    seen: Counter[str] = Counter()
    found = False
    for unit in iterate_elements(path, ["trans-unit", "segment"]):
        codes = _find_codes(unit, languages)
        pair = pick_pair(codes, languages)
        if pair is None and len(seen) < MOST_CODES:
            seen.update(code for code in codes if code)
        found = found or pair is not None
        for sides in _find_sides(unit):
            yield ("", "") if pair is None else (sides[pair[0]], sides[pair[1]])
    if not found:
        raise refuse_languages(path, seen, languages)


def _describe(path: Path) -> Iterator[Metadata]:
    for unit in iterate_elements(path, ["trans-unit", "segment"]):
        file = next(unit.iterancestors("{*}file"), unit)
        groups = [group.get("resname") or group.get("name") or group.get("id", "")
                  for group in unit.iterancestors("{*}group")]  # fmt: skip
        names = [file.get("original") or file.get("id", ""), *groups[-1:]]
        yield from [Metadata("/".join(names), file.get("date", ""))] * len(_find_sides(unit))


def _find_codes(unit: Element, languages: Languages) -> tuple[str, str]:
    """Return the languages of source and target; a missing one is the other of ours."""
    source = target = ""
    for above in unit.iterancestors():
        source = source or above.get("source-language") or above.get("srcLang") or ""
        target = target or above.get("target-language") or above.get("trgLang") or ""
    if not target and source:
        ours = pick_code(languages.codes, source)
        target = "" if ours is None else languages.codes[1 - ours]
    return source, target


def _find_sides(unit: Element) -> list[tuple[str, str]]:
    """Return source and target of each segment of a unit.

    A machine translation that nobody changed or approved is none.
    """
    target = unit.find("{*}target")
    machine = unit.find("{*}alt-trans[@origin='nmt']/{*}target")
    is_unread = (
        machine is not None
        and target is not None
        and unit.get("approved") != "yes"
        and join_text(machine, KEPT) == join_text(target, KEPT)
    )
    state = None if target is None else target.get("state") or unit.get("state")
    if target is None or is_unread or state in UNTRANSLATED:
        return [(join_text(unit.find("{*}source"), KEPT), "")]
    cut = unit.find("{*}seg-source")
    if cut is not None:
        sources, targets = _find_marked(cut), _find_marked(target)
        if sources and targets.keys() <= sources.keys():
            return [(text, targets.get(name, "")) for name, text in sources.items()]
    return [(join_text(unit.find("{*}source"), KEPT), join_text(target, KEPT))]


def _find_marked(side: Element) -> dict[str, str]:
    marks = side.iterfind(".//{*}mrk[@mtype='seg']")
    return {mark.get("mid", ""): join_text(mark, KEPT) for mark in marks}
