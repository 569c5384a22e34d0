"""Read .po of GNU gettext: messages of a program with their translations."""

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import explain_damage, open_raw
from nmt_core.base.utf8 import decode_utf8
from nmt_core.corpora.formats.codes import refuse_languages
from nmt_core.corpora.formats.packages import require_package
from nmt_core.corpora.formats.units import PairedUnits, RowPlace
from nmt_core.text.language_codes import pick_code

MOST_BYTES = 1 << 26
"""A file is read whole; the largest that people keep has some 10 MB."""

CHARSET = re.compile(rb'^"Content-Type:[^"]*?charset=([\w.:-]+)', re.MULTILINE | re.IGNORECASE)


def read_po(path: Path, languages: Languages) -> PairedUnits:
    """Read the messages of a file, in whichever direction it was translated.

    One that is not translated, fuzzy or obsolete is empty; one with a plural counts twice.

    Raises:
        CorpusError: if it is too large, damaged, or translates into another language.
    """
    return PairedUnits(_read_messages(path, languages), RowPlace("message"))


def _read_messages(path: Path, languages: Languages) -> Iterator[tuple[str, str]]:
    polib = require_package("polib", path)
    with tempfile.NamedTemporaryFile(suffix=".po") as copy:
        with explain_damage(path), open_raw(path) as file:
            content = file.read(MOST_BYTES + 1)
        copy.write(_decode(content, path).encode())
        copy.flush()
        try:
            parsed = polib.pofile(copy.name, encoding="utf-8", wrapwidth=0)
        except (OSError, ValueError, IndexError) as error:
            told = str(error).replace(copy.name, str(path))
            raise CorpusError(f"{path} is no .po file ({told}); check it by msgfmt -c") from None
    code = parsed.metadata.get("Language", "")
    side = pick_code(languages.codes, code) if code else 1
    if side is None:
        raise refuse_languages(path, Counter({code: len(parsed)}), languages)
    for entry in parsed:
        translated = not (entry.fuzzy or entry.obsolete)
        last = max(entry.msgstr_plural, default=0)
        texts = [(entry.msgid, entry.msgstr_plural.get(0, entry.msgstr))]
        if entry.msgid_plural:
            texts.append((entry.msgid_plural, entry.msgstr_plural.get(last, "")))
        for message, translation in texts:
            sides = (message, translation if translated else "")
            yield sides if side else sides[::-1]


def _decode(content: bytes, path: Path) -> str:
    if len(content) > MOST_BYTES:
        raise CorpusError(f"{path} is larger than {MOST_BYTES:,} bytes; cut it by msggrep")
    content = content.removeprefix(b"\xef\xbb\xbf")
    found = CHARSET.search(content)
    charset = found[1].decode() if found else "utf-8"
    if charset.lower() in {"utf-8", "utf8", "charset"}:
        return decode_utf8(content, path)
    try:
        return content.decode(charset)
    except (UnicodeError, LookupError) as error:
        raise CorpusError(f"{path} is not in {charset}, as it says ({error})") from None
