"""Synchronous grammars: one derivation gives a sentence in each of two languages."""

import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import NamedTuple

LANGUAGES = ("German", "English")

Values = frozenset[str]
Features = Mapping[str, Values]


class Combination(NamedTuple):
    """Two words, given by their first forms in both languages, and their construction."""

    construction: str
    head: str
    dependent: str


class Reference(NamedTuple):
    """The values of a feature of a slot, or of the whole rule without a slot."""

    slot: str
    feature: str


class Slot(NamedTuple):
    """A symbol in a rule, with the required features of its expansion."""

    symbol: str
    head: bool
    asked: dict[str, Values]
    shared: dict[str, Reference]
    """Features whose values equal those of another slot or of the whole."""


class Call(NamedTuple):
    """A reference to a slot or word; ``section`` None is the current section."""

    name: str
    features: dict[str, str]
    section: str | None
    lower: bool


class Forms(NamedTuple):
    """Inflected forms by the values of some features."""

    features: tuple[str, ...]
    words: dict[tuple[str | None, ...], str]


Template = list[list[str | Call]]
"""Words, each a list of literal text and calls."""
Side = dict[str, str | Forms | Template]
"""Text by section; "" is the default section."""


@dataclass
class Alternative:
    """One way to expand a symbol: a rule with slots, or a word."""

    weight: int = 1
    features: dict[str, Values] = field(default_factory=dict)
    """Required features of its head."""
    settings: dict[str, Values | Reference] = field(default_factory=dict)
    """Its own features, independent of its head."""
    slots: dict[str, Slot] = field(default_factory=dict)
    sides: list[Side] = field(default_factory=list)
    word: "Node | None" = None
    """Its expansion, if it is a word."""


class Node(NamedTuple):
    """An expanded symbol."""

    alternative: Alternative
    children: dict[str, "Node"]
    features: Features
    marks: dict[str, str]
    """Features with a single value that select inflected forms."""


class DeadEndError(Exception):
    """No alternative has the required features."""


