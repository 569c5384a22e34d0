"""Open files with both sides by the reader of their format, and read their pairs."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import explain_damage, list_members, plain_name
from nmt_core.corpora.formats.paired_units import ARCHIVE, NO_FORMAT, SIDES, PairedUnits


def open_units(path: Path, languages: Languages) -> PairedUnits:
    """Open a file with both sides; return its units.

    Args:
        path: path of the file. Its suffixes determine compression and format; in a .zip, the name
            of its only file does, or there are two files, one per language.
        languages: source and target.

    Raises:
        CorpusError: if the format is unknown, or the file is damaged or lacks a language; reading
            rows may also raise it.
    """
    from nmt_core.corpora.formats import tables, translations  # not required by settings

    readers = {
        ".tsv": tables.read_tsv,
        ".csv": tables.read_csv,
        ".jsonl": tables.read_jsonl,
        ".xlsx": tables.read_xlsx,
        ".tmx": translations.read_tmx,
        ".xlf": translations.read_xliff,
        ".xliff": translations.read_xliff,
        ".po": translations.read_po,
        ARCHIVE: translations.read_moses,
    }
    name = plain_name(path)
    if path.suffix.lower() == ARCHIVE:
        with explain_damage(path):
            members = list_members(path)
        name = members[0] if len(members) == 1 else ARCHIVE
    suffix = ARCHIVE if name == ARCHIVE else PurePosixPath(name).suffix.lower()
    if suffix not in readers:
        raise CorpusError(f"{path}: {name} {NO_FORMAT}")
    return readers[suffix](path, languages)


def read_pair_file(path: Path, languages: Languages) -> Iterator[tuple[str, str]]:
    """Yield source and target of the translated units of a file of parallel text.

    Raises:
        CorpusError: if the file cannot be read, or a unit is not a pair of texts in UTF-8.
    """
    units = open_units(path, languages)
    for number, row in enumerate(units.rows, start=1):
        if len(row) > SIDES or any("\udc80" <= char <= "\udcff" for text in row for char in text):
            raise CorpusError(
                f"{path} {units.place.name(number)} is not a pair of texts in UTF-8; correct it"
            )
        source, target = (text.strip() for text in (*row, "")[:SIDES])
        if source and target:
            yield source, target
