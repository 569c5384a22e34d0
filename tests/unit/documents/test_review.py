"""Doubts are reported alike in all formats, and a review file is imported as corrections."""

import pytest

from nmt_core.base.languages import Languages
from nmt_core.corpora.formats.opening import read_pair_file
from nmt_core.documents.review import (
    RESTORED,
    UNKNOWN,
    list_doubts,
    report_doubts,
    summarize_doubts,
    write_review,
)
from nmt_core.literals.checking import Breach
from tests.support.commands import run
from tests.support.echoes import Answer

DE_EN = Languages(source="de", target="en")
LOST = Breach("number", "94", "94", "missing")


@pytest.mark.parametrize(
    ("answer", "doubts"),
    [
        (Answer("x", confidence=0.5), []),
        (Answer("x", confidence=0.49), ["confidence 0.49"]),
        (Answer("x", breaches=(LOST, LOST)), ["missing 94"]),
        (Answer("x", restored_words=("Haus", "da")), [f"{RESTORED}: Haus, da"]),
        (Answer("x", confidence=None, unknown_words=(*"abcdefghijkl",)),
         [f"{UNKNOWN}: a, b, c, d, e, f, g, h, i, j and 2 more"]),
        (Answer("x", confidence=0.9, unknown_words=("Eule",)), []),
        (Answer("x", confidence=None), []),
    ],
)  # fmt: skip
def test_doubts_are_named(answer, doubts):
    assert list_doubts(answer, 0.5) == doubts


def test_summary_names_segments():
    lost, remembered = Answer("x", breaches=(LOST,)), Answer("x", origin="memory")
    assert summarize_doubts({1: Answer("x"), 2: remembered}, 0.5) == ""
    assert [*report_doubts({1: Answer("x"), 2: lost, 3: remembered}, 0.5)] == [
        "1 of 3 segments needs review: segment 2: missing 94",
        "1 of 3 segments from the memory",
    ]
    many = summarize_doubts(dict.fromkeys(range(1, 13), lost), 0.5, "line")
    assert many.startswith("12 of 12 lines need review: line 1: missing 94; line 2: ")
    assert many.endswith("line 10: missing 94 and 2 more")


def test_only_corrected_segments_are_imported(tmp_path):
    path = tmp_path / "review.xlf"
    segments = [
        ("Der <Rat> \x01& %1", Answer("The <Council> & %1", confidence=0.2)),
        ("Das Haus.", Answer("The house.", breaches=(LOST,))),
        ("Ja.", Answer("Yes.", origin="memory")),
    ]
    write_review(path, {"letter.docx": segments, "b.txt": []}, DE_EN.codes, 0.5)
    assert [*read_pair_file(path, DE_EN)] == []

    text = path.read_text()
    assert text.count('state="needs-review-translation"') == 2
    for note in ("confidence 0.20", "missing 94", "memory"):
        assert f">{note}</note>" in text
    text = text.replace(">The house.<", ">The home.<", 1)
    path.write_text(text.replace('<trans-unit id="3">', '<trans-unit id="3" approved="yes">'))
    assert [*read_pair_file(path, DE_EN)] == [("Das Haus.", "The home."), ("Ja.", "Yes.")]
    imported = run(
        *("corrections", "import", path, "--journal", tmp_path / "journal"),
        *("--languages", "de-en", "--approved"),
    )
    assert imported.stdout == "imported: 2\n"
