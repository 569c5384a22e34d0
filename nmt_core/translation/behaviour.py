"""Behaviour of a translator on sentences without references: what changes when a source changes.

A sentence is translated as it is and with a change, such as another number or a placeholder put in.
The translation must change there and nowhere else (Ribeiro et al. 2020, section 2.2: invariance and
directional expectations).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import regex
from numpy.random import Generator

from nmt_core.base.binomial import find_share_interval
from nmt_core.base.config import Config
from nmt_core.base.random import make_generator
from nmt_core.data.modifiers import (
    Capitals,
    Lines,
    Lower,
    Modifier,
    NoAccents,
    Title,
    TypingErrors,
)
from nmt_core.literals.finding import find_literals
from nmt_core.literals.masking import insert_word
from nmt_core.text.side import Tokenized
from nmt_core.translation.repairing import is_loss
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator

AS_THEY_COME = "literals as they come"
"""Name of the row of lines without a change."""

CONFIDENCE = 0.95

_DIGITS = regex.compile(r"\d+")
_WORD = regex.compile(r"(?<![\p{L}\p{M}\p{Nd}])\p{L}{4,}(?![\p{L}\p{M}\p{Nd}])")


@dataclass(frozen=True)
class Probe:
    """A change of a source line, and the part of its translation that must not change."""

    name: str
    change: Callable[[str, str, Generator], str]
    """Returns a line of a language with a random change; an empty one if nothing can change."""
    changes_literals: bool = False
    """True if the translation's literals may change; else its case may."""

    def reduce(self, translation: str, language: str) -> str:
        """Return the part of a translation that must be as without the change."""
        if self.changes_literals:
            return cut_literals(translation, language)
        return translation.casefold()


def redraw_digits(line: str, _language: str, draw: Generator) -> str:
    """Return a line with other digits in the place of all."""
    changed = _DIGITS.sub(lambda match: draw_number(len(match[0]), draw), line)
    return changed if changed != line else ""


def insert_literal(literal: str, line: str, _language: str, draw: Generator) -> str:
    """Return a line with a literal at a random place, as a word of its own."""
    return insert_word(line, float(draw.random()), literal)


def modify(modifier: Modifier, line: str, _language: str, draw: Generator) -> str:
    """Return a line as a modifier of training pairs changes it."""
    changed = modifier.modify(Lines(line, ""), draw).source
    return changed if changed != line else ""


def mistype_word(line: str, language: str, draw: Generator) -> str:
    """Return a line with a typing error in a word of four letters or more."""
    words = [*_WORD.finditer(line)]
    if not words:
        return ""
    word = words[int(draw.integers(len(words)))]
    mistyped = TypingErrors(language).mistype(word[0], draw)
    return line[: word.start()] + mistyped + line[word.end() :] if mistyped != word[0] else ""


_INSERTED = {
    "a placeholder, {name}": "{name}",
    "a placeholder, %1$s": "%1$s",
    "an address": "https://example.org/a?b=1",
    "an e-mail": "info@example.org",
    "a code, A4-0317/98": "A4-0317/98",
    "an emoji": "\N{GRINNING FACE}",
}

PROBES: tuple[Probe, ...] = (
    Probe("digits drawn anew", redraw_digits, changes_literals=True),
    *(
        Probe(name, partial(insert_literal, literal), changes_literals=True)
        for name, literal in _INSERTED.items()
    ),
    *(
        Probe(modifier.name.replace("_", " "), partial(modify, modifier))
        for modifier in (Capitals(), Title(), Lower(), NoAccents())
    ),
    Probe("a typing error", mistype_word),
)


class ProbeShare(Config):
    """Number of lines that passed, with the 95 % interval of their share by Wilson's score."""

    passed: int
    total: int
    low: float
    high: float

    @classmethod
    def count(cls, passed: Sequence[bool]) -> "ProbeShare":
        """Count lines, of which there is one at least."""
        low, high = find_share_interval(sum(passed), len(passed), CONFIDENCE)
        return cls(passed=sum(passed), total=len(passed), low=low, high=high)

    def describe(self) -> str:
        """Return the share as ``98.0 % (96.1 to 99.0)``."""
        share = self.passed / self.total
        return f"{share * 100:.1f} % ({self.low * 100:.1f} to {self.high * 100:.1f})"


class Behaviour(Config):
    """Results of the lines that a probe could change."""

    kept: ProbeShare
    """Those whose literals came through."""
    same: ProbeShare | None
    """Those whose translations are otherwise as without the change; None of lines without one."""

    def cells(self, name: str) -> list[str]:
        """Return a row of a table: name, lines and both shares."""
        same = self.same.describe() if self.same else ""
        return [name, f"{self.kept.total:,}", self.kept.describe(), same]


def probe_translator(
    translator: Translator,
    lines: Sequence[str],
    *,
    seed: int,
    plain: Sequence[Translation] | None = None,
    most: int | None = None,
    probes: Sequence[Probe] = PROBES,
) -> dict[str, Behaviour]:
    """Return how a translator behaves, by probe; one that changes no line is left out.

    Args:
        translator: of known languages.
        lines: source sentences.
        seed: of the changes.
        plain: the translations of the lines, if they are known.
        most: limit of lines that each probe changes; None for all that it can.
        probes: changes to try.
    """
    assert translator.languages is not None
    source, target = translator.languages.codes
    if plain is None:
        plain = search_best(translator, lines)
    kept = [
        not any(map(is_loss, best.breaches))
        for line, best in zip(lines, plain, strict=True)
        if find_literals(line, source)
    ]
    behaviour = {AS_THEY_COME: Behaviour(kept=ProbeShare.count(kept), same=None)} if kept else {}
    changed = {probe: dict(change_lines(probe, lines, source, seed, most)) for probe in probes}
    translated = iter(
        search_best(translator, [line for own in changed.values() for line in own.values()])
    )
    for probe, own in changed.items():
        after = {number: next(translated) for number in own}
        same = [
            probe.reduce(best.text, target) == probe.reduce(plain[number].text, target)
            for number, best in after.items()
        ]
        if after:
            kept = [not any(map(is_loss, best.breaches)) for best in after.values()]
            behaviour[probe.name] = Behaviour(
                kept=ProbeShare.count(kept), same=ProbeShare.count(same)
            )
    return behaviour


def search_best(translator: Translator, lines: Sequence[str | Tokenized]) -> list[Translation]:
    """Return the best translation of each line."""
    return [best for [best] in translator.search(lines, n_best=1, probabilities=False)]


def change_lines(
    probe: Probe, lines: Sequence[str], language: str, seed: int, most: int | None
) -> Iterator[tuple[int, str]]:
    """Yield the numbers of lines that a probe can change, drawn at random, and their change."""
    order = make_generator(seed, probe.name).permutation(len(lines)).tolist()
    changed = (
        (number, line)
        for number in order
        if (line := probe.change(lines[number], language, make_generator(seed, probe.name, number)))
    )
    return islice(changed, most)


def draw_number(digits: int, draw: Generator) -> str:
    """Return a random number of so many digits, the first of which is not zero."""
    first, *rest = draw.integers(10, size=digits).tolist()
    return "".join(map(str, [first or 1, *rest]))


def cut_literals(line: str, language: str) -> str:
    """Return a line without its literals, and with single spaces."""
    for literal in reversed(find_literals(line, language)):
        line = f"{line[: literal.start]} {line[literal.end :]}"
    return regex.sub(r" ([.,;:!?])", r"\1", " ".join(line.split()))
