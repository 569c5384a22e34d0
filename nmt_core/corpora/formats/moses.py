"""Read a .zip as OPUS gives it for Moses: a file for each language, line N translating line N."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path, PurePosixPath

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import (
    MAX_LINE_BYTES,
    bound_lines,
    explain_damage,
    list_members,
    open_member,
)
from nmt_core.base.utf8 import BYTE_ORDER_MARK
from nmt_core.corpora.formats.registered import PairedUnits, RowPlace, pick_pair

TOO_LONG = "x" * (MAX_LINE_BYTES + 1)
"""What stands for a line that is too long, which is found to be so later."""

MISSING = b"\n"
"""What stands for the line of a file that has ended; no line holds its end."""


def read_moses(path: Path, languages: Languages) -> PairedUnits:
    """Read the two files NAME.xx-yy.xx and NAME.xx-yy.yy of an archive; others are left.

    Raises:
        CorpusError: if it has not one file for each language, or they differ in their lines.
    """
    names = list_members(path)
    endings = [PurePosixPath(name).suffix.removeprefix(".") for name in names]
    pair = pick_pair(endings, languages)
    if pair is None:
        raise CorpusError(
            f"{path} holds no files for {' and '.join(languages.codes)}, whose names would end in "
            f".{' and .'.join(languages.codes)}; it holds {', '.join(names[:10]) or 'no file'}"
        )
    for side, code in zip(pair, languages.codes, strict=True):
        alike = [name for name, end in zip(names, endings, strict=True) if end == endings[side]]
        if len(alike) > 1:
            raise CorpusError(
                f"{path} holds {' and '.join(alike[:10])}, needs one file for {code}; "
                f"take the others out"
            )
    return PairedUnits(
        _read_lines(path, [names[side] for side in pair]),
        RowPlace("line"),
    )


def _read_lines(path: Path, names: list[str]) -> Iterator[tuple[str, str]]:
    with (
        explain_damage(path),
        open_member(path, names[0]) as source,
        open_member(path, names[1]) as target,
    ):
        sides = [bound_lines(file.readline, MAX_LINE_BYTES) for file in (source, target)]
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
    """Return a line without what is taken off any: the CR of CRLF, and a byte order mark."""
    text = line.removesuffix(b"\r").decode(errors="surrogateescape")
    return text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text
