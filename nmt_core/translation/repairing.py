"""Repeated searches for translations that keep the literals of lines.

A line whose best translation has breaches is searched again: for other hypotheses, with symbols for
numbers, and without loops. The result is the most probable translation without breaches. If that is
much less probable than the first translation, the first is returned with its breaches.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import islice

from nmt_core.literals.checking import Breach
from nmt_core.literals.masking import requote
from nmt_core.search.settings import BeamConfig
from nmt_core.text.side import Tokenized
from nmt_core.text.translation import Translation
from nmt_core.translation.protection import ProtectedLine, Protector, is_flaw

MARGIN = 0.1
"""Maximum loss of score (log-probability per token) compared with the first translation."""
FLAWED_MARGIN = 0.3
"""The same if the first translation has a flaw, such as a loop."""

WITHOUT_LOOPS = (3, 2)
"""Sizes of n-grams that must not repeat when a looping line is searched again; 2 is tried last,
because it harms good translations."""


@dataclass
class _Repair:
    """The translations of a line so far."""

    line: ProtectedLine
    raw: list[Translation]
    """The best translations of the first search, with symbols."""
    first: list[Translation]
    """The same with literals."""
    remaining: Iterator[Translation]
    """The other translations of the first search, with symbols."""
    later: list[Translation] = field(default_factory=list)
    """The same with literals, then the translations of later searches."""

    def choose(self) -> Translation:
        """Return the translation with the fewest breaches, then the most probable.

        Translations that are much less probable than the first are ignored.
        """
        best = self.first[0]
        if not best.breaches:
            return best
        margin = FLAWED_MARGIN if any(map(is_flaw, best.breaches)) else MARGIN
        likely = (each for each in (*self.first, *self.later) if each.score >= best.score - margin)
        return min((best, *likely), key=rank)

    def list_best(self) -> list[Translation]:
        """Return as many translations as the first search, the chosen one first.

        They have the outer quotation marks of the line, and character references if it has some.
        """
        best, line = self.choose(), self.line
        if best is self.first[0] and not (line.is_unquoted or line.is_escaped):
            return self.first
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
    """Return the sort key: number of breaches, number of lost literals, then the score."""
    breaches = translation.breaches
    return len(breaches), sum(map(is_loss, breaches)), -translation.score


def is_loss(breach: Breach) -> bool:
    """Return whether a literal of the source, or its unit, is missing in the translation."""
    return breach.problem in {"missing", "unit"}


@dataclass(frozen=True)
class ProtectedSearch:
    """A search that keeps the literals of lines as far as possible."""

    protector: Protector
    search: Callable[[Sequence[Tokenized], BeamConfig], list[Iterator[Translation]]]
    """Returns translations of lines, best first."""
    config: BeamConfig
    """Settings of the search, which returns all its hypotheses for repairs."""
    n_best: int
    """Number of translations to return."""
    repairs: bool
    """Whether to search again for lines that lost literals; False for lines with prefixes."""

    def run(self, lines: Sequence[str | Tokenized]) -> list[list[Translation]]:
        """Return the translations of lines, best first; lines without words need no search."""
        protector = self.protector
        protected = [protector.protect(line, unquoted=self.repairs) for line in lines]
        figures = [protector.write_figures(line) if self.repairs else None for line in protected]
        worded = [line for line, own in zip(protected, figures, strict=True) if own is None]
        raw = self.search([line.text for line in worded], self.config) if worded else []
        repairs = []
        for line, several in zip(worded, raw, strict=True):
            best = [*islice(several, self.n_best)]
            finished = [protector.finish(line, each) for each in best]
            repairs.append(_Repair(line, best, finished, several))
        if breached := [repair for repair in repairs if repair.choose().breaches]:
            self._repair(breached)
        repaired = iter(repairs)
        return [next(repaired).list_best() if own is None else [own] for own in figures]

    def _repair(self, repairs: Sequence[_Repair]) -> None:
        """Search again for lines whose best translation has breaches."""
        for repair in repairs:
            finish, line = self.protector.finish, repair.line
            repair.later += (finish(line, each) for each in repair.remaining)
        if self.repairs:
            self._search_masked([repair for repair in repairs if repair.has(is_loss)])
            for size in WITHOUT_LOOPS:
                flawed = [(repair, repair.line) for repair in repairs if repair.has(is_flaw)]
                self._search_again(flawed, size)
                self._search_masked([repair for repair in repairs if repair.has(is_flaw)], size)
        for repair in repairs:
            if repair.has(is_loss):
                repair.later.append(self.protector.insert_lost_literals(repair.line, repair.raw[0]))

    def _search_masked(self, repairs: Sequence[_Repair], ngram_size: int | None = None) -> None:
        """Add translations of lines with symbols for numbers and terms, if that changes a line."""
        masked = [(r, self.protector.mask_all(r.line, r.choose().breaches)) for r in repairs]
        changed = [(r, line) for r, line in masked if line.text.line != r.line.text.line]
        self._search_again(changed, ngram_size)

    def _search_again(
        self, lines: Sequence[tuple[_Repair, ProtectedLine]], ngram_size: int | None
    ) -> None:
        """Add translations of these lines, optionally without repeated n-grams of a size."""
        if not lines:
            return
        config = self.config
        if ngram_size is not None:
            config = config.model_copy(update={"no_repeat_ngram_size": ngram_size})
        raw = self.search([line.text for _, line in lines], config)
        for (repair, line), several in zip(lines, raw, strict=True):
            repair.later += (self.protector.finish(line, each) for each in several)
