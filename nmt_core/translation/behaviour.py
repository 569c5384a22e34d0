"""Behaviour of a translator on sentences without references: what changes when a source changes.

A sentence is translated as it is and with a change, such as another number or a placeholder put in.
The translation must change there and nowhere else (Ribeiro et al. 2020, section 2.2: invariance and
directional expectations).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex
from numpy.random import Generator
from scipy.stats import binomtest
from typing_extensions import override

from nmt_core.base.random import make_generator
from nmt_core.data.modifiers import Capitals, Lines, Lower, Modifier, NoAccents, Title
from nmt_core.literals.finding import find_literals
from nmt_core.literals.masking import insert_word
from nmt_core.translation.translator import Translator

CONFIDENCE = 0.95


class Probe(ABC):
    """A change of a source line, and what of its translation must not change."""

    name: str
    """What a person calls it."""

    @abstractmethod
    def change(self, line: str, language: str, draw: Generator) -> str:
        """Return a line with the change, or an empty one if it has nothing to change."""

    def reduce(self, translation: str, language: str) -> str:
        """Return what of a translation must be as without the change."""
        del language
        return translation


class Unchanged(Probe):
    """Lines with literals as they are."""

    name = "literals as they come"

    @override
    def change(self, line: str, language: str, draw: Generator) -> str:
        return line if find_literals(line, language) else ""


class LiteralProbe(Probe):
    """A change of literals; what of a translation is none must stay."""

    @override
    def reduce(self, translation: str, language: str) -> str:
        return cut_literals(translation, language)


class Redrawn(LiteralProbe):
    """Other digits in the place of all."""

    name = "digits drawn anew"

    @override
    def change(self, line: str, language: str, draw: Generator) -> str:
        changed = _DIGITS.sub(lambda match: draw_number(len(match[0]), draw), line)
        return changed if changed != line else ""


class Inserted(LiteralProbe):
    """A literal put in at a random place, as a word of its own."""

    def __init__(self, name: str, literal: str) -> None:
        self.name = name
        self._literal = literal

    @override
    def change(self, line: str, language: str, draw: Generator) -> str:
        return insert_word(line, float(draw.random()), self._literal)


class Modified(Probe):
    """A line as a modifier of training pairs changes it."""

    def __init__(self, modifier: Modifier) -> None:
        self.name = modifier.name.replace("_", " ")
        self._modifier = modifier

    @override
    def change(self, line: str, language: str, draw: Generator) -> str:
        changed = self._modifier.modify(Lines(line, ""), draw).source
        return changed if changed != line else ""

    @override
    def reduce(self, translation: str, language: str) -> str:
        return translation.casefold()


PROBES: tuple[Probe, ...] = (
    Unchanged(),
    Redrawn(),
    Inserted("a placeholder, {name}", "{name}"),
    Inserted("a placeholder, %1$s", "%1$s"),
    Inserted("an address", "https://example.org/a?b=1"),
    Inserted("an e-mail", "info@example.org"),
    Inserted("a code, A4-0317/98", "A4-0317/98"),
    Inserted("an emoji", "\N{GRINNING FACE}"),
    Modified(Capitals()),
    Modified(Title()),
    Modified(Lower()),
    Modified(NoAccents()),
)

_DIGITS = regex.compile(r"\d+")


class ProbeShare(NamedTuple):
    """How many of some lines, with an interval by Wilson's score."""

    passed: int
    total: int

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of the share, at the confidence of this file."""
        found = binomtest(self.passed, self.total).proportion_ci(CONFIDENCE, method="wilson")
        return float(found.low), float(found.high)


class Behaviour(NamedTuple):
    """What became of the lines that a probe could change."""

    probe: str
    kept: ProbeShare
    """Those whose literals came through."""
    same: ProbeShare
    """Those whose translations are otherwise as without the change."""


def probe_translator(
    translator: Translator, lines: Sequence[str], *, seed: int, probes: Sequence[Probe] = PROBES
) -> Iterator[Behaviour]:
    """Yield how a translator behaves, probe by probe; one that changes no line is left out.

    Args:
        translator: of known languages.
        lines: source sentences.
        seed: decides what is drawn.
        probes: changes to try.
    """
    assert translator.languages is not None
    source, target = translator.languages.codes
    plain = translator.translate(lines)
    for probe in probes:
        changed = {
            number: line
            for number, before in enumerate(lines)
            if (line := probe.change(before, source, make_generator(seed, probe.name, number)))
        }
        if changed:
            found = translator.search([*changed.values()], n_best=1, probabilities=False)
            kept = sum(not best.breaches for [best] in found)
            same = sum(
                probe.reduce(best.text, target) == probe.reduce(plain[number], target)
                for number, [best] in zip(changed, found, strict=True)
            )
            yield Behaviour(
                probe.name, ProbeShare(kept, len(changed)), ProbeShare(same, len(changed))
            )


def draw_number(digits: int, draw: Generator) -> str:
    """Return a number of so many digits, of which the first is no zero."""
    first, *others = draw.integers(10, size=digits).tolist()
    return "".join(map(str, [first or 1, *others]))


def cut_literals(line: str, language: str) -> str:
    """Return a line without its literals, and with single spaces."""
    for one in reversed(find_literals(line, language)):
        line = f"{line[: one.start]} {line[one.end :]}"
    return regex.sub(r" ([.,;:!?])", r"\1", " ".join(line.split()))
