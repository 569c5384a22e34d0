"""Write translated text into Markdown, so that none of it becomes markup."""

import re
from collections.abc import Container, Sequence

from nmt_core.documents.passage import BREAK, Kind
from nmt_core.documents.pieces import Written

SPECIAL = re.compile(r"[\\`*\[\]<~|]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])")
SPECIAL_END = re.compile(r"(?<!#)#+$")
STARTS = re.compile(r"^\s*[-+>#=:]")
LIST_NUMBER = re.compile(r"^(\s*\d{1,9})([.)])(?=\s|$)")
"""Characters that may be markup, anywhere and at the beginning of a line."""

SPACE = re.compile(r"(\s+)")

EMPHASIS = frozenset("*_~")


def loosen(written: Sequence[Written]) -> list[Written]:
    """Return a translation with spaces around emphasis, and none at its inner edges."""
    parts = [*written]
    for number, part in enumerate(parts):
        if not part.mark or not EMPHASIS.issuperset(part.text):
            continue
        outside = -1 if part.mark.kind is Kind.OPEN else 1
        for side in (outside, -outside):
            if not 0 <= number + side < len(parts) or parts[number + side].mark:
                continue
            text = parts[number + side].text
            cut = text.rstrip() if side < 0 else text.lstrip()
            if side == outside:
                cut = f"{cut} " if side < 0 else f" {cut}"
            parts[number + side] = Written(cut)
    return parts


def escape_text(written: Sequence[Written], kept: Container[str] = ()) -> list[str]:
    """Return the parts of a translation with all that might be markup in texts escaped.

    Args:
        written: the parts.
        kept: words that stay as they are, since they stand in the source.
    """
    parts: list[str] = []
    for number, part in enumerate(written):
        if part.mark:
            parts.append(part.text)
            continue
        first, *others = [_escape_line(line, kept) for line in part.text.split(BREAK)]
        lines = [_escape_start(first, kept) if not "".join(parts[-1:]) else first]
        lines += [_escape_start(line, kept) for line in others]
        following = written[number + 1 : number + 2]
        if lines[-1].endswith("!") and following and following[0].text.startswith("["):
            lines[-1] = f"{lines[-1][:-1]}\\!"
        parts.append(BREAK.join(lines))
    return parts


def _escape_line(line: str, kept: Container[str]) -> str:
    words = SPACE.split(line)
    written = [word if word in kept else SPECIAL.sub(r"\\\g<0>", word) for word in words]
    written[-1] = words[-1] if words[-1] in kept else SPECIAL_END.sub(r"\\\g<0>", written[-1])
    return "".join(written)


def _escape_start(line: str, kept: Container[str]) -> str:
    if line.partition(" ")[0] in kept:
        return line
    return LIST_NUMBER.sub(r"\1\\\2", STARTS.sub(r"\\\g<0>", line))


def escape_plainly(_: str, written: Sequence[Written]) -> list[str]:
    """Return the parts of a translation with every sign escaped that may be markup."""
    return [SPECIAL.sub(r"\\\g<0>", part.text) for part in written]
