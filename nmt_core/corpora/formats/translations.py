"""Read files of translation tools with both sides: TMX, XLIFF, PO, and Moses archives; write TMX.

TMX and XLIFF are read element by element in constant memory.
https://www.gala-global.org/tmx-14b, https://docs.oasis-open.org/xliff/v1.2/os/xliff-core.html,
https://docs.oasis-open.org/xliff/xliff-core/v2.1/os/xliff-core-v2.1-os.html
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from xml.etree.ElementTree import Element, ParseError, iterparse
from xml.sax.saxutils import escape, quoteattr

import regex

from nmt_core.base import files
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.files import BYTE_ORDER_MARK
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import (
    MAX_LINE_BYTES,
    explain_damage,
    list_members,
    open_member,
    open_raw,
    read_bounded_lines,
)
from nmt_core.corpora.formats.paired_units import PairedUnits, RowPlace, pick_pair, refuse_languages
from nmt_core.text.language_codes import pick_code
from nmt_core.text.po_files import FUZZY, parse_po

MAX_DEPTH = 200
"""Maximum depth of nested elements."""

MAX_CODES = 1000
"""Maximum number of different language codes that are counted."""

MAX_PO_BYTES = 1 << 26
"""Maximum size of a PO file, which is read at once; the largest real ones have about 10 MB."""

TMX_TEXT, XLIFF_TEXT = ("hi",), ("g", "mrk", "pc")
"""Inline elements with text; other elements contain codes of the translation tool."""

Codes = tuple[str, ...]

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"

UNTRANSLATED = ("new", "initial", "needs-translation", "needs-l10n", "needs-adaptation")
"""States of targets that have no translation yet."""

PO_LANGUAGE = re.compile(r"^Language:[ \t]*(\S+)", re.MULTILINE)
"""The header field with the language of the translations."""

BREAKS = ("lb", "x-lb", "xlf:lb")
"""Types of line breaks in TMX, XLIFF 1.2 and XLIFF 2."""


def iterate_elements(
    path: Path, names: Collection[str]
) -> Iterator[tuple[Element, Sequence[Element]]]:
    """Yield elements with one of the names, and their ancestors; each is freed before the next.

    Raises:
        CorpusError: if the file is not XML or is damaged. Expat reads no other files, and rejects
            entity expansion attacks.
    """
    ancestors: list[Element] = []
    depth = 0  # of elements with one of the names
    with explain_damage(path), open_raw(path) as file:
        try:
            for event, element in iterparse(file, ("start", "end")):  # noqa: S314 - see above
                is_named = _name(element) in names
                if event == "start":
                    ancestors.append(element)
                    depth += is_named
                    if len(ancestors) > MAX_DEPTH:
                        raise CorpusError(f"{path} is nested too deeply; export it again")
                    continue
                ancestors.pop()
                depth -= is_named
                if is_named:
                    yield element, ancestors
                if ancestors and depth == 0:
                    ancestors[-1].remove(element)
        except (ParseError, ValueError, LookupError) as error:
            line = error.position[0] if isinstance(error, ParseError) else 1
            raise CorpusError(
                f"{path} line {line} is not well-formed XML ({str(error).partition(':')[0]}); "
                f"export the file again, or repair this line"
            ) from None


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def join_text(element: Element | None, textual: Collection[str]) -> str:
    """Return the text of a segment, without codes of markup.

    Args:
        element: the segment; None for empty text.
        textual: names of inline elements whose text belongs to the segment.
    """
    if element is None:
        return ""
    parts = [element.text or ""]
    for child in element:
        if _name(child) in textual:
            parts.append(join_text(child, textual))
        elif not {child.get(name) for name in ("type", "ctype", "subType")}.isdisjoint(BREAKS):
            parts.append(" ")  # line breaks separate words
        parts.append(child.tail or "")
    return "".join(parts)


def read_tmx(path: Path, languages: Languages) -> PairedUnits:
    """Return the units of a translation memory; units without both languages are empty.

    Raises:
        CorpusError: after the last unit, if no unit has both languages.
    """

    def read(unit: Element, _: Sequence[Element]) -> tuple[Codes, list[Sequence[str]]]:
        variants = unit.findall("{*}tuv")
        codes = tuple(each.get(XML_LANG) or each.get("lang") or "" for each in variants)
        return codes, [[join_text(each.find("{*}seg"), TMX_TEXT) for each in variants]]

    return PairedUnits(_read_units(path, ["tu"], read, languages), RowPlace("unit"))


FORBIDDEN = regex.compile(r"[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML forbids, and carriage returns, which XML reads as line ends."""

