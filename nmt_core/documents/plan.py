"""Split documents into sentences, translate these, and insert the translations."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from nmt_core.documents.document import Document, Result
from nmt_core.documents.placement import place_tags
from nmt_core.documents.review import REVIEW_BELOW, list_doubts
from nmt_core.documents.segments import BREAK, HARD_BREAK, InlineTag, Item, Passage
from nmt_core.text.language_codes import LanguageCodes
from nmt_core.text.sentences import space_sentences, split_sentences
from nmt_core.text.translation import Translation
from nmt_core.text.words import WORD, Span

TOKEN_CHARACTERS = 20
"""Approximate maximum length of a token; longer text is not tokenized to count tokens."""

END_OF_LABEL = re.compile(r"[(\[]*[:;,.!?)\]]+\s+")
"""The end of a number or label before a sentence, as in ``: A title``."""


@dataclass(frozen=True)
class Segmenter:
    """Splits passages into sentences."""

    language: str
    """Code of their language, such as ``de``."""

    tokens: Callable[[str], Sequence[str]] = str.split
    """Returns the model's tokens of a sentence."""

    max_tokens: int = 128
    """Maximum number of tokens of a sentence; longer sentences are split, because models translate
    much longer text badly."""

    def fits(self, text: str) -> bool:
        """Return whether a text is short enough to be translated as one sentence."""
        size = 3 * len(text.encode(errors="surrogatepass"))  # of NFC at most; tokens have a byte
        return size < self.max_tokens or (
            len(text) <= self.max_tokens * TOKEN_CHARACTERS
            and len(self.tokens(text)) <= self.max_tokens
        )

    def find_sentences(self, text: str, *, figures: bool = True) -> list[Span]:
        """Return the spans of sentences, without text that has no letters.

        ``figures`` includes text with only digits if the language is known.
        """
        is_read = str.isalnum if figures and self.language else str.isalpha
        sentences, start = [], 0
        for line in text.split(HARD_BREAK):
            for span in split_sentences(line, self.language, self.fits):
                if any(map(is_read, line[slice(*span)])):
                    label = END_OF_LABEL.match(line, *span)
                    first = label.end() if label else span.start
                    sentences.append(Span(start + first, start + span.end))
            start += len(line) + len(HARD_BREAK)
        return sentences


@dataclass(frozen=True)
class Plan:
    """Passages with their sentences.

    ``Plan(document.passages, segmenter).lines`` are the lines to translate. Their translations are
    inserted by ``plan.write(document, translations, review_below)``.
    """

    passages: Sequence[Passage]
    segmenter: Segmenter
    whole: Collection[str] = ()
    """Flattened passages that are translated as one sentence."""

    @cached_property
    def spans(self) -> list[list[Span]]:
        """Spans of the sentences of each passage."""
        spans = []
        for passage in self.passages:
            text = passage.text
            if self.whole and _is_plain(passage) and flatten(text) in self.whole:
                spans.append([Span(len(text) - len(text.lstrip()), len(text.rstrip()))])
            else:
                figures = not passage.is_message
                spans.append(self.segmenter.find_sentences(text, figures=figures))
        return spans

    @cached_property
    def wholes(self) -> list[str]:
        """Flattened passages of several sentences without tags, to look up in a memory."""
        return [
            flatten(passage.text)
            for passage, spans in zip(self.passages, self.spans, strict=True)
            if len(spans) > 1 and _is_plain(passage)
        ]

    @cached_property
    def lines(self) -> list[str]:
        """All sentences, flattened, for the model."""
        return [
            flatten(passage.text[slice(*span)])
            for passage, spans in zip(self.passages, self.spans, strict=True)
            for span in spans
        ]

    @cached_property
    def marked(self) -> list[bool]:
        """Whether each line has tags inside, which require the word alignment of a translation."""
        marked = []
        for passage, spans in zip(self.passages, self.spans, strict=True):
            at, places = 0, []
            for item in passage.items:
                if isinstance(item, InlineTag):
                    places.append(at)
                else:
                    at += len(item)
            for span in spans:
                after = bisect_right(places, span.start)
                marked.append(after < len(places) and places[after] < span.end)
        return marked

    def place(self, translated: Sequence[Translation]) -> list[tuple[Item, ...]]:
        """Return the translated items of each passage, given a translation of each line."""
        following = iter(translated)
        return [
            _place_sentences(passage, [(span, next(following)) for span in spans])
            for passage, spans in zip(self.passages, self.spans, strict=True)
        ]

    def write(
        self, document: Document[Result], translated: Sequence[Translation], review_below: float
    ) -> Result:
        """Return the translated document of these passages; call this at most once.

        Passages with a doubtful translation, or one without a confidence, are marked for review.
        """
        following = iter(translated)
        doubtful = {
            number
            for number, spans in enumerate(self.spans)
            for translation in [next(following) for _ in spans]
            if translation.confidence is None or list_doubts(translation, review_below)
        }
        return document.write(self.place(translated), doubtful)


