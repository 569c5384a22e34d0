"""Reads a grammar from text; the head of ``grammar.txt`` explains the format."""

import re
from collections.abc import Iterator
from itertools import product
from typing import NoReturn

from stages.demo.grammar import (
    LANGUAGES,
    Alternative,
    Call,
    Forms,
    Grammar,
    GrammarError,
    Reference,
    Side,
    Slot,
    Template,
    Values,
    is_word,
    list_calls,
)

FREE = ("lemma", "antecedent")
"""Features with any value: the word that a phrase is about, and that a clause is about."""

Layout = list[tuple[str, dict[str, str], int]]
"""Section and features that have the form with this number."""

_RANGE = re.compile(r"\d+\.\.\d+")
_TOKEN = re.compile(r"[^\s\[]+(?:\[[^\[\]]*\])?")
_SLOT = re.compile(r"(\w+)(\*?):([\w.]+)(?:\[(.*)\])?")
_SECTION = re.compile(r"(?:^|\s)/ ([\w,]+):")
_PIECE = re.compile(r"(~?)(?:\{([\w.]+)\}|([^{}~]+))")


def read_grammar(text: str) -> Grammar:
    """Read a grammar.

    Raises:
        GrammarError: if a line breaks the rules of the format.
    """
    return _Reader().read(text)