TMX_HEADER = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header creationtool="nmt" '
    'creationtoolversion="1" segtype="sentence" o-tmf="nmt" adminlang="en" srclang={} '
    'datatype="plaintext" /><body>\n'
)


def write_pair_file(path: Path, pairs: Iterable[tuple[str, str]], languages: Languages) -> int:
    """Write pairs to a new TMX 1.4 file, completely or not at all; return their number.

    Characters that XML forbids become spaces.

    Raises:
        ConfigError: if the file exists, or does not end in ``.tmx``.
        NmtError: if the disk is full.
    """
    if path.suffix.lower() != ".tmx":
        raise ConfigError(f"{path} does not end in .tmx; the output format is TMX")
    if path.exists():
        raise ConfigError(f"{path} already exists; remove it, or give another file")
    count = 0
    with files.whole_file(path) as part, part.open("w", encoding="utf-8") as file:
        file.write(TMX_HEADER.format(quoteattr(languages.source)))
        for pair in pairs:
            file.write("<tu>")
            for code, text in zip(languages.codes, pair, strict=True):
                segment = escape(FORBIDDEN.sub(" ", text))
                file.write(f"<tuv xml:lang={quoteattr(code)}><seg>{segment}</seg></tuv>")
            file.write("</tu>\n")
            count += 1
        file.write("</body></tmx>\n")
    return count


def _read_units(
    path: Path,
    names: Collection[str],
    read: Callable[[Element, Sequence[Element]], tuple[Codes, list[Sequence[str]]]],
    languages: Languages,
) -> Iterator[tuple[str, str]]:
    """Yield source and target of the segments of elements.

    Args:
        path: path of the file.
        names: names of the elements.
        read: returns the languages of an element, and the text of each segment in each language.
        languages: source and target.
    """
    other_codes: Counter[str] = Counter()
    has_pair = False
    pick = lru_cache(MAX_CODES)(lambda codes: pick_pair(codes, languages))
    for element, ancestors in iterate_elements(path, names):
        codes, segments = read(element, ancestors)
        pair = pick(codes)
        if pair is None and len(other_codes) < MAX_CODES:
            other_codes.update(code for code in codes if code)
        has_pair = has_pair or pair is not None
        for texts in segments:
            yield ("", "") if pair is None else (texts[pair[0]], texts[pair[1]])
    if not has_pair:
        raise refuse_languages(path, other_codes, languages)


def read_xliff(path: Path, languages: Languages) -> PairedUnits:
    """Return the segments of XLIFF 1.2 or 2.x in either direction.

    Segments without a translation, or in other languages, are empty.

    Raises:
        CorpusError: after the last segment, if no segment has both languages.
    """

    def read(unit: Element, ancestors: Sequence[Element]) -> tuple[Codes, list[Sequence[str]]]:
        return _find_codes(ancestors, languages), [*_find_sides(unit)]

    units = _read_units(path, ["trans-unit", "segment"], read, languages)
    return PairedUnits(units, RowPlace("segment"))


def _find_codes(ancestors: Sequence[Element], languages: Languages) -> tuple[str, str]:
    """Return the codes of source and target; a missing target is the other requested language."""
    source = target = ""
    for element in reversed(ancestors):
        source = source or element.get("source-language") or element.get("srcLang") or ""
        target = target or element.get("target-language") or element.get("trgLang") or ""
    if not target and source:
        side = pick_code(languages.codes, source)
        target = "" if side is None else languages.codes[1 - side]
    return source, target


def _find_sides(unit: Element) -> list[tuple[str, str]]:
    """Return source and target of each segment of a unit.

    The target is empty if it is an unchanged machine translation without approval.
    """
    source, target = unit.find("{*}source"), unit.find("{*}target")
    machine = unit.find("{*}alt-trans[@origin='nmt']/{*}target")
    text = join_text(target, XLIFF_TEXT)
    is_approved = unit.get("approved") == "yes"
    is_unread = machine is not None and not is_approved and join_text(machine, XLIFF_TEXT) == text
    state = None if target is None else target.get("state") or unit.get("state")
    if target is None or is_unread or state in UNTRANSLATED:
        return [(join_text(source, XLIFF_TEXT), "")]
    segmented = unit.find("{*}seg-source")
    if segmented is not None:
        sources, targets = _find_marked(segmented), _find_marked(target)
        if sources and targets.keys() <= sources.keys():
            return [(text, targets.get(name, "")) for name, text in sources.items()]
    return [(join_text(source, XLIFF_TEXT), text)]