def _is_plain(passage: Passage) -> bool:
    """Return whether a passage has no tags."""
    return not any(isinstance(item, InlineTag) for item in passage.items)


def _place_sentences(
    passage: Passage, sentences: Sequence[tuple[Span, Translation]]
) -> tuple[Item, ...]:
    """Return the items of a passage's translation; the text between its sentences is kept."""
    text, target, last = passage.text, "", 0
    spans: list[tuple[Span, Span]] = []
    for span, translated in sentences:
        target += space_sentences(text, Span(last, span.start), target)
        start, last = len(target), span.end
        target += _read_translation(text[slice(*span)], translated, breaks=passage.breaks)
        spans.append((span, Span(start, len(target))))
    if all(text[slice(*source)] == target[slice(*written)] for source, written in spans):
        return passage.items
    target += text[last:]
    if len(passage.items) == 1:  # no tags
        return (target,)
    return place_tags(passage, target, spans, [translated for _, translated in sentences])


def flatten(text: str) -> str:
    """Return a text as a single line with single spaces."""
    return " ".join(text.split())


def _read_translation(source: str, translated: Translation, *, breaks: bool) -> str:
    """Return the translation of a sentence with line breaks, or the source if it is empty."""
    translation = flatten(translated.text)
    if translation in ("", flatten(source)):
        return source
    if not breaks:
        return translation
    places = [offset / len(source) for offset, item in enumerate(source) if item == BREAK]
    return _wrap(translation, places)


def _wrap(text: str, places: Sequence[float]) -> str:
    """Return a text split into lines at about the given fractions of its length."""
    gaps = [offset for offset, character in enumerate(text) if character == " "]
    is_solid = not gaps
    if is_solid:  # a script without spaces, or a single word
        gaps = [match.start() for match in re.finditer(WORD, text)][1:]
    chosen: list[int] = []
    for remaining, share in zip(range(len(places) - 1, -1, -1), places, strict=True):
        low = bisect_right(gaps, chosen[-1]) if chosen else 0
        high = len(gaps) - remaining
        if low < high:
            ideal = share * len(text)
            after = bisect_left(gaps, ideal, low, high)
            near = gaps[max(after - 1, low) : min(after + 1, high)]
            chosen.append(min(near, key=lambda gap: abs(gap - ideal)))
    parts = [
        text[start + (start > 0 and not is_solid) : end]
        for start, end in pairwise([0, *chosen, len(text)])
    ]
    return BREAK.join(parts) + BREAK * (len(places) - len(chosen))


@dataclass(frozen=True)
class DocumentTranslator:
    """Translates documents by a function that translates sentences."""

    translate_lines: Callable[..., Sequence[Translation]]
    """Returns the translation of each of some non-empty sentences, with word alignment if ``links``
    is true."""
    segmenter: Segmenter
    target: str = ""
    """Code of the target language; empty if it is unknown."""
    review_below: float = REVIEW_BELOW
    """Minimum confidence of a segment that is not marked for review."""
    recall: Callable[[str], Translation | None] | None = None
    """Returns the approved translation of a text from a memory, or None."""

    @property
    def codes(self) -> LanguageCodes | None:
        """Codes of source and target, if they are known."""
        source = self.segmenter.language
        return (source, self.target) if source and self.target else None

    def translate_passages(self, passages: Sequence[Passage]) -> tuple[Plan, list[Translation]]:
        """Return the plan of passages, and a translation of each of its lines.

        Translations are taken from the memory if possible. All other lines are translated together,
        with word alignment if any line has tags inside.
        """
        plan = Plan(passages, self.segmenter)
        approved: dict[str, Translation] = {}
        if self.recall:
            marked = zip(plan.lines, plan.marked, strict=True)
            plain = [line for line, is_marked in marked if not is_marked]
            for text in dict.fromkeys((*plan.wholes, *plain)):
                if translation := self.recall(text):
                    approved[text] = translation
            if whole := approved.keys() & {*plan.wholes}:
                plan = replace(plan, whole=whole)
        recalled = [
            None if is_marked else approved.get(line)
            for line, is_marked in zip(plan.lines, plan.marked, strict=True)
        ]
        new = [line for line, done in zip(plan.lines, recalled, strict=True) if done is None]
        translations = iter(self.translate_lines(new, links=any(plan.marked)) if new else ())
        return plan, [done or next(translations) for done in recalled]
