"""The page about data: what it counts, and that nothing of it is taken for HTML."""

import re

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.support.data_pages import HOSTILE, NEAR, PAIRS, describe, render

SEVERAL = {
    "one": describe("files", licence=HOSTILE),
    "two": describe("opus", weight=2.5),
    "three": describe("europarl", train=2),
    "four": describe("files", weight=0.0),
    "replay-five": describe("files", train=0),
}
SHOWN = HOSTILE.replace("\0", "\ufffd").replace("\x1b", "\ufffd")


def parse(page):
    return LexborHTMLParser(page)


def cells(row):
    return [cell.text() for cell in row.css("th, td")]


def table(tree, caption):
    return next(one for one in tree.css("table") if one.css_first("caption").text() == caption)


@pytest.mark.parametrize("corpora", [{"one": SEVERAL["one"]}, SEVERAL], ids=["one", "several"])
def test_every_corpus_has_its_section_and_every_link_leads_to_one(corpora):
    tree = parse(render(corpora))
    sections = {one.attributes["id"]: one for one in tree.css("section[id]")}

    assert [*corpora] == [*sections]
    assert {f"#{name}" for name in corpora} == {a.attributes["href"] for a in tree.css("a")}
    for name, section in sections.items():
        assert name == section.css_first("h2").text()
        assert corpora[name]["kind"] == section.css_first("dd").text()
        reasons = {cells(row)[0]: cells(row)[1:] for row in section.css("tr")}
        assert ["4", "0", "0"] == reasons["also in test"]
        assert ["0", "0", "1"] == reasons["empty side"]


def test_hostile_text_is_shown_and_never_obeyed():
    pairs = [(HOSTILE, HOSTILE), (f"{HOSTILE} {HOSTILE}", "x"), ("</style></bdi>", "<!--")]
    page = render(SEVERAL, pairs=pairs)
    plain = parse(render({name: describe("files") for name in SEVERAL}, near={}))
    tree = parse(page)

    tags = {one.tag for one in tree.css("*")}
    assert {one.tag for one in plain.css("*")} == tags
    assert not {"script", "img", "iframe", "link"} & tags
    assert [] == [key for one in tree.css("*") for key in one.attributes if key.startswith("on")]
    assert not {*map(chr, (*range(9), *range(11, 32), 127))} & {*page}
    quotes = [one.text() for one in tree.css("bdi")]
    assert quotes.count(SHOWN) >= 3
    assert "</style></bdi>" in quotes
    assert "<!--" in quotes
    origins = [cells(row)[0] for row in table(tree, "Files it came from").css("tbody tr")]
    assert [f"https://files.example/{SHOWN}"] == origins


def test_nothing_is_asked_of_others():
    page = render(SEVERAL)
    tree = parse(page)
    attributes = [text or "" for one in tree.css("*") for text in one.attributes.values()]

    assert not [text for text in attributes if "//" in text]
    assert not re.search(r"@import|url\(|//", tree.css_first("style").text())
    policy = tree.css_first("meta[http-equiv]").attributes["content"]
    assert policy.startswith("default-src 'none'")


def test_the_same_metrics_make_the_same_page():
    assert render(SEVERAL) == render(SEVERAL)


def test_another_language_than_expected_is_marked():
    swapped = [pair[::-1] for pair in PAIRS]

    assert not parse(render(SEVERAL)).css(".wrong")
    marked = [
        one.text() for one in parse(render({"one": describe("files")}, pairs=swapped)).css(".wrong")
    ]
    assert ["not de", "not en"] == [text.split("; ")[-1] for text in marked]


def test_near_duplicates_are_shown_beside_what_they_are_near():
    rows = table(parse(render(SEVERAL)), "Examples").css("tbody tr")

    assert [[*map(str, one.values())] for one in NEAR["examples"]][1:] == [*map(cells, rows)][1:]
    assert ["test", SHOWN, PAIRS[0][0], "2"] == cells(rows[0])
    assert not parse(render(SEVERAL, near={})).css("section:not([id]) bdi")


def test_examples_of_what_was_left_out_are_shown_by_reason():
    rows = table(parse(render({"one": describe("files")})), "Examples left out").css("tbody tr")

    assert [["duplicate", *PAIRS[2]], ["length ratio", "Ja.", f"Yes {SHOWN}"]] == [
        *map(cells, rows)
    ]


def test_pictures_and_tables_can_be_heard():
    tree = parse(render(SEVERAL))

    assert 2 * len(SEVERAL) == len(tree.css("svg"))
    assert all(one.attributes["role"] == "img" for one in tree.css("svg"))
    assert all("median" in one.attributes["aria-label"] for one in tree.css("svg"))
    assert all(one.attributes["scope"] in ("row", "col") for one in tree.css("th"))
    assert all(one.css_first("caption").text() for one in tree.css("table"))
