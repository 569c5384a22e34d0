"""Read a grammar from text; the head of ``grammar.txt`` explains the format."""

import re
from collections.abc import Iterator
from itertools import product

from stages.demo.grammar import (
    LANGUAGES,
    Alternative,
    Call,
    Forms,
    Grammar,
    Reference,
    Side,
    Slot,
    Template,
    Values,
    is_word,
)

FREE = ("lemma", "antecedent")
"""Features with any value: the main word of a phrase, and the antecedent of a clause."""

Layout = list[tuple[str, dict[str, str], int]]
"""Section and features of a form, and the number of the form."""

_TOKEN = re.compile(r"[^\s\[]+(?:\[[^\[\]]*\])?")
_SLOT = re.compile(r"(\w+)(\*?):([\w.]+)(?:\[(.*)\])?")
_SECTION = re.compile(r"(?:^|\s)/ ([\w,]+):")
_PIECE = re.compile(r"(~?)(?:\{([\w.]+)\}|([^{}~]+))")


def read_grammar(text: str) -> Grammar:
    """Return the grammar of a text; the format is not checked, because it ships with the code."""
    return _Reader().read(text)


class _Reader:
    def __init__(self) -> None:
        self.features: dict[str, Values] = {name: frozenset() for name in FREE}
        self.groups: dict[str, Values] = {}
        self.feature_of: dict[str, str] = {}
        self.symbols: dict[str, list[Alternative]] = {}

    def read(self, text: str) -> Grammar:
        block, shared = "", ""
        layouts: dict[str, list[Layout]] = {}
        constructions: set[str] = set()
        spelling: dict[str, list[tuple[str, str]]] = {name: [] for name in LANGUAGES}
        for line in _join_lines(text):
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
        return Grammar(self.symbols, frozenset(constructions), spelling)

    def read_feature(self, line: str) -> None:
        name, sign, listed = (part.strip() for part in re.split("([:=])", line, maxsplit=1))
        values = listed.split()
        (self.features if sign == ":" else self.groups)[name] = frozenset(values)
        if sign == ":":
            self.feature_of |= dict.fromkeys(values, name)

    def read_layout(self, text: str) -> Layout:
        layout: Layout = []
        for number, group in enumerate(text.split()):
            for key in group.split(","):
                for labels in product(*(label.split("/") for label in key.split("."))):
                    features, section = self.read_labels(*labels)
                    layout.append((section or "", features, number))
        return layout

    def read_labels(self, *labels: str) -> tuple[dict[str, str], str | None]:
        """Split labels into values of features and the name of a section."""
        sections = [label for label in labels if label not in self.feature_of]
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
        alternative = Alternative()
        unnamed = [name for name in shared.split() if "=" not in name]
        for token in [*(part for part in shared.split() if "=" in part), *_TOKEN.findall(left)]:
            name, sign, value = token.partition("=")
            if token.isdigit():
                alternative.weight = int(token)
            elif slot := _SLOT.fullmatch(token):
                parts = [part.partition("=") for part in (slot[4] or "").split()]
                asked = {k: self.read_value(v or k) for k, _, v in parts}
                fixed = {k: v for k, v in asked.items() if isinstance(v, frozenset)}
                common = {k: v for k, v in asked.items() if isinstance(v, Reference)}
                alternative.slots[slot[1]] = Slot(slot[3], bool(slot[2]), fixed, common)
            else:
                name, value = (name, value) if sign else (unnamed.pop(0), token)
                read = self.read_value(value)
                if isinstance(read, frozenset) and not name.endswith(":"):
                    alternative.features[name] = read
                else:
                    alternative.settings[name.rstrip(":")] = read
        return alternative

    def read_value(self, text: str) -> Values | Reference:
        slot, dot, feature = text.rpartition(".")
        if dot or feature in self.features:
            return Reference(slot, feature)
        return frozenset().union(*(self.groups.get(key, {key}) for key in text.split(",")))

    def read_forms(self, text: str, layout: Layout) -> Side:
        words: list[str] = []
        for word in text.split():
            ending = word[1:] if word[0] == "-" else None  # of the first form; "-" alone is no form
            whole = word if ending is None else words[0] + ending if ending else ""
            words.append(whole.replace("_", " "))
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


def _join_lines(text: str) -> Iterator[str]:
    """Yield lines without comments; a line with a deeper indentation continues the previous."""
    joined = ""
    for whole in text.splitlines():
        line = whole.partition("#")[0].rstrip()
        if line.startswith("    "):
            joined += f" {line.strip()}"
        elif line:
            if joined:
                yield joined
            joined = line
    yield joined
