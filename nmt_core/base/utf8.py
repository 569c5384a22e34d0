"""Decode UTF-8, and name the place of wrong bytes."""

import re

from nmt_core.base.errors import CorpusError, NmtError

BYTE_ORDER_MARK = "\ufeff"
"""Windows' editors write it before a text, of which it is no part."""

UTF16 = "is not UTF-8, but looks like UTF-16; convert it by: iconv -f UTF-16 -t UTF-8 OLD > NEW"
"""Said of a file."""

_TWICE = re.compile(
    "[\u00c2-\u00f4][\u0080-\u00bf\u0152-\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]"
)
"""A byte that begins a character in UTF-8 and one that goes on with it, as Windows' characters."""

_UNLIKELY = re.compile("[\u0580-\u05cf\u0700-\u08ff\u2500-\U0010ffff]")
"""Characters that tell nothing where there are few: "ß–" is one of N'Ko, "é…»" of Chinese."""

_FEW = 3

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def decode_utf8(
    data: bytes,
    name: object,
    *,
    line: int = 1,
    noun: str = "line",
    error: type[NmtError] = CorpusError,
    remedy: str = "convert it to UTF-8, for example by iconv",
) -> str:
    """Return bytes as text.

    Args:
        data: a line, or several.
        name: their source, such as the path of a file.
        line: the number of the first.
        noun: what is numbered, where it is not lines.
        error: the error to raise.
        remedy: the advice on bytes that are no text.

    Raises:
        NmtError: naming the line and byte that are not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        if line == 1:
            refuse_utf16(data, name, error=error)
        before = data[: problem.start]
        raise error(
            f"{noun} {line + before.count(10)} of {name} is not UTF-8 "
            f"(byte {len(before) - before.rfind(10)} is 0x{data[problem.start]:02x}); {remedy}"
        ) from None


def looks_like_utf16(data: bytes) -> bool:
    """Tell whether the first line of a file begins with a mark of UTF-16, or is half NUL."""
    first = data.partition(b"\n")[0]
    return first.startswith(_UTF16_MARKS) or 2 * first.count(0) >= max(2, len(first) - 1)


def refuse_utf16(data: bytes, name: object, *, error: type[NmtError] = CorpusError) -> None:
    """Refuse a file whose first bytes look like UTF-16.

    Raises:
        NmtError: saying how to convert it.
    """
    if looks_like_utf16(data):
        raise error(f"{name} {UTF16}") from None


def mend_mojibake(text: str) -> str:
    """Return UTF-8 that was read as Windows-1252, such as ``fÃ¼r`` for ``für``, as it was before.

    Sound text stays as it is; what was read so several times is mended as often.
    """
    while not text.isascii() and _TWICE.search(text):
        try:
            once = b"".join(map(_encode_windows, text)).decode()
        except UnicodeError:
            break
        if _UNLIKELY.search(once) and sum(not sign.isascii() for sign in once) < _FEW:
            break
        text = once
    return text


def _encode_windows(character: str) -> bytes:
    try:
        return character.encode("cp1252")
    except UnicodeEncodeError:  # of bytes that stand for nothing there
        return character.encode("latin-1")
