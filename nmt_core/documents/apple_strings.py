r"""Strings of apps for Apple's systems, ``.strings``: ``"key" = "value";``, with comments.

All values are translated, and no keys; the file is edited in its own text, in UTF-8 or UTF-16.
https://developer.apple.com/library/archive/documentation/Cocoa/Conceptual/LoadingResources/Strings/Strings.html
"""

import re
from collections.abc import Callable, Iterator
from functools import partial

from nmt_core.base.errors import DocumentError
from nmt_core.base.utf8 import BYTE_ORDER_MARK, decode_utf8
from nmt_core.documents.messages import read_message
from nmt_core.documents.pieces import TextDocument
from nmt_core.documents.placeholders import BRACES, find_placeholders, has_words
from nmt_core.documents.units import Unit, UnitFile, UnitTranslation
from nmt_core.documents.xml_pieces import UTF16

COMPILED = b"bplist"

_GAP = r"(?>\s|//[^\r\n]*+|/\*.*?\*/)*+"
_WORD = r""""[^"\\]*+(?:\\.[^"\\]*+)*+"|'[^'\\]*+(?:\\.[^'\\]*+)*+'|[A-Za-z0-9_$/:.\-]+"""
GAP = re.compile(_GAP, re.DOTALL)
"""Space and comments."""

ENTRY = re.compile(rf"{_GAP}(?P<key>{_WORD}){_GAP}(?:={_GAP}(?P<value>{_WORD}){_GAP})?;", re.DOTALL)
"""A key and its value, which is the key itself where it is left out."""

NEXTSTEP = re.compile(r"(?<!\\)(?:\\\\)*\\[2-7][0-7]{2}")
"""A character by its number in an encoding that nothing else has any more."""

ESCAPED = re.compile(r"\\(?:U([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
SIGNS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
CODES = {sign: f"\\{code}" for code, sign in SIGNS.items() if code in "ntr"}
TO_NUMBER = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
NOT_ASCII = re.compile("[^\x20-\x7e]")


def read_apple_strings(data: bytes) -> UnitFile:
    """Read a file of strings.

    Raises:
        DocumentError: if it is no such file, or has too long a string.
    """
    if data.startswith(COMPILED):
        raise DocumentError("this document is compiled; give the .strings that Xcode edits")
    encoding = UTF16.get(data[:2], "utf-8")
    if encoding == "utf-8":
        text = decode_utf8(data, "this document", error=DocumentError)
    else:
        try:
            text = data.decode(encoding)
        except UnicodeError:
            raise DocumentError(
                "this document is not in UTF-16, as its first bytes say; save it anew as UTF-8"
            ) from None
    return UnitFile([*_read_parts(text)], partial(str.encode, encoding=encoding))


def _read_parts(text: str) -> Iterator[str | Unit]:
    """Yield values, and what stands between them.

    Raises:
        DocumentError: naming the line that is none of such a file.
    """
    last = at = int(text.startswith(BYTE_ORDER_MARK))
    yield text[:at]
    while entry := ENTRY.match(text, at):
        at = entry.end()
        name = "key" if entry["value"] is None else "value"
        if NEXTSTEP.search(entry[name]):
            continue
        end = entry.end(name)
        start = entry.start(name) if name == "value" else end
        yield text[last:start]
        yield _make_unit(entry[name], is_key=name == "key")
        last = end
    gap = GAP.match(text, at)
    assert gap
    if gap.end() < len(text):
        line = text.count("\n", 0, gap.end()) + 1
        raise DocumentError(
            f"line {line} of this document is not as in a .strings file; check it by plutil -lint"
        )
    yield text[last:]


def _make_unit(raw: str, *, is_key: bool) -> Unit:
    quote = raw[0] if raw[0] in "\"'" else ""
    is_ascii = raw.isascii() and "\\U" in raw

    def write(text: str) -> str:
        written = _quote(text, quote or '"', is_ascii=is_ascii)
        return f" = {written}" if is_key else written

    return read_value("" if is_key else raw, _unescape(raw[1:-1]) if quote else raw, write)


def read_value(raw: str, text: str, write: Callable[[str], str]) -> Unit:
    """Read a value; one of fields alone stays as it is, and fields allow no other per cent signs.

    Args:
        raw: the part of the file.
        text: what it says.
        write: returns what to write of a translation.
    """
    has_fields = any("%" in field.text for field in find_placeholders(text))
    document = read_message(text) if has_words(text) else TextDocument([text])

    def write_translation(translation: UnitTranslation) -> str:
        return write(translation.texts[0])

    return Unit(raw, [document], write_translation, signs=BRACES + "%" if has_fields else BRACES)


def _unescape(text: str) -> str:
    def read(match: re.Match[str]) -> str:
        number, octal, sign = match.groups()
        if sign is not None:
            return SIGNS.get(sign, sign)
        return chr(int(number, 16) if number else int(octal, 8))

    units = ESCAPED.sub(read, text).encode("utf-16-le", "surrogatepass")  # pairs become one
    return units.decode("utf-16-le", "surrogatepass")


def _quote(text: str, quote: str, *, is_ascii: bool) -> str:
    escaped = re.sub(rf"[\\{quote}]", r"\\\g<0>", text)
    escaped = re.sub("[\n\t\r]", lambda match: CODES[match[0]], escaped)
    escaped = (NOT_ASCII if is_ascii else TO_NUMBER).sub(_number, escaped)
    return f"{quote}{escaped}{quote}"


def _number(match: re.Match[str]) -> str:
    """Return a character by the numbers of its units in UTF-16."""
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\U{units[at : at + 4]}" for at in range(0, len(units), 4))
