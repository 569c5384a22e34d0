"""Read pairs from files of parallel text, and write pairs to TMX files."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import regex

from nmt_core.base import files
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.languages import Languages
from nmt_core.corpora.formats.opening import open_units

SIDES = 2
FORBIDDEN = regex.compile(r"[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML forbids, and carriage returns, which XML reads as line ends."""

HEADER = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header creationtool="nmt" '
    'creationtoolversion="1" segtype="sentence" o-tmf="nmt" adminlang="en" srclang={} '
    'datatype="plaintext" /><body>\n'
)


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
        file.write(HEADER.format(quoteattr(languages.source)))
        for pair in pairs:
            file.write("<tu>")
            for code, text in zip(languages.codes, pair, strict=True):
                segment = escape(FORBIDDEN.sub(" ", text))
                file.write(f"<tuv xml:lang={quoteattr(code)}><seg>{segment}</seg></tuv>")
            file.write("</tu>\n")
            count += 1
        file.write("</body></tmx>\n")
    return count
