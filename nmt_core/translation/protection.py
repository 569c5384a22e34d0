"""Protection of literals: symbols in their place while a model translates, and a check after it.

Names and signs that no model has learnt, such as placeholders and addresses, are symbols from the
start; numbers are only where they did not come through by themselves.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from nmt_core.literals.checking import check_literals
from nmt_core.literals.finding import KINDS, find_literals
from nmt_core.literals.kind import Literal, LiteralKind
from nmt_core.literals.masking import Masked, mask, repair, restore
from nmt_core.literals.symbols import ALL_SYMBOLS
from nmt_core.text.languages import Languages
from nmt_core.text.restoration import Restorer, has_odd_case
from nmt_core.text.side import Side, Tokenized
from nmt_core.translation.translation import Translation

_log = logging.getLogger(__name__)

SearchTexts = Callable[[Sequence[str | Tokenized], int], list[list[Translation]]]
"""Returns the best translations of texts, as many of each as are asked for."""


class ProtectedLine(NamedTuple):
    """A line as a model reads it, and what is needed to write its translation."""

    line: str
    """The line as it was given."""
    text: Tokenized
    """The line with symbols, in the ordinary case."""
    masked: Masked
    in_capitals: bool


@dataclass(frozen=True)
class Protector:
    """Makes lines ready for a model, and text of what it makes of them.

    Attributes:
        source: the source side.
        languages: of both sides.
        symbols: whether both vocabularies have symbols.
        restorer: brings odd case and missing accents to what was learnt.
        kinds: what must come through.
    """

    source: Side
    languages: Languages
    symbols: bool
    restorer: Restorer | None
    kinds: Sequence[LiteralKind] = KINDS

    @classmethod
    def of(
        cls, source: Side, target: Side, languages: Languages, restorer: Restorer | None
    ) -> "Protector":
        """Return the protector of a model."""
        sides = (source.vocabulary, target.vocabulary)
        symbols = all(symbol in side for side in sides for symbol in ALL_SYMBOLS)
        return cls(source, languages, symbols, restorer)

    def translate(
        self,
        lines: Sequence[str | Tokenized],
        translate: SearchTexts,
        n_best: int,
        most: int,
    ) -> list[list[Translation]]:
        """Return translations of lines, with their literals, as far as can be.

        Where the best one has lost some, the next of the ``most`` best that keeps them takes its
        place, or one in which symbols stand for all, or one into which symbols were put.

        Args:
            lines: what to translate.
            translate: returns the best translations of texts, as many as are asked for.
            n_best: translations to return of each.
            most: translations to ask for where the best one lost some; 0 asks for no others.
        """
        given = [self.protect(line) for line in lines]
        found = self._finish(given, translate([one.text for one in given], n_best))
        wanting = [number for number, several in enumerate(found) if choose_kept(several).breaches]
        others: Mapping[int, list[Translation]] = {}
        if wanting and most and self.symbols:
            asked = [lines[number] for number in wanting]
            others = dict(zip(wanting, self._try_again(asked, translate, most), strict=True))
        elif wanting and not self.symbols:
            warn_of_loss()
        return [
            put_first(choose_kept([*several, *others.get(number, ())]), several)
            for number, several in enumerate(found)
        ]

    def _try_again(
        self, lines: Sequence[str | Tokenized], translate: SearchTexts, most: int
    ) -> list[list[Translation]]:
        """Return other translations of lines, the more is changed for one, the later."""
        plain = [self.protect(line) for line in lines]
        masked = [self.protect(line, numbers=True) for line in lines]
        made = translate([one.text for one in (*plain, *masked)], most)
        others: list[list[Translation]] = [[] for _ in lines]
        for number, (line, several) in enumerate(zip((*plain, *masked), made, strict=True)):
            mended = several[0]._replace(text=repair(several[0].text, line.masked))
            others[number % len(lines)] += [self.finish(line, each) for each in (*several, mended)]
        return others

    def _finish(
        self, given: Sequence[ProtectedLine], found: Sequence[Sequence[Translation]]
    ) -> list[list[Translation]]:
        return [
            [self.finish(line, each) for each in several]
            for line, several in zip(given, found, strict=True)
        ]

    def protect(self, line: str | Tokenized, *, numbers: bool = False) -> ProtectedLine:
        """Return a line as the model should read it.

        Args:
            line: the line.
            numbers: put symbols in the place of numbers, too.
        """
        text = line.line if isinstance(line, Tokenized) else line
        literals = find_literals(text, self.languages.source, self.kinds) if self.symbols else []
        chosen = [one for one in literals if numbers or one.kind.symbol_class == "name"]
        masked = mask(text, chosen)
        restorer = self.restorer
        in_capitals = False
        read = masked.line
        if restorer and restorer.case and has_odd_case(read):
            in_capitals = read.isupper()
            read = restorer.restore_case(read)
        elif restorer:
            read = restorer.restore_accents(read)
        if isinstance(line, Tokenized) and read == text:
            return ProtectedLine(text, line, masked, in_capitals)
        return ProtectedLine(text, self.source.tokenize(read), masked, in_capitals)

    def finish(self, given: ProtectedLine, translation: Translation) -> Translation:
        """Return a translation with literals in the place of symbols, and what is wrong with it."""
        text = translation.text.upper() if given.in_capitals else translation.text
        text = restore(text, given.masked, self.languages.codes)
        tokens = (self._write(token, given.masked.literals) for token in translation.tokens)
        breaches = check_literals(given.line, text, self.languages.codes, self.kinds)
        return translation._replace(text=text, tokens=tuple(tokens), breaches=tuple(breaches))

    def _write(self, token: str, literals: Mapping[str, Literal]) -> str:
        literal = literals.get(token)
        return literal.kind.write(literal.text, *self.languages.codes) if literal else token


def put_first(best: Translation, several: Sequence[Translation]) -> list[Translation]:
    """Return as many translations with the best one first, in its own place no more."""
    return [best, *(each for each in several if each is not best)][: len(several)]


@cache
def warn_of_loss() -> None:
    """Say once that a model has no symbols."""
    _log.warning(
        "this model was trained without symbols for numbers, placeholders and addresses, some of "
        "which it loses; train it again to keep them"
    )


def choose_kept(candidates: Sequence[Translation]) -> Translation:
    """Return the first translation of those with the fewest breaches."""
    return min(candidates, key=lambda one: len(one.breaches))
