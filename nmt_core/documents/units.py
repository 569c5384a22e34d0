"""Files of units: messages and segments that are translated separately, with their states."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from nmt_core.documents.document import Reason, TextDocument, Untranslated
from nmt_core.documents.messages import BRACES, TAG, has_same_placeholders
from nmt_core.documents.passage import Item, Passage


class UnitTranslation(NamedTuple):
    """The translation of a unit."""

    texts: Sequence[str]
    is_doubtful: bool
    """Whether a person must review it."""


@dataclass(frozen=True, eq=False)
class Unit:
    """Texts of a file that are translated, and the part of the file that holds them."""

    raw: str
    """The part of the file, which is kept if nothing is translated."""
    texts: Sequence[TextDocument]
    """The texts to translate, such as the singular and the plural of a message."""
    write: Callable[[UnitTranslation], str]
    """Returns what to write in the place of the part."""
    is_bilingual: bool = False
    """Whether the translation stands beside the source, and is written even if it is the same."""
    signs: str = BRACES
    """Characters that may be syntax; see :func:`has_same_placeholders`."""


class UnitFile:
    """A file of units."""

    def __init__(
        self,
        parts: Sequence[str | Unit],
        encode: Callable[[str], bytes],
        untranslated: Untranslated | None = None,
    ) -> None:
        """Take the parts of a file, what encodes them, and the number of texts that stay."""
        self._parts = parts
        self._encode = encode
        self._units = [part for part in parts if isinstance(part, Unit)]
        self._passages = [
            [passage for text in unit.texts for passage in text.passages] for unit in self._units
        ]
        self.untranslated = Untranslated(untranslated)
        for unit in self._units:
            for text in unit.texts:
                self.untranslated += text.untranslated

    @property
    def passages(self) -> list[Passage]:
        """The passages to translate."""
        return [
            replace(passage, is_message=True) for passages in self._passages for passage in passages
        ]

    def write(
        self, translations: Sequence[tuple[Item, ...]], doubtful: Collection[int] = ()
    ) -> bytes:
        """Return the file with translations of its passages, and marks at the doubtful ones."""
        written = self._write_units(translations, doubtful)
        return self._encode(
            "".join([part if isinstance(part, str) else next(written) for part in self._parts])
        )

    def _write_units(
        self, translations: Sequence[tuple[Item, ...]], doubtful: Collection[int]
    ) -> Iterator[str]:
        first = 0
        for unit, passages in zip(self._units, self._passages, strict=True):
            numbers = range(first, first + len(passages))
            first = numbers.stop
            own = translations[numbers.start : numbers.stop]
            pairs = [*zip([passage.items for passage in passages], own, strict=True)]
            is_same = all(source == items for source, items in pairs)
            is_whole = all(has_same_placeholders(*pair, unit.signs) for pair in pairs)
            if not passages or (is_same and not unit.is_bilingual):
                yield unit.raw
            elif not is_whole and not unit.is_bilingual:
                self.untranslated[Reason.PLACEHOLDER] += 1
                yield unit.raw
            else:
                following = iter(own)
                texts = [
                    text.write([next(following) for _ in text.passages]) for text in unit.texts
                ]
                is_doubtful = (
                    not is_whole
                    or any(number in doubtful for number in numbers)
                    or any(TAG.search(passage.text) for passage in passages)  # a model moves it
                )
                yield unit.write(UnitTranslation(texts, is_doubtful))
