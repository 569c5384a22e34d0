"""Accelerators of labels come through, and what is no accelerator stays as it was."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.documents.accelerators import (
    ACCELERATORS,
    LONGEST_LABEL,
    Accelerator,
    find_accelerator,
    mark_accelerator,
)
from nmt_core.documents.formats import FORMATS
from nmt_core.documents.messages import read_message
from tests.support.echoes import shout, show_passages

LABELS = {
    "&Datei": ("&", "D", "Datei"),
    "Ein&fügen": ("&", "f", "Einfügen"),
    "Ö&ffnen": ("&", "f", "Öffnen"),
    "Speichern &unter...": ("&", "u", "Speichern unter..."),
    "Suchen && &ersetzen": ("&", "e", "Suchen && ersetzen"),
    "&1 Fenster": ("&", "1", "1 Fenster"),
    "_Datei": ("_", "D", "Datei"),
    "Speichern _unter": ("_", "u", "Speichern unter"),
    "(_Ändern)": ("_", "Ä", "(Ändern)"),
}
NONE = [
    *("R&D", "Q&A und mehr", "Tom & Jerry", "Tom &amp; Jerry", "&#39;x", "&&Datei", "Datei&"),
    *("&Datei &Bild", "&Datei _Bild", "a=b&c", "http://x.de?a&b", "1&b", "x_y", "_a_", "__a", "_1"),
    *("Drag&Drop", "Suchen&Ersetzen im Text", "$_GET", "&" + "a" * LONGEST_LABEL),
]


@pytest.mark.parametrize("label", LABELS)
def test_a_sign_before_a_letter_is_an_accelerator(label):
    sign, letter, plain = LABELS[label]
    assert find_accelerator(label, ACCELERATORS) == (Accelerator(sign, letter), plain)
    assert find_accelerator(label, {*ACCELERATORS} - {sign}) is None
    assert show_passages(read_message(label, ACCELERATORS)) == show_passages(
        read_message(plain, "")
    )


@pytest.mark.parametrize("text", NONE)
def test_other_signs_are_none(text):
    assert find_accelerator(text, ACCELERATORS) is None
    assert find_accelerator("&" + "a" * (LONGEST_LABEL - 1), ACCELERATORS)


@pytest.mark.parametrize(
    ("label", "letter", "marked"),
    [
        ("File", "F", "&File"),
        ("Open file", "f", "Open &file"),
        ("Insert", "f", "&Insert"),
        ("Refer", "f", "Re&fer"),
        ("one off, five", "F", "one off, &five"),
        ("%s Stück", "s", "%s &Stück"),
        ("%s", "s", "%s(&S)"),
        ("...", "D", "(&D)..."),
        ("文件...", "d", "文件(&D)..."),
        ("文件", "1", "文件(&1)"),
        ("File", "文", "&File"),
        ("文件", "ф", "&文件"),
        ("Äpfel", "ä", "&Äpfel"),
    ],
)
def test_the_same_letter_is_chosen_or_else_the_first(label, letter, marked):
    assert mark_accelerator(label, Accelerator("&", letter)) == marked


@given(st.text("abÄ文 .%s1", max_size=12), st.sampled_from("aÄ1文"), st.sampled_from("&_"))
def test_a_label_is_as_it_was_but_for_the_sign(label, letter, sign):
    marked = mark_accelerator(label, Accelerator(sign, letter))
    assert marked.count(sign) <= 1
    plain = marked.replace(f"({sign}{letter.upper()})", "").replace(sign, "")
    assert plain == label


def test_labels_of_files_keep_theirs():
    assert shout(read_message("&Datei öffnen")) == "&DATEI ÖFFNEN"
    po = FORMATS.load("po").read(
        b'msgid ""\nmsgstr ""\n\nmsgid "Speichern _unter"\nmsgstr ""\n', ("de", "en")
    )
    assert show_passages(po) == ["Speichern unter"]
    assert 'msgstr "SPEICHERN _UNTER"' in shout(po).decode()
    strings = FORMATS.load("json").read(b'{"open": "\\u00d6&ffnen", "id": "_blank"}', ("de", "en"))
    assert show_passages(strings) == ["Öffnen", "_blank"]
    assert json.loads(shout(strings)) == {"open": "Ö&FFNEN", "id": "_BLANK"}
