"""Files of units: messages and segments that are translated one by one, with their states."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from nmt_core.base.errors import DocumentError
from nmt_core.documents.messages import TAG, LeftMessage
from nmt_core.documents.passage import Item, Passage
from nmt_core.documents.pieces import TextDocument
from nmt_core.documents.placeholders import BRACES, keep_placeholders
from nmt_core.documents.untranslated import Reason, Untranslated


class UnitTranslation(NamedTuple):
    """The translation of a unit."""

    texts: Sequence[str]
    """Of each of its texts."""
    doubtful: bool
    """Whether a person must look at it."""


@dataclass(frozen=True, eq=False)
class Unit:
    """Texts of a file that are translated, and what stands there."""

    raw: str
    """The part of the file, which is kept if it has nothing to translate."""
    texts: Sequence[TextDocument]
    """Those to translate, such as the singular and the plural of a message."""
    write: Callable[[UnitTranslation], str]
    """Takes their translations; returns what to write."""
    is_bilingual: bool = False
    """Whether the translation stands beside the source, and is written even if it is the same."""
    signs: str = BRACES
    """Characters that may be of the syntax; see :func:`keep_placeholders`."""


class UnitFile:
    """A file of units."""

    def __init__(
        self,
        parts: Sequence[str | Unit],
        encode: Callable[[str], bytes],
        untranslated: Untranslated | None = None,
    ) -> None:
        """Take the parts of a file, which together are the file.

        Args:
            parts: units, and what stands between them.
            encode: makes a file of the text.
            untranslated: texts that stay for other reasons than choices in them.
        """
        self._untranslated = untranslated or Untranslated()
        self._parts = parts
        self._encode = encode
        self._units = [part for part in parts if isinstance(part, Unit)]
        self._passages = [
            [passage for text in unit.texts for passage in text.passages] for unit in self._units
        ]

    @property
    def passages(self) -> list[Passage]:
        """The passages to translate."""
        return [
            replace(passage, is_message=True) for passages in self._passages for passage in passages
        ]

    @property
    def untranslated(self) -> Untranslated:
        """Number of texts that stay untranslated; messages stay if their choices cannot be read."""
        choices = sum(
            any(isinstance(text, LeftMessage) for text in unit.texts) for unit in self._units
        )
        return self._untranslated + Untranslated({Reason.CHOICE: choices})

    def write(self, translations: Sequence[tuple[Item, ...]]) -> bytes:
        """Return the file with translations of its passages, none of which is doubtful."""
        return self.write_reviewed(translations, ())

    def write_reviewed(
        self, translations: Sequence[tuple[Item, ...]], doubtful: Collection[int]
    ) -> bytes:
        """Return the file with translations of its passages.

        Args:
            translations: of each passage.
            doubtful: numbers of the passages whose translation a person must look at.
        """
        written = self._write_units(translations, doubtful)
        return self._encode(
            "".join(part if isinstance(part, str) else next(written) for part in self._parts)
        )

    def _write_units(
        self, translations: Sequence[tuple[Item, ...]], doubtful: Collection[int]
    ) -> Iterator[str]:
        first = 0
        for unit, passages in zip(self._units, self._passages, strict=True):
            numbers = range(first, first + len(passages))
            first = numbers.stop
            given = [translations[number] for number in numbers]
            kept = [
                keep_placeholders(passage, items, unit.signs)
                for passage, items in zip(passages, given, strict=True)
            ]
            is_same = all(
                items == passage.items for passage, items in zip(passages, kept, strict=True)
            )
            if not passages or (is_same and not unit.is_bilingual):
                yield unit.raw
                continue
            following = iter(kept)
            texts = [text.write([next(following) for _ in text.passages]) for text in unit.texts]
            is_doubtful = (
                kept != given
                or any(number in doubtful for number in numbers)
                or any(TAG.search(passage.text) for passage in passages)  # a model moves it
            )
            yield unit.write(UnitTranslation(texts, is_doubtful))


def check_language(found: str, expected: str, side: str) -> None:
    """Make sure that a file is in a language.

    Args:
        found: the code that the file names; nothing if it names none.
        expected: the code of the language.
        side: what the file says of it, such as ``translates into``.

    Raises:
        DocumentError: if it is not.
    """
    if not found:
        return
    from nmt_core.text.language_codes import pick_code  # tokenizers come with it

    if pick_code([found], expected) is None:
        raise DocumentError(
            f"this document {side} {found[:20]!r}, and not {expected!r} as this model does; "
            f"take a model for its languages"
        )
