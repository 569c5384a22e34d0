"""The sentences of a document, and the way back from their translations to its own."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Protocol, TypeVar, runtime_checkable

from nmt_core.documents.passage import (
    HARD_BREAK,
    Item,
    Mark,
    Passage,
    Sentence,
    flatten,
    place_marks,
)
from nmt_core.documents.review import list_doubts
from nmt_core.text.alignment import Translated
from nmt_core.text.sentences import split_sentences
from nmt_core.text.span import Span

TOKEN_CHARACTERS = 20
"""Most of a token, about; a text with more than that many for each is not cut into tokens first."""

END_OF_LABEL = re.compile(r"[(\[]*[:;,.!?)\]]+\s+")
"""The end of a number or a label before a sentence."""

FEWEST_CHARACTERS = 3
"""Of a token, about, where tokens are not known."""

Result_co = TypeVar("Result_co", str, bytes, covariant=True)


class Document(Protocol[Result_co]):
    """A document of any format."""

    @property
    def passages(self) -> Sequence[Passage]:
        """The passages to translate."""

    def write(self, translations: Sequence[tuple[Item, ...]]) -> Result_co:
        """Return the document with translations of its passages, at most once."""


@runtime_checkable
class ReviewedDocument(Document[Result_co], Protocol[Result_co]):
    """A document that says itself which of its translations a person must look at."""

    def write_reviewed(
        self, translations: Sequence[tuple[Item, ...]], doubtful: Collection[int]
    ) -> Result_co:
        """Return the document with translations of its passages, at most once.

        Args:
            translations: of each passage.
            doubtful: numbers of the passages whose translation a person must look at.
        """


@dataclass(frozen=True)
class Segmenter:
    """Cuts passages into sentences."""

    language: str
    """Code of their language, such as ``de``, by which sentences are split."""

    tokens: Callable[[str], Sequence[str]] | None = None
    """Cuts a sentence into the tokens that the model reads; without it, lengths are
    estimated."""

    most_tokens: int = 128
    """Of a sentence; longer ones are cut. Models are trained on sentences, and translate much
    longer text badly before they refuse it."""

    def fits(self, text: str) -> bool:
        """Tell whether a text is short enough to be translated as one sentence."""
        if self.tokens is None:
            return len(text) <= self.most_tokens * FEWEST_CHARACTERS
        return (
            len(text) <= self.most_tokens * TOKEN_CHARACTERS
            and len(self.tokens(text)) <= self.most_tokens
        )

    def find_sentences(self, text: str, *, figures: bool = True) -> list[Span]:
        """Return the spans of sentences; what has no letters and digits is kept as it is.

        So are figures in a language that nobody knows, which a model would read.

        Args:
            text: of a passage.
            figures: find figures without letters, too.
        """
        is_read = str.isalnum if figures and self.language else str.isalpha
        starts = accumulate((len(line) + 1 for line in text.split(HARD_BREAK)), initial=0)
        return [
            Span(start + span.start + _skip_mark(line, span), start + span.end)
            for start, line in zip(starts, text.split(HARD_BREAK), strict=False)
            for span in split_sentences(line, self.language, self.fits)
            if any(map(is_read, line[span.start : span.end]))
        ]


@dataclass(frozen=True)
class Plan:
    """Passages with their sentences.

    ``Plan(document.passages, segmenter)`` has the lines to translate; their translations make
    ``plan.write(document, translations, review_below)``, as often as there are alternatives.
    """

    passages: Sequence[Passage]
    segmenter: Segmenter
    whole: Collection[str] = ()
    """Passages that are translated as one sentence, each as a line."""

    @cached_property
    def spans(self) -> list[list[Span]]:
        """Spans of the sentences of each passage."""
        return [self._find_spans(passage) for passage in self.passages]

    def _find_spans(self, passage: Passage) -> list[Span]:
        text = passage.text
        if self.whole and _is_plain(passage) and flatten(text) in self.whole:
            return [Span(len(text) - len(text.lstrip()), len(text.rstrip()))]
        return self.segmenter.find_sentences(text, figures=not passage.is_message)

    @cached_property
    def wholes(self) -> list[str]:
        """Passages of several sentences without markup, each as a line that a memory may have."""
        return [
            flatten(passage.text)
            for passage, spans in zip(self.passages, self.spans, strict=True)
            if len(spans) > 1 and _is_plain(passage)
        ]

    def list_plain(self) -> list[str]:
        """Return the lines without markup inside."""
        return [line for line, mark in zip(self.lines, self.marked, strict=True) if not mark]

    def keep_whole(self, known: Collection[str]) -> "Plan":
        """Return a plan in which passages that are known as a whole are one sentence."""
        whole = {*known} & {*self.wholes}
        return replace(self, whole=whole) if whole else self

    @cached_property
    def lines(self) -> list[str]:
        """All sentences, each as a line for a model."""
        return [
            flatten(text[span.start : span.end])
            for text, spans in zip(
                (passage.text for passage in self.passages), self.spans, strict=True
            )
            for span in spans
        ]

    @cached_property
    def marked(self) -> list[bool]:
        """Of each line, whether markup stands in it and not only at its ends.

        The links of its translation say where the markup is to go.
        """
        return [
            mark
            for passage, spans in zip(self.passages, self.spans, strict=True)
            for mark in _find_marked(passage, spans)
        ]

    def place(self, translated: Sequence[Translated]) -> list[tuple[Item, ...]]:
        """Return the translated items of each passage.

        Args:
            translated: a translation of each line, with links if they are known.
        """
        each = iter(zip(self.lines, translated, strict=True))
        placed = []
        for passage, spans in zip(self.passages, self.spans, strict=True):
            sentences = []
            for span in spans:
                line, translation = next(each)
                sentences.append(Sentence(span, line, translation))
            placed.append(place_marks(passage, sentences))
        assert not [*each]
        return placed

    def find_doubtful(self, translated: Sequence[Translated], review_below: float) -> set[int]:
        """Return the numbers of the passages whose translation a person must look at.

        Those are passages with a sentence whose translation has doubts, or no confidence.
        """
        each = iter(translated)
        return {
            number
            for number, spans in enumerate(self.spans)
            for translation in [next(each) for _ in spans]
            if translation.confidence is None or list_doubts(translation, review_below)
        }

    def write(
        self, document: Document[Result_co], translated: Sequence[Translated], review_below: float
    ) -> Result_co:
        """Return the document of these passages translated.

        Args:
            document: it is written at most once.
            translated: a translation of each line, with links if they are known.
            review_below: see :meth:`find_doubtful`.
        """
        placed = self.place(translated)
        if isinstance(document, ReviewedDocument):
            return document.write_reviewed(placed, self.find_doubtful(translated, review_below))
        return document.write(placed)


def _skip_mark(line: str, span: Span) -> int:
    """Return the length of what ends a number or label before a sentence, as in ``: A title``."""
    mark = END_OF_LABEL.match(line, *span)
    return len(mark[0]) if mark else 0


def _is_plain(passage: Passage) -> bool:
    """Tell whether no markup stands in a passage."""
    return not any(isinstance(item, Mark) for item in passage.items)


def _find_marked(passage: Passage, spans: Sequence[Span]) -> list[bool]:
    places, at = [], 0
    for item in passage.items:
        if isinstance(item, Mark):
            places.append(at)
        else:
            at += len(item)
    marked, following = [], 0
    for span in spans:
        while following < len(places) and places[following] <= span.start:
            following += 1
        marked.append(following < len(places) and places[following] < span.end)
    return marked
