"""Read .po of GNU gettext: messages of a program with their translations."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import explain_damage, open_raw
from nmt_core.corpora.formats.codes import refuse_languages
from nmt_core.corpora.formats.units import PairedUnits, RowPlace
from nmt_core.text.language_codes import pick_code
from nmt_core.text.po_files import FUZZY, parse_po

MOST_BYTES = 1 << 26
"""A file is read whole; the largest that people keep has some 10 MB."""

LANGUAGE = re.compile(r"^Language:[ \t]*(\S+)", re.MULTILINE)
"""A field of the header."""


def read_po(path: Path, languages: Languages) -> PairedUnits:
    """Read the messages of a file, in whichever direction it was translated.

    The translation of a fuzzy message is empty; one with a plural counts twice.

    Raises:
        CorpusError: if it is too large, damaged, or translates into another language.
    """
    return PairedUnits(_read_messages(path, languages), RowPlace("message"))


def _read_messages(path: Path, languages: Languages) -> Iterator[tuple[str, str]]:
    with explain_damage(path), open_raw(path) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise CorpusError(f"{path} is larger than {MOST_BYTES:,} bytes; cut it by msggrep")
    messages = parse_po(content, path, CorpusError).messages
    code = ""
    for message in messages:
        if message.is_header and (named := LANGUAGE.search(message.fields[message.forms[0]].text)):
            code = named[1]
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
