"""Terms of a glossary in a translation; links say which words they replace."""

import re
from types import SimpleNamespace

import pytest

from nmt_core.literals.finding import find_literals
from nmt_core.literals.glossary import Glossary
from nmt_core.translation.protection import match_case, replace_terms

LANGUAGES = ("de", "en")
TERMS = {"Rat": ("Board",), "Hof": ("High Tribunal",), "Amt": ("the Office",)}


@pytest.mark.parametrize(
    ("source", "translation", "links", "expected"),
    [
        ("Der Rat tagt", "The Council meets", [0, 1, 2], "The Board meets"),
        ("Rat und Rat", "Council and Council", [0, 1, 2], "Board and Board"),
        ("Der Hof tagt", "The Court of Justice meets", [0, 1, 1, 1, 2], "The High Tribunal meets"),
        ("Des Hofs Rat", "The Court's Council", [0, 1, 2], "The High Tribunal's Board"),
        ("Im Amt", "In the office", [0, 0, 1], "In the Office"),
        ("Hof!", "Court of Justice!", [0, 0, 0, 1], "High Tribunal!"),
        ("Der Rat", "THE COUNCIL", [0, 1], "THE BOARD"),
        ("Neuer Rat", "It has met", [-1, -1, 0], "It has met"),
        ("Rat der Stadt", "the Council city Council", [1, 0, 2, 0], "the Council city Council"),
        ("Rat der Stadt", "city Council", [2, 0], "city Board"),
        ("", "", [], ""),
    ],
)
def test_a_term_replaces_its_linked_words(source, translation, links, expected):
    finders = Glossary(TERMS, LANGUAGES).finders
    terms = find_literals(source, "de", finders)
    aligner = SimpleNamespace(trace=lambda _: [links])
    assert replace_terms(source, translation, terms, aligner) == expected


@pytest.mark.parametrize(
    ("line", "form", "cased"),
    [
        ("Board x", "the panel", "The panel"),
        ("x Board", "the panel", "the panel"),
        ("board x", "the panel", "the panel"),
        ("x BOARD", "the panel", "THE PANEL"),
        ("I x", "the panel", "The panel"),
        ("x I", "the panel", "the panel"),
    ],
)
def test_a_form_takes_the_replaced_words_case(line, form, cased):
    replaced = re.search("board|I", line, re.IGNORECASE)
    assert match_case(form, replaced[0], begins=not replaced.start()) == cased
