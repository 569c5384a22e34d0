"""Repairs correct text that a program has damaged and keep valid text."""

import pytest

from nmt_core.corpora.repairs import REPAIRS, repair_line

ALL = [*REPAIRS]


@pytest.mark.parametrize(
    ("line", "repaired", "made"),
    [
        ("a &quot;b&quot; &#39;c&#x27;", "a \"b\" 'c'", ["entities"]),
        ("Salt &amp;amp; Pepper", "Salt & Pepper", ["entities"]),
        ("5&nbsp;€", "5\N{NO-BREAK SPACE}€", ["entities"]),
        ("<p>Das ist <b>gut</b>.</p>", "Das ist gut.", ["tags"]),
        ("Eins<br/>zwei <a href='x' class=y>drei</a>", "Eins zwei drei", ["tags"]),
        ("H<sub>2</sub>O", "H2O", ["tags"]),
        ('<g id="1">Text</g>', "Text", ["tags"]),
        ("&lt;i&gt;kursiv&lt;/i&gt;", "kursiv", ["entities", "tags"]),
        ("fÃ¼r", "für", ["mojibake"]),
        ("<b>fÃ¼r &amp;</b>", "für &", ["mojibake", "entities", "tags"]),
        *(
            (line, line, [])
            for line in (
                "AT&T; R & D; &notit; &foo; ?a=1&copy=2",
                "x < y and y > z, 1 <2> 3, a<b",
                "Hallo <name>, <unk> <EMAIL> <terms>sie</terms>",
                "été», «Ä. À",
                "",
            )
        ),
    ],
)
def test_repairs_correct_damage_and_keep_valid_text(line, repaired, made):
    assert repair_line(line, ALL) == (repaired, made)
    assert repair_line(repaired, ALL) == (repaired, [])
    assert repair_line(line, []) == (line, [])


@pytest.mark.parametrize("line", ["<a " * 20000, "<a b=" * 20000, "&amp" * 20000, "<" * 50000])
def test_hostile_lines_are_read_in_linear_time(line):
    assert repair_line(line, ALL) == (line, [])
