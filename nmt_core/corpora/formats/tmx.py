"""Read TMX 1.4b and earlier: translation memories, of any number of languages.

The format: https://www.gala-global.org/tmx-14b
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from nmt_core.base.languages import Languages
from nmt_core.corpora.formats.codes import MOST_CODES, pick_pair, refuse_languages
from nmt_core.corpora.formats.markup import XML_LANG, Element, iterate_elements, join_text
from nmt_core.corpora.formats.units import Metadata, PairedUnits, RowPlace, find_field

KEPT = ("hi",)
"""Inline elements with text; the others hold codes of the program that wrote the memory."""

NOTHING = ("", "")


def read_tmx(path: Path, languages: Languages) -> PairedUnits:
    """Read the units of a translation memory; one that lacks a language is empty.

    A property such as x-document or x-speaker says where a unit is from; its date is one, too, or
    that of its making.

    Raises:
        CorpusError: at its end, if no unit has both languages.
    """
    return PairedUnits(
        _read_units(path, languages),
        RowPlace("unit"),
        metadata=lambda: map(_describe, iterate_elements(path, ["tu"])),
    )


def _read_units(path: Path, languages: Languages) -> Iterator[tuple[str, str]]:
    seen: Counter[str] = Counter()
    found = False
    pick = lru_cache(MOST_CODES)(lambda codes: pick_pair(codes, languages))
    for unit in iterate_elements(path, ["tu"]):
        variants = unit.findall("{*}tuv")
        codes = tuple(each.get(XML_LANG) or each.get("lang") or "" for each in variants)
        pair = pick(codes)
        if pair is None:
            if len(seen) < MOST_CODES:
                seen.update(codes)
            yield NOTHING
        else:
            found = True
            source, target = (join_text(variants[side].find("{*}seg"), KEPT) for side in pair)
            yield source, target
    if not found:
        raise refuse_languages(path, seen, languages)


def _describe(unit: Element) -> Metadata:
    found: dict[str, str] = {}
    for prop in unit.iter("{*}prop"):
        if field := find_field(prop.get("type", "")):
            found.setdefault(field, (prop.text or "").strip())
    made = (each.get("creationdate") for each in (unit, *unit.findall("{*}tuv")))
    return Metadata(**{"date": next(filter(None, made), ""), **found})
