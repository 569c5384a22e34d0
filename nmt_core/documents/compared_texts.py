"""Texts that a workbook compares with: in formulas, lists of choices, conditions and filters."""

import html
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

FORMULA = re.compile(
    r"<(?:\w+:)?(?:f|formula[12]?|definedName|calculatedColumnFormula|totalsRowFormula)\b[^<>]*>"
    r"([^<>]+)<"
)
FILTER = re.compile(r'<(?:\w+:)?(?:filter|customFilter)\s[^<>]*?\bval="([^"<>]*)"')
"""The elements that hold formulas, and those that name the values that a filter shows."""

LITERAL = re.compile(r'"((?:[^"]++|"")*+)"?')
TAKES_APART = re.compile(
    r"\b(?:SEARCH|FIND|LEFT|RIGHT|MID|SUBSTITUTE|REPLACE|TEXT(?:BEFORE|AFTER|SPLIT))B?\(",
    re.IGNORECASE,
)
"""Functions that look at a part of a text."""

SHORTEST_PART = 2
"""Characters of a text that is looked for within others; nearly every text has a shorter one."""


class ComparedTexts:
    """Texts that must stay, since something compares with them."""

    def __init__(self, sheets: Iterable[str]) -> None:
        """Find the texts in files of a workbook."""
        self._texts: set[str] = set()
        self._patterns: set[str] = set()
        self.has_formulas = False
        for sheet in sheets:
            for formula in FORMULA.findall(sheet):
                self.has_formulas = True
                self._read_formula(html.unescape(formula))
            for value in FILTER.findall(sheet):
                self._add(html.unescape(value))

    def _read_formula(self, formula: str) -> None:
        literals = [literal.replace('""', '"') for literal in LITERAL.findall(formula)]
        is_list = LITERAL.fullmatch(formula.strip())
        for literal in literals:
            self._add(literal)
            for choice in literal.split(",") if is_list else ():
                self._add(choice)
            if TAKES_APART.search(formula) and len(literal) >= SHORTEST_PART:
                self._add(f"*{literal}*")

    def _add(self, literal: str) -> None:
        """Add a text, as ``Yes``, ``<>Yes`` or ``Yes*``, if it has letters."""
        text = literal.lstrip("<>=").strip().casefold()
        if any(map(str.isalpha, text)):
            are_wild = "*" in text or "?" in text
            (self._patterns if are_wild else self._texts).add(text.replace("[", "[[]"))

    def __contains__(self, text: str) -> bool:
        """Tell whether something compares with the text of a cell; capitals do not matter."""
        folded = text.strip().casefold()
        return folded.replace("[", "[[]") in self._texts or any(
            fnmatchcase(folded, pattern) for pattern in self._patterns
        )
