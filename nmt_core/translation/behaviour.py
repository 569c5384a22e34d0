"""Behaviour of a translator on sentences without references: what changes when a source changes.

A sentence is translated as it is and with a change, such as another number or a placeholder put in.
The translation must change there and nowhere else (Ribeiro et al. 2020, section 2.2: invariance and
directional expectations).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import islice

import regex
from numpy.random import Generator
from typing_extensions import override

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
"""Names what is asked of lines without a change."""

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


class LiteralProbe(Probe):
    """A change of literals; what of a translation is none must stay."""

    @override
    def reduce(self, translation: str, language: str) -> str:
        return cut_literals(translation, language)


class CaselessProbe(Probe):
    """A change of letters; what a translation says must stay, whatever its case."""

    @override
    def reduce(self, translation: str, language: str) -> str:
        return translation.casefold()


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


class Modified(CaselessProbe):
    """A line as a modifier of training pairs changes it."""

    def __init__(self, modifier: Modifier) -> None:
        self.name = modifier.name.replace("_", " ")
        self._modifier = modifier

    @override
    def change(self, line: str, language: str, draw: Generator) -> str:
        changed = self._modifier.modify(Lines(line, ""), draw).source
        return changed if changed != line else ""


class MistypedWord(CaselessProbe):
    """A word of four letters or more with a typing error."""

    name = "a typing error"

    @override
    def change(self, line: str, language: str, draw: Generator) -> str:
        words = [*_WORD.finditer(line)]
        if not words:
            return ""
        word = words[int(draw.integers(len(words)))]
        mistyped = TypingErrors(language).mistype(word[0], draw)
        return line[: word.start()] + mistyped + line[word.end() :] if mistyped != word[0] else ""


PROBES: tuple[Probe, ...] = (
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
    MistypedWord(),
)

_DIGITS = regex.compile(r"\d+")
_WORD = regex.compile(r"(?<![\p{L}\p{M}\p{Nd}])\p{L}{4,}(?![\p{L}\p{M}\p{Nd}])")


class ProbeShare(Config):
    """How many of some lines, with an interval by Wilson's score."""

    passed: int
    total: int
    low: float
    """The lower bound of the share, at the confidence of this file."""
    high: float
    """The upper bound."""

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
    """What became of the lines that a probe could change."""

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
        seed: decides what is drawn.
        plain: the translations of the lines, where they are known.
        most: lines that each probe changes at most; None for all that it can.
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
    found = {AS_THEY_COME: Behaviour(kept=ProbeShare.count(kept), same=None)} if kept else {}
    changed = {probe: dict(change_lines(probe, lines, source, seed, most)) for probe in probes}
    translated = iter(
        search_best(translator, [line for made in changed.values() for line in made.values()])
    )
    for probe, made in changed.items():
        after = {number: next(translated) for number in made}
        same = [
            probe.reduce(best.text, target) == probe.reduce(plain[number].text, target)
            for number, best in after.items()
        ]
        if after:
            kept = [not any(map(is_loss, best.breaches)) for best in after.values()]
            found[probe.name] = Behaviour(kept=ProbeShare.count(kept), same=ProbeShare.count(same))
    return found


def search_best(translator: Translator, lines: Sequence[str | Tokenized]) -> list[Translation]:
    """Return the best translation of each line."""
    return [best for [best] in translator.search(lines, n_best=1, probabilities=False)]


def change_lines(
    probe: Probe, lines: Sequence[str], language: str, seed: int, most: int | None
) -> Iterator[tuple[int, str]]:
    """Yield as many lines as wanted that a probe can change, changed, with their numbers."""
    order = make_generator(seed, probe.name).permutation(len(lines)).tolist()
    changed = (
        (number, line)
        for number in order
        if (line := probe.change(lines[number], language, make_generator(seed, probe.name, number)))
    )
    return islice(changed, most)


def draw_number(digits: int, draw: Generator) -> str:
    """Return a number of so many digits, of which the first is no zero."""
    first, *others = draw.integers(10, size=digits).tolist()
    return "".join(map(str, [first or 1, *others]))


def cut_literals(line: str, language: str) -> str:
    """Return a line without its literals, and with single spaces."""
    for one in reversed(find_literals(line, language)):
        line = f"{line[: one.start]} {line[one.end :]}"
    return regex.sub(r" ([.,;:!?])", r"\1", " ".join(line.split()))
