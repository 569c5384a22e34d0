"""Read the markup between sentences of EuroParl: <CHAPTER ID=1>, <SPEAKER NAME="...">, <P>.

The format: https://www.statmt.org/europarl/ (Koehn 2005).
"""

import re
from collections.abc import Iterator
from pathlib import Path

from nmt_core.base.raw_lines import read_raw_lines
from nmt_core.corpora.formats.units import Metadata

_MARKUP = re.compile(r"<(?:CHAPTER|SPEAKER|P)(?: [^<>]*)?>")
_CHAPTER = re.compile(r"<CHAPTER ID=\"?([^\s\">]+)")
_SPEAKER = re.compile(r"<SPEAKER [^>]*NAME=\"([^\"]*)")


def is_markup(line: str) -> bool:
    """Tell whether a line is markup and no sentence."""
    return line.startswith("<") and _MARKUP.fullmatch(line.rstrip()) is not None


def read_chapters(path: Path, name: str) -> Iterator[Metadata]:
    """Yield for each line of a file its chapter, or else the name of the file, and who speaks."""
    document, speaker = name, ""
    for raw in read_raw_lines(path):
        if raw and raw.startswith(b"<"):
            line = raw.decode(errors="replace")
            if chapter := _CHAPTER.match(line):
                document, speaker = f"{name}/{chapter[1]}", ""
            elif found := _SPEAKER.match(line):
                speaker = found[1].strip()
        yield Metadata(document, speaker=speaker)
