"""Accelerators: the sign before the letter that a menu's entry is chosen by, as in ``&File``."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import regex
from typing_extensions import override

from nmt_core.documents.passage import Item
from nmt_core.documents.pieces import TextDocument
from nmt_core.documents.placeholders import find_placeholders
from nmt_core.documents.plain_text import split_plain_text

LONGEST_LABEL = 80
"""Characters; a longer text is no entry of a menu."""

ACCELERATORS = {
    "&": regex.compile(r"(?<![&\p{Nd}])(?!(?<=\p{L})&\p{Lu})&(?=[\p{L}\p{Nd}])(?![\w#]+;)"),
    "_": regex.compile(r"(?<![\w_$])_(?=\p{L})"),
}
"""What toolkits write before the letter; an ampersand may stand within a word, unlike in R&D and
Drag&Drop."""

_ADDRESS = regex.compile(r"=|://|_\w*_")
_END = regex.compile(r"\s*[.:…?!]*\s*$")
_LATIN = regex.compile(r"\p{Latin}|\p{Nd}")


class Accelerator(NamedTuple):
    """The sign of an accelerator, and the letter behind it."""

    sign: str
    letter: str


def find_accelerator(text: str, signs: Iterable[str]) -> tuple[Accelerator, str] | None:
    """Return the accelerator of a label and the label without its sign; None if it has none.

    Args:
        text: a message.
        signs: those to look for, of :data:`ACCELERATORS`.
    """
    if len(text) > LONGEST_LABEL or _ADDRESS.search(text):
        return None
    places = [(sign, match) for sign in signs for match in ACCELERATORS[sign].finditer(text)]
    if len(places) != 1:
        return None
    [(sign, match)] = places
    return Accelerator(sign, text[match.end()]), text[: match.start()] + text[match.end() :]


class AcceleratedLabel(TextDocument):
    """A label that is translated without the sign of its accelerator, which it gets again."""

    def __init__(self, label: str, accelerator: Accelerator) -> None:
        """Take a label without its sign, and what it had."""
        super().__init__(split_plain_text(label))
        self._accelerator = accelerator

    @override
    def write(self, translations: Sequence[tuple[Item, ...]]) -> str:
        return mark_accelerator(super().write(translations), self._accelerator)


def mark_accelerator(label: str, accelerator: Accelerator) -> str:
    """Return a label with an accelerator: the same letter, if there is one, or else the first.

    The beginnings of words come before other letters. A label without Latin letters gets the letter
    of the source behind it, as in ``文件(&F)``.
    """
    sign, letter = accelerator
    taken = {at for one in find_placeholders(label) for at in range(one.start, one.end)}
    free = [at for at, one in enumerate(label) if one.isalnum() and at not in taken]
    if _LATIN.match(letter) and not any(_LATIN.match(label[at]) for at in free):
        end = _END.search(label)
        assert end  # at the latest where the label ends
        at = end.start()
        return f"{label[:at]}({sign}{letter.upper()}){label[at:]}"
    same = [at for at in free if label[at].casefold() == letter.casefold()]
    begins = [at for at in same if not label[at - 1 : at].isalnum()]
    chosen = next(iter([*begins, *same, *free]), None)
    return label if chosen is None else label[:chosen] + sign + label[chosen:]
