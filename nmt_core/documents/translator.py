"""Documents in, translated documents out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from nmt_core.documents.formats import REVIEW_BELOW
from nmt_core.documents.passage import Passage
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


@dataclass(frozen=True)
class DocumentTranslator:
    """Translates documents by a function that translates sentences."""

    translate_lines: Translate
    segmenter: Segmenter
    target: str = ""
    """Code of the language to translate into; empty if nobody knows."""
    review_below: float = REVIEW_BELOW
    """The confidence below which a unit is marked for a person to look at."""
    recall: Callable[[str], Translated | None] | None = None
    """Returns the approved translation of a text, if a memory has one."""

    @property
    def codes(self) -> tuple[str, str] | None:
        """Codes of source and target, or None if nobody knows them."""
        source = self.segmenter.language
        return (source, self.target) if source and self.target else None

    def translate(self, document: Document[Result_co]) -> Result_co:
        """Return a document translated."""
        plan, translations = self.translate_passages(document.passages)
        return plan.write(document, translations, self.review_below)

    def translate_passages(self, passages: Sequence[Passage]) -> tuple[Plan, list[Translated]]:
        """Return the sentences of passages, and a translation of each.

        Passages and sentences that the memory has are taken from it. All others are translated
        together, with links if markup stands inside of some.
        """
        plan = Plan(passages, self.segmenter)
        known: dict[str, Translated] = {}
        if self.recall:
            asked = (*plan.wholes, *plan.list_plain())
            found = ((text, self.recall(text)) for text in dict.fromkeys(asked))
            known = {text: translation for text, translation in found if translation}
            plan = plan.keep_whole(known)
        recalled = [
            None if mark else known.get(line)
            for line, mark in zip(plan.lines, plan.marked, strict=True)
        ]
        left = [line for line, one in zip(plan.lines, recalled, strict=True) if one is None]
        translations = iter(self.translate_lines(left, links=any(plan.marked)) if left else ())
        return plan, [one or next(translations) for one in recalled]
