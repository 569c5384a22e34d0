"""Decode UTF-8, and name the place of wrong bytes."""

from nmt_core.base.errors import CorpusError, NmtError

BYTE_ORDER_MARK = "\ufeff"
"""Windows' editors write it before a text, of which it is no part."""

UTF16 = "is not UTF-8, but looks like UTF-16; convert it by: iconv -f UTF-16 -t UTF-8 OLD > NEW"
"""Said of a file."""

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
        if line == 1 and looks_like_utf16(data):
            raise error(f"{name} {UTF16}") from None
        before = data[: problem.start]
        raise error(
            f"{noun} {line + before.count(10)} of {name} is not UTF-8 "
            f"(byte {len(before) - before.rfind(10)} is 0x{data[problem.start]:02x}); {remedy}"
        ) from None


def looks_like_utf16(data: bytes) -> bool:
    """Tell whether the first line of a file begins with a mark of UTF-16, or is half NUL."""
    first = data.partition(b"\n")[0]
    return first.startswith(_UTF16_MARKS) or 2 * first.count(0) >= max(2, len(first) - 1)