def _find_marked(side: Element) -> dict[str, str]:
    marks = side.iterfind(".//{*}mrk[@mtype='seg']")
    return {mark.get("mid", ""): join_text(mark, XLIFF_TEXT) for mark in marks}


def read_po(path: Path, languages: Languages) -> PairedUnits:
    """Return the messages of a GNU gettext file in either direction.

    The translation of a fuzzy message is empty; a message with a plural is two units.

    Raises:
        CorpusError: if the file is too large, damaged, or has translations into another language.
    """
    return PairedUnits(_read_messages(path, languages), RowPlace("message"))


def _read_messages(path: Path, languages: Languages) -> Iterator[tuple[str, str]]:
    with explain_damage(path), open_raw(path) as file:
        content = file.read(MAX_PO_BYTES + 1)
    if len(content) > MAX_PO_BYTES:
        raise CorpusError(f"{path} is larger than {MAX_PO_BYTES:,} bytes; split it with msggrep")
    messages = parse_po(content, path, CorpusError).messages
    code = ""
    for message in messages:
        header = message.fields[message.forms[0]].text if message.is_header else ""
        if language := PO_LANGUAGE.search(header):
            code = language[1]
    side = pick_code(languages.codes, code) if code else 1
    if side is None:
        raise refuse_languages(path, Counter({code: len(messages)}), languages)
    for message in messages:
        sources = [name for name in ("msgid", "msgid_plural") if name in message.fields]
        for source, form in zip(sources, (message.forms[0], message.forms[-1]), strict=False):
            translation = "" if FUZZY in message.flags else message.fields[form].text
            if not message.is_header:
                sides = (message.fields[source].text, translation)
                yield sides if side else sides[::-1]


TOO_LONG = "x" * (MAX_LINE_BYTES + 1)
"""Replaces a line that is too long, so that it is reported with its pair."""

MISSING = b"\n"
"""Marks the missing lines of the shorter file."""


def read_moses(path: Path, languages: Languages) -> PairedUnits:
    """Return the lines of two files in an archive, NAME.xx-yy.xx and NAME.xx-yy.yy.

    Raises:
        CorpusError: if there is not one file per language, or their numbers of lines differ.
    """
    names = list_members(path)
    endings = [PurePosixPath(name).suffix.removeprefix(".") for name in names]
    pair = pick_pair(endings, languages)
    if pair is None:
        raise CorpusError(
            f"{path} must contain files whose names end in .{' and .'.join(languages.codes)}; it "
            f"contains {', '.join(names[:10]) or 'no file'}"
        )
    for side, code in zip(pair, languages.codes, strict=True):
        matches = [name for name, end in zip(names, endings, strict=True) if end == endings[side]]
        if len(matches) > 1:
            raise CorpusError(
                f"{path} contains {' and '.join(matches[:10])}; it must contain one file for "
                f"{code}: remove the others"
            )
    return PairedUnits(_read_lines(path, [names[side] for side in pair]), RowPlace("line"))


def _read_lines(path: Path, names: list[str]) -> Iterator[tuple[str, str]]:
    with (
        explain_damage(path),
        open_member(path, names[0]) as source,
        open_member(path, names[1]) as target,
    ):
        sides = [read_bounded_lines(file.read1, MAX_LINE_BYTES) for file in (source, target)]
        for number, row in enumerate(zip_longest(*sides, fillvalue=MISSING), start=1):
            if MISSING in row:
                side = row.index(MISSING)
                raise CorpusError(
                    f"{path}: {names[side]} has {number - 1} lines, but {names[1 - side]} has "
                    f"more; line N of one must translate line N of the other"
                )
            first, second = (TOO_LONG if line is None else _decode(line, number) for line in row)
            yield first, second


def _decode(line: bytes, number: int) -> str:
    """Return a decoded line without the CR of CRLF and without a byte order mark."""
    text = line.removesuffix(b"\r").decode(errors="surrogateescape")
    return text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text
