"""Terms in training pairs: translated already, or symbols on both sides.

What stands in the place of a term is its translation between two marks, which the model learns to
take over, inflected as the sentence needs (Song et al. 2019, section 3; Dinu et al. 2019).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import regex
from numpy.random import Generator
from typing_extensions import override

from nmt_core.data.modifiers import Lines, Modifier
from nmt_core.literals.stems import find_stem
from nmt_core.literals.symbols import SYMBOLS, TERM_MARKS

MOST_TERMS = 2
"""Terms of a pair."""
LONGEST = 3
"""Words of a term."""
AS_SYMBOLS = 0.5
"""Share of the terms for which symbols stand on both sides."""
INFLECTED = 0.3
"""Share of the other terms of which the source has another form than the target."""

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]+")
_TERM = regex.compile(r"[\p{L}\p{M} -]+")


class WordSpan(NamedTuple):
    """A word of a line."""

    text: str
    start: int
    end: int


class TermModifier(Modifier):
    """Terms that are translated, as a glossary wants it.

    Args:
        translations: words of the target language by words of the source language.
        target: code of the target language.
    """

    name = "terms"

    def __init__(self, translations: Mapping[str, Sequence[str]], target: str) -> None:
        self._translations = translations
        self._language = target
        forms: dict[str, set[str]] = defaultdict(set)
        for words in translations.values():
            for word in words:
                forms[find_stem(word, target)].add(word)
        self._forms = {stem: sorted(those) for stem, those in forms.items()}

    @override
    def modify(self, lines: Lines, draw: Generator) -> Lines:
        words = [[WordSpan(m[0], *m.span()) for m in _WORD.finditer(line)] for line in lines]
        links = self._link(*words)
        symbols = iter(draw.permutation(SYMBOLS["name"]).tolist())
        taken: set[int] = set()
        changes: list[tuple[tuple[int, int, str], tuple[int, int, str] | None]] = []
        for first in draw.permutation([*links]).tolist()[:MOST_TERMS]:
            found = choose_span(links, first, 1 + int(draw.integers(LONGEST)))
            (a, b), (c, d) = (
                (side[span[0]].start, side[span[-1]].end)
                for side, span in zip(words, found, strict=True)
            )
            if taken & {*found[0]} or not _TERM.fullmatch(lines.source[a:b] + lines.target[c:d]):
                continue
            taken |= {*found[0]}
            if draw.random() < AS_SYMBOLS:
                symbol = next(symbols)
                changes.append(((a, b, symbol), (c, d, symbol)))
            else:
                form = self._inflect(lines.target[c:d], draw)
                changes.append(((a, b, form.join(TERM_MARKS)), None))
        source = replace_spans(lines.source, [change for change, _ in changes])
        return Lines(source, replace_spans(lines.target, [c for _, c in changes if c]))

    def _link(self, source: Sequence[WordSpan], target: Sequence[WordSpan]) -> dict[int, int]:
        """Return the target word of each source word whose translation the pair has once."""
        there: dict[str, list[int]] = defaultdict(list)
        for number, word in enumerate(target):
            there[word.text].append(number)
        counts = Counter(word.text for word in source)
        links = {}
        for number, word in enumerate(source):
            known = self._translations.get(word.text, ())
            places = [place for form in known for place in there.get(form, ())]
            if len(places) == counts[word.text] == 1:
                links[number] = places[0]
        meant = Counter(links.values())
        return {one: other for one, other in links.items() if meant[other] == 1}

    def _inflect(self, text: str, draw: Generator) -> str:
        """Return a translation, at times in another form of its last word."""
        begin, space, last = text.rpartition(" ")
        forms = self._forms.get(find_stem(last, self._language), [last])
        if draw.random() < INFLECTED:
            last = forms[int(draw.integers(len(forms)))]
        return begin + space + last


def choose_span(links: Mapping[int, int], first: int, length: int) -> tuple[list[int], list[int]]:
    """Return neighbouring source words from one on, and those that they are linked with.

    Both are neighbours among themselves; where so many words are not, only the first is taken.
    """
    source = [number for number in range(first, first + length) if number in links]
    target = sorted(links[number] for number in source)
    whole = len(source) == length and target[-1] - target[0] == length - 1
    return (source, target) if whole else ([first], [links[first]])


def replace_spans(line: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """Return a line with other text in the place of spans that do not overlap."""
    for start, end, text in sorted(changes, reverse=True):
        line = line[:start] + text + line[end:]
    return line
