"""A loop around a search, which keeps the literals of lines.

Lines whose best translation lost something are searched again: for other hypotheses, with symbols
for numbers, and without loops. The most probable translation that keeps all is taken, unless it is
much less probable than the first one, which is then returned with a report.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from nmt_core.literals.checking import Breach
from nmt_core.literals.masking import requote
from nmt_core.search.settings import BeamConfig
from nmt_core.text.side import Tokenized
from nmt_core.translation.protection import ProtectedLine, Protector, is_flaw
from nmt_core.translation.translation import Translation

MARGIN = 0.1
"""Log-probability per token that a translation may be below the first one, which lost a literal."""
MARGIN_OF_FLAWED = 0.3
"""The same below one that loops or is empty."""

WITHOUT_LOOPS = (3, 2)
"""Sizes of n-grams that must not repeat when a looping line is searched again; 2 lets no word stand
three times in a row, which harms good translations."""


@dataclass
class _Repair:
    """The translations of a line so far."""

    line: ProtectedLine
    raw: list[Translation]
    """Translations of the first search, as the model wrote them."""
    first: list[Translation]
    """The best of these, with literals in the place of symbols."""
    later: list[Translation] = field(default_factory=list)
    """Further ones of the first search, and those of later searches."""

    def choose(self) -> Translation:
        """Return the most probable translation with the fewest breaches.

        One that is much less probable than the first is left out.
        """
        best = self.first[0]
        if not best.breaches:
            return best
        margin = MARGIN_OF_FLAWED if any(map(is_flaw, best.breaches)) else MARGIN
        others = (each for each in (*self.first, *self.later) if each.score >= best.score - margin)
        return min((best, *others), key=rank)

    def list_best(self) -> list[Translation]:
        """Return as many translations as were found first, the best one first.

        They are in the quotation marks of the line, and have character references if it has some.
        """
        best, line = self.choose(), self.line
        ordered = [best, *(each for each in self.first if each is not best)][: len(self.first)]
        texts = [
            requote(each.text, line.line) if line.is_unquoted else each.text for each in ordered
        ]
        texts = [escape(text, quote=False) if line.is_escaped else text for text in texts]
        return [each._replace(text=text) for each, text in zip(ordered, texts, strict=True)]

    def has(self, is_kind: Callable[[Breach], bool]) -> bool:
        """Tell whether the best translation has a breach of a kind."""
        return any(map(is_kind, self.choose().breaches))


def rank(translation: Translation) -> tuple[int, int, float]:
    """Return a sort key: the number of breaches, of lost literals, then the score, best first."""
    breaches = translation.breaches
    return len(breaches), sum(map(is_loss, breaches)), -translation.score


def is_loss(breach: Breach) -> bool:
    """Tell whether a literal of the source is not in the translation as it should be."""
    return breach.problem in {"missing", "unit"}


@dataclass(frozen=True)
class ProtectedSearch:
    """A search whose translations keep the literals of their lines, as far as possible."""

    protector: Protector
    search: Callable[[Sequence[Tokenized], BeamConfig], list[list[Translation]]]
    """Returns translations of lines, best first."""
    config: BeamConfig
    candidates: int
    """Translations to consider where the best one lost something; 0 where prefixes are given, so
    that nothing is searched again."""

    def run(self, lines: Sequence[str | Tokenized]) -> list[list[Translation]]:
        """Return translations of lines, best first; lines without words are not searched for."""
        protector, n_best = self.protector, self.config.n_best
        protected = [protector.protect(line, unquoted=self.candidates > 0) for line in lines]
        figures = [protector.write_figures(line) if self.candidates else None for line in protected]
        worded = [line for line, own in zip(protected, figures, strict=True) if own is None]
        count = max(n_best, self.candidates)  # costs less than to search again for some
        config = self.config.model_copy(update={"n_best": count})
        raw = self.search([line.text for line in worded], config) if worded else []
        repairs = [
            _Repair(line, several, [protector.finish(line, each) for each in several[:n_best]])
            for line, several in zip(worded, raw, strict=True)
        ]
        if breached := [repair for repair in repairs if repair.choose().breaches]:
            self._repair(breached)
        repaired = iter(repairs)
        return [next(repaired).list_best() if own is None else [own] for own in figures]

    def _repair(self, repairs: Sequence[_Repair]) -> None:
        """Search again for lines whose best translation has breaches, as long as it has some."""
        for repair in repairs:
            rest = repair.raw[len(repair.first) :]
            repair.later += (self.protector.finish(repair.line, each) for each in rest)
        if self.candidates:
            self._search_masked([repair for repair in repairs if repair.has(is_loss)])
            for size in WITHOUT_LOOPS:
                flawed = [(repair, repair.line) for repair in repairs if repair.has(is_flaw)]
                self._search_again(flawed, size)
                self._search_masked([repair for repair in repairs if repair.has(is_flaw)], size)
        for repair in repairs:
            if repair.has(is_loss):
                repair.later.append(self.protector.put_in_lost(repair.line, repair.raw[0]))

    def _search_masked(self, repairs: Sequence[_Repair], ngram_size: int | None = None) -> None:
        """Add translations of lines with symbols for numbers and terms, if they have some."""
        masked = [(r, self.protector.mask_all(r.line, r.choose().breaches)) for r in repairs]
        changed = [(r, line) for r, line in masked if line.text.line != r.line.text.line]
        self._search_again(changed, ngram_size)

    def _search_again(
        self, lines: Sequence[tuple[_Repair, ProtectedLine]], ngram_size: int | None
    ) -> None:
        """Add translations of lines as they are read now, without repeated n-grams of a size."""
        if not lines:
            return
        changes = {} if ngram_size is None else {"no_repeat_ngram_size": ngram_size}
        config = self.config.model_copy(update={"n_best": self.candidates, **changes})
        raw = self.search([line.text for _, line in lines], config)
        for (repair, line), several in zip(lines, raw, strict=True):
            repair.later += (self.protector.finish(line, each) for each in several)