class Grammar:
    """A synchronous grammar: symbols with their alternatives."""

    def __init__(
        self,
        symbols: dict[str, list[Alternative]],
        constructions: Values,
        spelling: dict[str, list[tuple[str, str]]],
    ) -> None:
        """Create a grammar from the alternatives of each symbol.

        ``constructions`` are slots whose word forms a combination with the head of the whole.
        ``spelling`` has regular expressions with replacements, by language.
        """
        self.symbols = symbols
        self._constructions = constructions
        self._spelling = [
            [(re.compile(pattern), replacement) for pattern, replacement in spelling[language]]
            for language in LANGUAGES
        ]
        alternatives = [choice for listed in symbols.values() for choice in listed]
        bodies = [
            body for choice in alternatives for side in choice.sides for body in side.values()
        ]
        forms = [body for body in bodies if isinstance(body, Forms)]
        self._marked = {name for body in forms for name in body.features}
        for choice in alternatives:
            if is_word(choice):
                choice.word = Node(choice, {}, choice.features, self._mark(choice.features))
        slots = [slot for choice in alternatives for slot in choice.slots.values()]
        asked = {name for slot in slots for name in (*slot.asked, *slot.shared)}
        asked.update(name for choice in alternatives if choice.slots for name in choice.features)
        self._fitting: dict[str, tuple[list[str], dict[tuple[Values | None, ...], Choice]]] = {}
        for symbol in symbols:
            self._list_features(symbol, asked)

    def draw(self, random: Random, symbol: str = "sentence", **asked: Values) -> Node:
        """Draw a derivation.

        Raises:
            DeadEndError: if no alternative fits a rule.
        """
        return self._draw(symbol, asked, random)

    def combinations(self, node: Node) -> Iterator[Combination]:
        """Yield the combinations of words in a derivation."""
        for name, child in node.children.items():
            if name in self._constructions:
                for head in node.features.get("lemma", ()):
                    for dependent in child.features.get("lemma", ()):
                        yield Combination(name, head, dependent)
            yield from self.combinations(child)

    def say(self, node: Node) -> tuple[str, str]:
        """Return the sentences of a derivation, in German and in English."""
        texts = [self._say(node, side, node.marks, "") for side in range(len(LANGUAGES))]
        for side, rules in enumerate(self._spelling):
            for pattern, replacement in rules:
                texts[side] = pattern.sub(replacement, texts[side])
        source, target = (text[:1].upper() + text[1:] for text in texts)
        return source, target

    def _draw(self, symbol: str, asked: Features, random: Random) -> Node:
        if ".." in symbol:
            low, high = map(int, symbol.split(".."))
            number = str(low + int(random.random() * (high - low + 1)))
            return Node(Alternative(sides=[{"": number}] * 2), {}, {}, {})
        names, known = self._fitting[symbol]
        fitting, totals = known.get(tuple(map(asked.get, names))) or self._fit(symbol, asked)
        while fitting:
            pick = bisect(totals, int(random.random() * totals[-1]))
            if word := fitting[pick].word:
                return word
            try:
                return self._expand(fitting[pick], asked, random)
            except DeadEndError:
                fitting, totals = _sum_weights(fitting[:pick] + fitting[pick + 1 :])
        raise DeadEndError(symbol)

    def _fit(self, symbol: str, asked: Features) -> "Choice":
        """Return the alternatives with the required features, down to the word at their head."""
        names, known = self._fitting[symbol]
        key = tuple(map(asked.get, names))
        if key not in known:
            known[key] = _sum_weights([o for o in self.symbols[symbol] if self._agrees(o, asked)])
        return known[key]

    def _agrees(self, alternative: Alternative, asked: Features) -> bool:
        try:
            whole = {**asked, **_meet(alternative.features, asked)}
            for slot in alternative.slots.values():
                if slot.head:
                    rest = {k: v for k, v in whole.items() if k not in alternative.settings}
                    return bool(self._fit(slot.symbol, {**rest, **_meet(slot.asked, rest)})[0])
        except DeadEndError:
            return False
        return True

    def _list_features(self, symbol: str, asked: set[str]) -> list[str]:
        """Return the features that select alternatives of a symbol, including those of heads."""
        if symbol not in self._fitting:
            features: set[str] = set()
            for alternative in self.symbols[symbol]:
                features |= alternative.features.keys() & asked
                for slot in alternative.slots.values():
                    features.update(self._list_features(slot.symbol, asked) if slot.head else ())
            self._fitting[symbol] = sorted(features), {}
        return self._fitting[symbol][0]

    def _expand(self, alternative: Alternative, asked: Features, random: Random) -> Node:
        """Draw the slots in order; features required of the whole are required of its head, too."""
        own = alternative.features
        features = whole = {**asked, **_meet(own, asked)} if own else asked
        nodes: dict[str, Node] = {}
        for name, slot in alternative.slots.items():
            wanted: Features = slot.asked
            if slot.shared:
                wanted = {**wanted, **_resolve(slot.shared, whole, nodes)}
            if slot.head:
                rest = whole
                if not alternative.settings.keys().isdisjoint(whole):
                    rest = {k: whole[k] for k in whole if k not in alternative.settings}
                wanted = {**rest, **_meet(wanted, rest)} if wanted else rest
            nodes[name] = self._draw(slot.symbol, wanted, random)
            if slot.head:
                features = {**whole, **nodes[name].features}
        if alternative.settings:
            settings = _resolve(alternative.settings, whole, nodes)
            features = {**features, **_meet(settings, asked)}
        return Node(alternative, nodes, features, self._mark(features))

    def _mark(self, features: Features) -> dict[str, str]:
        marks = {}
        for name in self._marked & features.keys():
            if len(features[name]) == 1:
                (marks[name],) = features[name]
        return marks

    def _say(self, node: Node, side: int, marks: dict[str, str], section: str) -> str:
        sections = node.alternative.sides[side]
        body = sections[section] if section in sections else sections.get("")
        if isinstance(body, str):
            return body
        if isinstance(body, list):
            return self._say_words(body, node, side, marks, section)
        assert body is not None, (section, node.alternative)
        return body.words[tuple(map(marks.get, body.features))]

    def _say_words(
        self, words: Template, node: Node, side: int, marks: dict[str, str], section: str
    ) -> str:
        """Return the text of a template; other slots than the head use their own features."""
        said = []
        slots = node.alternative.slots
        for word in words:
            text = ""
            for piece in word:
                if isinstance(piece, str):
                    text += piece
                    continue
                name, features, named, lower = piece
                child, own = node, marks
                if name in slots:
                    child = node.children[name]
                    if child.marks and not slots[name].head:
                        own = {**own, **child.marks}
                elif name:
                    child = self.symbols[name][0].word or node
                if features:
                    own = {**own, **features}
                part = self._say(child, side, own, section if named is None else named)
                text += part[:1].lower() + part[1:] if lower else part
            if text:
                said.append(text)
        return " ".join(said).replace(" ?", "?")  # the words before the mark may be empty


Choice = tuple[list[Alternative], list[int]]
"""Alternatives with their cumulative weights."""


def is_word(alternative: Alternative) -> bool:
    """Return whether an alternative refers to no other symbol."""
    return not alternative.slots and not list_calls(alternative)


def list_calls(alternative: Alternative) -> list[Call]:
    """Return the references of an alternative to other symbols."""
    bodies = [body for side in alternative.sides for body in side.values()]
    words = [word for body in bodies if isinstance(body, list) for word in body]
    return [part for word in words for part in word if isinstance(part, Call)]


def _sum_weights(alternatives: list[Alternative]) -> Choice:
    return alternatives, list(accumulate(alternative.weight for alternative in alternatives))


def _resolve(
    asked: Mapping[str, Values | Reference], whole: Features, nodes: Mapping[str, Node]
) -> dict[str, Values]:
    """Return features with references replaced by values; unknown references are omitted."""
    values = {}
    for name, own in asked.items():
        if isinstance(own, frozenset):
            values[name] = own
        else:
            source = nodes[own.slot].features if own.slot else whole
            if own.feature in source:
                values[name] = source[own.feature]
    return values


def _meet(own: Features, asked: Features) -> dict[str, Values]:
    """Return the values that both allow, for each feature in ``own``."""
    met = dict(own)
    for name, values in own.items():
        if name in asked:
            met[name] = values & asked[name]
            if not met[name]:
                raise DeadEndError(name)
    return met