class _Reader:
    def __init__(self) -> None:
        self.place = ""
        self.features: dict[str, Values] = {name: frozenset() for name in FREE}
        self.groups: dict[str, Values] = {}
        self.feature_of: dict[str, str] = {}
        self.symbols: dict[str, list[Alternative]] = {}
        self.sections = {""}

    def fail(self, sentence: str) -> NoReturn:
        raise GrammarError(f"{self.place}: {sentence}")

    def read(self, text: str) -> Grammar:
        block, shared = "", ""
        layouts: dict[str, list[Layout]] = {}
        constructions: set[str] = set()
        spelling: dict[str, list[tuple[str, str]]] = {name: [] for name in LANGUAGES}
        for self.place, line in _join_lines(text):
            if line[0] != " ":
                left, *columns = (column.strip() for column in line.split("|"))
                block, _, shared = left.removesuffix("]").partition(" [")
                if columns:
                    layouts[block] = [self.read_layout(column) for column in columns]
            elif block == "features":
                self.read_feature(line)
            elif block == "combinations":
                constructions.update(line.split())
            elif block in LANGUAGES:
                pattern, _, replacement = line.strip().partition(" =>")
                spelling[block].append((pattern, replacement.strip()))
            else:
                layout = layouts.get(block, [[], []])
                entries = [self.read_entry(entry, shared, layout) for entry in line.split(";")]
                self.symbols.setdefault(block, []).extend(entries)
        for alternative in (
            alternative for alternatives in self.symbols.values() for alternative in alternatives
        ):
            self.check(alternative)
        return Grammar(self.symbols, frozenset(constructions), spelling)

    def check(self, alternative: Alternative) -> None:
        """Check that all that an alternative mentions is there."""
        self.place = alternative.place
        for slot in alternative.slots.values():
            if slot.symbol not in self.symbols and not _RANGE.fullmatch(slot.symbol):
                self.fail(f"{slot.symbol!r} is no symbol; write a block for it")
        for name, _, section, _ in list_calls(alternative):
            single = [is_word(symbol) for symbol in self.symbols.get(name, [])] == [True]
            if name and name not in alternative.slots and not single:
                self.fail(f"{name!r} is no slot, and no symbol of a single word; write one")
            if section and section not in self.sections:
                self.fail(f"{section!r} is no section, and no value of a feature; declare it")

    def read_feature(self, line: str) -> None:
        name, sign, listed = (part.strip() for part in re.split("([:=])", line, maxsplit=1))
        values = listed.split()
        (self.features if sign == ":" else self.groups)[name] = frozenset(values)
        for value in values if sign == ":" else []:
            if value in self.features or self.feature_of.setdefault(value, name) != name:
                self.fail(f"{value!r} names something else, too; rename it")

    def read_layout(self, text: str) -> Layout:
        layout: Layout = []
        for number, group in enumerate(text.split()):
            for key in group.split(","):
                for labels in product(*(label.split("/") for label in key.split("."))):
                    features, section = self.read_labels(*labels)
                    self.sections.add(section or "")
                    layout.append((section or "", features, number))
        return layout

    def read_labels(self, *labels: str) -> tuple[dict[str, str], str | None]:
        """Split labels into values of features and the name of a section."""
        sections = [label for label in labels if label not in self.feature_of]
        if len(sections) > 1:
            self.fail(f"of {' and '.join(sections)} one must be the value of a feature; declare it")
        features = {self.feature_of[label]: label for label in labels if label in self.feature_of}
        return features, sections[0] if sections else None

    def read_entry(self, entry: str, shared: str, layouts: list[Layout]) -> Alternative:
        left, *texts = (column.strip() for column in entry.split("|"))
        if len(texts) < len(LANGUAGES):
            if not re.search("[:=]", left):  # words, without features or slots
                left, texts = "", [left, *texts]
            elif not texts:
                texts = [" ".join(f"{{{slot}}}" for slot in re.findall(r"\b(\w+)\*?:\w", left))]
            texts = [texts[0], texts[-1]]
        alternative = self.read_left(left, shared)
        head = next((f"{{{name}}}" for name, slot in alternative.slots.items() if slot.head), "")
        columns = list(zip(texts, layouts, strict=True))
        alternative.sides = [
            self.read_forms(text, layout) if layout else self.read_sections(text, head)
            for text, layout in columns
        ]
        if is_word(alternative) and all(texts):
            first = (text.split()[0] if layout else text for text, layout in columns)
            alternative.features["lemma"] = frozenset([" ".join(first)])
        return alternative

    def read_left(self, left: str, shared: str) -> Alternative:
        """Return an alternative by its first column, with the shared part of its block."""
        alternative = Alternative(self.place)
        unnamed = [name for name in shared.split() if "=" not in name]
        for token in [*(part for part in shared.split() if "=" in part), *_TOKEN.findall(left)]:
            name, sign, value = token.partition("=")
            if token.isdigit():
                alternative.weight = int(token)
            elif slot := _SLOT.fullmatch(token):
                parts = [part.partition("=") for part in (slot[4] or "").split()]
                asked = {k: self.read_value(k, v or k, alternative) for k, _, v in parts}
                fixed = {k: v for k, v in asked.items() if isinstance(v, frozenset)}
                common = {k: v for k, v in asked.items() if isinstance(v, Reference)}
                alternative.slots[slot[1]] = Slot(slot[3], bool(slot[2]), fixed, common)
            elif sign or unnamed:
                name, value = (name, value) if sign else (unnamed.pop(0), token)
                read = self.read_value(name.rstrip(":"), value, alternative)
                if isinstance(read, frozenset) and not name.endswith(":"):
                    alternative.features[name] = read
                else:
                    alternative.settings[name.rstrip(":")] = read
            else:
                self.fail(f"{token!r} is no weight, feature=value or slot:symbol; write one")
        if unnamed:
            self.fail(f"{unnamed[0]} is missing; write it in the first column")
        return alternative

    def read_value(self, name: str, text: str, alternative: Alternative) -> Values | Reference:
        slot, dot, feature = text.rpartition(".")
        if dot and slot not in alternative.slots:
            self.fail(f"{slot!r} is no slot that is drawn before; move it to the front")
        for key in (name, feature if dot else name):
            if key not in self.features:
                self.fail(f"{key!r} is no feature; write one of {' '.join(self.features)}")
        if dot or feature in self.features:
            return Reference(slot, feature)
        values = frozenset().union(*(self.groups.get(key, {key}) for key in text.split(",")))
        if strange := values - self.features[name]:
            known = " ".join(sorted(self.features[name]))
            self.fail(f"{' '.join(sorted(strange))} is no {name}; write one of {known}")
        return values

    def read_forms(self, text: str, layout: Layout) -> Side:
        words: list[str] = []
        for word in text.split():
            ending = word[1:] if word[0] == "-" else None  # of the first form; "-" alone is no form
            whole = word if ending is None else words[0] + ending if ending else ""
            words.append(whole.replace("_", " "))
        if len(words) != layout[-1][-1] + 1:
            self.fail(f"{text!r} has {len(words)} forms, its block {layout[-1][-1] + 1}; write all")
        forms: dict[str, Forms] = {}
        for section, features, number in layout:
            names = tuple(sorted(features))
            section_forms = forms.setdefault(section, Forms(names, {}))
            section_forms.words[tuple(features[name] for name in names)] = words[number]
        return {**forms}

    def read_sections(self, text: str, head: str) -> Side:
        default, *rest = _SECTION.split(text)
        sections: Side = {}
        if default or head or not rest:
            sections[""] = self.read_template(default or head)
        for names, said in zip(rest[::2], rest[1::2], strict=True):
            sections |= dict.fromkeys(names.split(","), self.read_template(said))
        self.sections |= sections.keys()
        return sections

    def read_template(self, text: str) -> str | Template:
        if "{" not in text:
            return " ".join(text.split())
        template: Template = []
        for word in text.split():
            pieces: list[str | Call] = []
            for lower, call, literal in _PIECE.findall(word):
                name, *labels = call.split(".")
                said = Call(name, *self.read_labels(*labels), bool(lower))
                pieces.append(said if call else literal)
            template.append(pieces)
        return template


def _join_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield lines with their places; one that is indented further belongs to that before."""
    name, joined = "", ""
    for number, whole in enumerate(text.splitlines(), start=1):
        line = whole.partition("#")[0].rstrip()
        if line.startswith("    "):
            joined += f" {line.strip()}"
        elif line:
            if joined:
                yield name, joined
            name, joined = f"line {number}", line
    yield name, joined
