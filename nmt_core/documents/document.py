"""Documents of text, and files that hold them."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Protocol, TypeVar

from nmt_core.documents.passage import Item, Passage
from nmt_core.documents.pieces import Part, find_segments, write_parts


class Reason(Enum):
    """A reason why a text stays untranslated; the value follows the number of such texts."""

    CHOICE = "with a plural or select; translate them by hand"
    PLACEHOLDER = "whose translation lost a placeholder; translate them by hand"
    LANGUAGE = "marked as another language than the source"
    COMPARED = "that a formula, a list of choices or a condition compares with"


Untranslated = Counter[Reason]
"""Number of texts that stay untranslated, by reason."""


Result_co = TypeVar("Result_co", str, bytes, covariant=True)


class Document(Protocol[Result_co]):
    """A document of any format."""

    @property
    def passages(self) -> Sequence[Passage]:
        """The passages to translate."""

    @property
    def untranslated(self) -> Untranslated:
        """Number of texts that stay untranslated, by reason."""

    def write(
        self, translations: Sequence[tuple[Item, ...]], doubtful: Collection[int] = ()
    ) -> Result_co:
        """Return the document with translations of its passages, at most once.

        A person must review the doubtful passages, which are given by their numbers.
        """


class TextDocument:
    """A document that is written as text."""

    def __init__(self, parts: Iterable[Part], untranslated: Untranslated | None = None) -> None:
        """Take the parts of a document, and how many of its texts stay as they are."""
        self._parts = list(parts)
        self.untranslated = Untranslated() if untranslated is None else untranslated
        self._segments = list(find_segments(self._parts))

    @property
    def passages(self) -> list[Passage]:
        """The passages to translate."""
        return [segment.passage for segment in self._segments]

    def write(
        self, translations: Sequence[tuple[Item, ...]], doubtful: Collection[int] = ()
    ) -> str:
        """Return the document with translations of its passages; it cannot mark doubtful ones."""
        del doubtful
        by_segment = dict(zip(self._segments, translations, strict=True))
        return write_parts(self._parts, by_segment).raw


class FileDocument:
    """A file that holds documents of text."""

    def __init__(
        self,
        documents: Mapping[str, TextDocument],
        encode: Callable[[Mapping[str, str]], bytes],
    ) -> None:
        """Take the documents by name, and the function that makes a file of what they become."""
        self._documents, self._encode = documents, encode

    @property
    def passages(self) -> list[Passage]:
        """The passages to translate."""
        return [passage for document in self._documents.values() for passage in document.passages]

    @property
    def untranslated(self) -> Untranslated:
        """Number of texts that stay untranslated, by reason."""
        counts = [document.untranslated for document in self._documents.values()]
        return sum(counts, Untranslated())

    def write(
        self, translations: Sequence[tuple[Item, ...]], doubtful: Collection[int] = ()
    ) -> bytes:
        """Return the file with translations of its passages; it cannot mark doubtful ones."""
        del doubtful
        following = iter(translations)
        return self._encode(
            {
                name: document.write([next(following) for _ in document.passages])
                for name, document in self._documents.items()
            }
        )
