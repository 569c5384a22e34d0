"""Documents in, translated documents out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from nmt_core.documents.formats import REVIEW_BELOW
from nmt_core.documents.plan import Document, Plan, Result_co, Segmenter
from nmt_core.text.alignment import Translated


class Translate(Protocol):
    """Translates sentences."""

    def __call__(self, lines: Sequence[str], /, *, links: bool) -> Sequence[Translated]:
        """Return the best translation of each line.

        Args:
            lines: sentences, none empty, without line ends.
            links: whether to link words, by which inline markup is placed.
        """


class SourceSide(Protocol):
    """The side of the source language, such as :class:`nmt_core.text.side.Side`."""

    def tokens(self, line: str) -> Sequence[str]:
        """Return the tokens of a line."""


class Searcher(Protocol):
    """A translator of lines, such as ``nmt_core.Translator``."""

    @property
    def source(self) -> SourceSide:
        """The side of the source language."""

    def search(
        self,
        lines: Sequence[str],
        *,
        beam_size: int | None,
        n_best: int,
        probabilities: bool,
        links: bool,
    ) -> Sequence[Sequence[Translated]]:
        """Return translations of each line, best first."""


@dataclass(frozen=True)
class DocumentTranslator:
    """Translates documents by a function that translates sentences."""

    translate_lines: Translate
    segmenter: Segmenter
    target: str = ""
    """Code of the language to translate into; empty if nobody knows."""
    review_below: float = REVIEW_BELOW
    """The confidence below which a unit is marked for a person to look at."""

    @property
    def codes(self) -> tuple[str, str] | None:
        """Codes of source and target, or None if nobody knows them."""
        source = self.segmenter.language
        return (source, self.target) if source and self.target else None

    @classmethod
    def using(
        cls,
        searcher: Searcher,
        language: str,
        *,
        target: str = "",
        beam_size: int | None = None,
        review_below: float = REVIEW_BELOW,
    ) -> Self:
        """Return a translator of documents that uses a translator of lines.

        Args:
            searcher: translates lines.
            language: code of the language that documents are written in.
            target: code of the one they are translated into; files that name their languages
                are read only if it is theirs, and told it if they name none.
            beam_size: live hypotheses per sentence; None as configured.
            review_below: the confidence below which a unit is marked for a person to look at.
        """

        def translate_lines(lines: Sequence[str], /, *, links: bool) -> Sequence[Translated]:
            translations = searcher.search(
                lines, beam_size=beam_size, n_best=1, probabilities=False, links=links
            )
            return [best for best, *_ in translations]

        segmenter = Segmenter(language, searcher.source.tokens)
        return cls(translate_lines, segmenter, target, review_below)

    def translate(self, document: Document[Result_co]) -> Result_co:
        """Return a document translated, all its sentences together.

        Those with markup inside go apart from the others, as only they need links.
        """
        plan = Plan(document.passages, self.segmenter)
        translated: dict[int, Translated] = {}
        for links in (False, True):
            numbers = [n for n, marked in enumerate(plan.marked) if marked is links]
            if numbers:
                lines = [plan.lines[number] for number in numbers]
                translations = self.translate_lines(lines, links=links)
                translated.update(zip(numbers, translations, strict=True))
        in_order = [translated[number] for number in range(len(plan.lines))]
        return plan.write(document, in_order, self.review_below)
