"""Pair verses, or other units with ids, of two files: on each line an id, a tab and a text.

The files need not have the same ids, nor the same order.
"""

from collections.abc import Iterator
from pathlib import Path

from nmt_core.base.errors import CorpusError
from nmt_core.base.raw_lines import read_raw_lines
from nmt_core.base.utf8 import BYTE_ORDER_MARK
from nmt_core.corpora.formats.units import PairedUnits, RowPlace


def read_verses(source: Path, target: Path) -> PairedUnits:
    """Read two files, of which the target is held in memory.

    An id that one of them lacks has an empty side; those that the source lacks come last.

    Raises:
        CorpusError: if they have no id in common, or a line of one has none, or one that stands in
            the file already.
    """
    return PairedUnits(_pair(source, target), RowPlace("verse"))


def _pair(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    translations = dict(_read(target))
    first, of_target, is_common = "", next(iter(translations), ""), False
    for name, text in _read(source):
        first = first or name
        is_common = is_common or name in translations
        yield text, translations.pop(name, "")
    if first and not is_common:
        raise CorpusError(
            f"{source} and {target} have no id in common, the first are {first[:40]!r} and "
            f"{of_target[:40]!r}; give equal verses equal ids"
        )
    yield from (("", text) for text in translations.values())


def _read(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each id and its text; blank lines say nothing."""
    known: dict[str, int] = {}
    for number, line in enumerate(read_raw_lines(path), start=1):
        if line is None:
            raise CorpusError(f"{path} line {number} is too long for a verse; split it")
        name, tab, text = line.decode(errors="surrogateescape").partition("\t")
        name = name.removeprefix(BYTE_ORDER_MARK).strip()
        if not name and not text.strip():
            continue
        if not tab or not name:
            raise CorpusError(
                f"{path} line {number} has no id before a tab: {(name or text)[:40]!r}; of two "
                f"files, write on each line an id, a tab and the text, as in: GEN 1:1, tab, text"
            )
        if known.setdefault(name, number) != number:
            raise CorpusError(
                f"{path} line {number}: the id {name[:40]!r} stands in line {known[name]}, too; "
                f"give each once"
            )
        yield name, text.removesuffix("\r")
