"""Pages of reports: their values, and no text is read as HTML."""

import re
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from nmt_core.base import files
from stages.reporting.data_page import read_examples, render_data_page
from stages.reporting.download_report import DownloadReport
from stages.reporting.pages import (
    MAX_CHARACTERS,
    JudgedSentence,
    choose_shown,
    judge_sentences,
    render_pipe_table,
    render_template,
)
from tests.support.data_pages import HOSTILE, NEAR, PAIRS, describe, gather
from tests.support.data_pages import render as render_data
from tests.support.run_pages import (
    LANGUAGES,
    MEASURED,
    SENTENCES,
    TRAINING,
    judge,
    make_confidence,
    render,
)

SHOWN = HOSTILE.replace("\0", "\ufffd").replace("\x1b", "\ufffd")
SEVERAL = {
    "one": describe("files", licence=HOSTILE),
    "two": describe("opus", weight=2.5),
    "replay-five": describe("files", train=0),
}


def parse(page):
    return LexborHTMLParser(page)


def facts(node):
    """Return the facts by name."""
    terms, values = ([one.text() for one in node.css(f"dl {tag}")] for tag in ("dt", "dd"))
    return dict(zip(terms, values, strict=True))


def rows(table):
    return [[cell.text().strip() for cell in row.css("th, td")] for row in table.css("tr")]


def tables(node):
    return {table.css_first("caption").text(): table for table in node.css("table")}


def numbers(table):
    return [cell.text() for cell in table.css("thead th.number")]


# all pages


PAGES = {
    "run": (render, lambda: render(sentences=SENTENCES)),
    "data": (
        lambda: render_data(SEVERAL, pairs=[(HOSTILE, "</style></bdi>"), ("x", "<!--")]),
        lambda: render_data({name: describe("files") for name in SEVERAL}, near={}),
    ),
}


@pytest.mark.parametrize("name", PAGES)
def test_hostile_text_is_shown_and_never_run(name):
    hostile, plain = (make() for make in PAGES[name])
    tree = parse(hostile)
    tags = {node.tag for node in tree.css("*")}
    attributes = [item for node in tree.css("*") for item in node.attributes.items()]

    assert SHOWN in tree.text() or SHOWN in " ".join(one.text() for one in tree.css("bdi"))
    assert tags == {node.tag for node in parse(plain).css("*")}
    assert not {"script", "iframe", "link"} & tags
    assert not [key for key, value in attributes if key.startswith("on") or "://" in (value or "")]
    assert not {*map(chr, (*range(9), *range(11, 32), 127))} & {*hostile}


@pytest.mark.parametrize("name", PAGES)
def test_pages_load_nothing_and_are_accessible(name):
    page = PAGES[name][0]()
    tree = parse(page)
    policy = tree.css_first("meta[http-equiv]").attributes["content"]

    assert page == PAGES[name][0]()
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert not re.search(r"@import|url\(|//", tree.css_first("style").text())
    assert len(tree.css("h1")) == len(tree.css("title")) == len(tree.css("main")) == 1
    assert all(section.css_first("h2").text() for section in tree.css("section"))
    assert all(cell.attributes["scope"] in ("row", "col") for cell in tree.css("th"))
    assert all(table.css_first("caption").text() for table in tree.css("table"))
    for table in tree.css(".wide"):
        assert table.attributes["tabindex"] == "0"
        assert table.attributes["aria-label"] == table.css_first("caption").text()
    for picture in tree.css("img"):
        assert picture.attributes["alt"]
        assert picture.attributes["src"].startswith("data:image/png;base64,")


@pytest.mark.parametrize(
    "sign", [*"\0\x08\x0b\x1f\x7f\x9f\ud800\udfff\ufffe\uffff", *"\t\n a\u202e"]
)
def test_invalid_characters_of_pages_are_replaced(sign):
    page = render_template("base.html", title=sign)
    assert (f"<title>{sign}</title>" in page) is (sign in "\t\n a\u202e")


# the report of a run


def test_report_starts_with_verdict_and_worst_sentences():
    tree = parse(render())
    worst = [node.text() for node in tree.css("#verdict ol.worst li")]

    assert "Report of a run, de to en" == tree.css_first("title").text()
    assert tree.css_first("body").text().strip().startswith(judge().summary)
    assert TRAINING["fingerprint"] == tree.css_first("header p code").text()
    assert "400 test sentences" in tree.css_first("header p").text()
    assert len(worst) == 10
    assert SHOWN in worst[0]
    assert "line 1, chrF 41" in worst[1]
    names = ["verdict", "scores", "slices", "confidence", "translations", "training"]
    assert [node.attributes["id"] for node in tree.css("section")] == [*names, "text"]


@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize("remarks", [judge(good=10).remarks, ()])
def test_verdict_shows_its_remarks(ready, remarks):
    verdict = judge().model_copy(update={"ready": ready, "remarks": remarks})
    tree = parse(render(verdict=verdict))
    listed = tree.css("#verdict .remarks li")

    assert tree.css_first("h1").attributes["class"] == f"verdict {'ready' if ready else 'wrong'}"
    assert [node.text() for node in listed] == [f"{r.what} {r.advice}" for r in remarks]
    assert [node.css_first("strong") is not None for node in listed] == [r.blocks for r in remarks]


def test_every_section_of_a_run_names_its_command():
    for section in parse(render()).css("section"):
        commands = [node.text() for node in section.css("code")]
        assert commands, section.attributes["id"]
        for name in re.findall(
            r"--force (\w+)|dvc repro (\w+)$", "\n".join(commands), re.MULTILINE
        ):
            assert Path(f"stages/{''.join(name)}.py").exists()


def test_tables_of_a_run_contain_its_metrics():
    tree = parse(render())
    found = tables(tree)

    assert rows(found["On the test set"])[1:] == [
        ["BLEU", "31.0", "29.5 to 32.5", "BLEU|nrefs:1"],
        ["chrF", "55.0", "54.0 to 56.0", "chrF2|nrefs:1"],
    ]
    assert facts(tree.css_first("#scores")) == {
        "perplexity": "7.50",
        "length ratio": "0.980",
        "unknown source words": "1.00%",
        "literals kept": "49 of 50",
        "empty": "0",
        "copied": "0",
        "looping": "1",
        "too long": "0",
        "detached full stop": "0",
    }
    slices = found["Groups of similar sentences, with 95 % intervals"]
    assert rows(slices) == [
        ["Sentences", "number", "BLEU", "chrF"],
        ["with a number, date or time", "60", "30.0 (27.0 to 33.0)", "54.0 (52.0 to 56.0)"],
        ["with a name", "0", "none", "none"],
        ["all", "400", "31.0 (29.5 to 32.5)", "55.0 (54.0 to 56.0)"],
    ]
    assert numbers(slices) == ["number"]
    assert rows(found["Removed pairs"]) == [
        ["Reason", "train", "validation", "test"],
        ["also in train", "0", "0", "1"],
        ["duplicate", "3", "0", "0"],
    ]
    assert [len(rows(found[name])) for name in ("At random", "Best", "Worst")] == [11] * 3
    training = facts(tree.css_first("#training"))
    assert (training["target tokens"], training["validation loss"]) == ("31,149", "4.390")


def test_sentences_have_marks_languages_and_scores():
    tree = parse(render(sentences=[JudgedSentence(1234, "a b", "c d", "c e", 41.6)]))
    table = tables(tree)["Worst"]

    assert rows(table)[1:] == [["1,234", "a b", "c d", "c e", "42"]]
    assert numbers(table) == ["chrF"]
    quotes = [(node.attributes["lang"], node.text()) for node in table.css("bdi")]
    assert quotes == [("de", "a b"), ("en", "c d"), ("en", "c e")]
    lines = [node.text() for node in tree.css("ol.worst li div")]
    assert lines == ["a b", "translated: c e", "reference: c d", "line 1,234, chrF 42"]


@pytest.mark.parametrize(
    ("confidence", "table"),
    [
        (MEASURED["confidence"], None),
        (make_confidence(none=True), None),
        (make_confidence(), [["Confidence", "sentences", "good"], ["0.55", "1,200", "0.50"]]),
    ],
)
def test_confidence_is_shown_if_known(confidence, table):
    section = parse(render(MEASURED | {"confidence": confidence})).css_first("#confidence")
    text = section.text()

    assert [rows(one) for one in section.css("table")] == ([table] if table else [])
    assert ("200 validation sentences" in text) is ("missing" in confidence)
    assert ("curve of 0.80" in text) is bool(table)


def test_removed_pairs_are_absent_without_a_download():
    assert "Removed pairs" in render()
    assert "Removed pairs" not in render(download=None)


def test_learning_curve_is_embedded():
    [picture] = parse(render()).css("#training img")
    assert picture.attributes["src"] == "data:image/png;base64,iVBORw=="


# sentences


def sentence(number, score=50.0, reference="r"):
    return JudgedSentence(number, f"s {number}", reference, "h", score)


def test_sentences_are_sorted_by_score_length_and_place():
    some = [sentence(3), sentence(1), sentence(2, reference="long"), sentence(4, score=60.0)]
    shown = choose_shown(some, 1)
    assert [s.number for s in shown["Worst"]] == [2, 1, 3, 4]
    assert [s.number for s in shown["Best"]] == [4, 2, 1, 3]
    many = [sentence(number) for number in range(1, 41)]
    assert {len(chosen) for chosen in choose_shown(many, 1).values()} == {10}
    assert choose_shown(many, 1) == choose_shown(many, 1) != choose_shown(many, 2)


def test_each_sentence_is_scored_alone():
    sentences = judge_sentences(
        ["eins", "zwei"], ["abcdefgh", "b"], ["abcdefgh", ""], language="en"
    )
    assert [(s.number, s.source, s.reference) for s in sentences] == [
        (1, "eins", "abcdefgh"),
        (2, "zwei", "b"),
    ]
    assert [s.score for s in sentences] == pytest.approx([100, 0])


# Markdown


def test_pipe_tables_have_a_rule_for_each_column():
    lines = ["| a | b |", "| --- | ---: |", "| 1 | 2 |"]
    assert render_pipe_table(["a", "b"], [["1", "2"]]) == lines


# the page about data


def make_page(names=("own",), near=NEAR, **more):
    examples = [("eins", "one"), ("x" * (MAX_CHARACTERS + 1), "y" * MAX_CHARACTERS)]
    corpora = {name: describe(name, train=12345, weight=2.5) for name in names}
    report = DownloadReport.parse(gather(corpora, near) | more)
    return parse(render_data_page(report, dict.fromkeys(names, examples), LANGUAGES))


def test_a_corpus_has_its_facts_and_tables():
    section = make_page().css_first("section[id=own]")
    found = tables(section)

    assert facts(section) == {
        "kind": "own",
        "licence": "own",
        "train": "12,345",
        "validation": "2",
        "test": "1",
        "removed": "8",
        "weight": "2.5",
        "share": "100.0%",
    }
    assert rows(found["Removed pairs"])[1] == ["also in test", "4", "0", "0"]
    assert rows(found["Examples of pairs"]) == [
        ["Pair", "de", "en"],
        ["1", "eins", "one"],
        ["2", f"{'x' * MAX_CHARACTERS} …", "y" * MAX_CHARACTERS],
    ]
    assert rows(found["Examples of removed pairs"])[1:] == [
        ["duplicate", *PAIRS[2]],
        ["length ratio", "Ja.", f"Yes {SHOWN}"],
    ]
    assert rows(found["Source files"])[1] == [f"https://own.example/{SHOWN}", "12", "0a"]
    assert [node.text() for node in section.css("li")] == [SHOWN]


@pytest.mark.parametrize("names", [("own",), ("own", "web")])
def test_corpora_are_added_up(names):
    tree = make_page(names)
    table = tables(tree)["Pairs of each corpus"]
    share = f"{100 / len(names):.1f}%"
    own = [[name, "own", "12,345", "2", "1", "8", "2.5", share] for name in names]
    total = [["all", "", "24,690", "4", "2", "16", "", ""]] * (len(names) > 1)

    assert rows(table)[1:] == own + total
    assert numbers(table) == ["train", "validation", "test", "removed", "weight", "share"]
    links = [node.attributes["href"] for node in tree.css("nav a")]
    assert links == [f"#{name}" for name in names] * (len(names) > 1)
    assert (
        f"{12345 * len(names):,} for train, {2 * len(names)} for" in tree.css_first("header").text()
    )


NEWS = {"licence": "own", "language": "en", "lines": 7777, "removed": {"too_long": 5}}
WEB = NEWS | {"removed": {}}


@pytest.mark.parametrize(
    ("more", "caption", "expected"),
    [
        ({"repaired": {"a": 1234}, "noticed": {"B_c": 2}}, "Repairs and findings",
         [["a", "1,234"], ["b c", "2"]]),
        ({"repaired": {}, "noticed": {}}, "Repairs and findings", None),
        ({"near": {}}, "Examples", None),
        ({"monolingual": {"news": NEWS, "more": NEWS}}, "Removed lines", [["too long", "10"]]),
        ({"monolingual": {"web": WEB}}, "Removed lines", None),
        ({"monolingual": {"web": WEB, "news": NEWS}}, "Lines of each corpus",
         [["web", "own", "en", "7,777", "0"], ["news", "own", "en", "7,777", "5"]]),
    ],
)  # fmt: skip
def test_other_tables_contain_the_counts(more, caption, expected):
    found = tables(make_page(**more))
    assert (caption in found) is (expected is not None)
    assert expected is None or rows(found[caption])[1:] == expected


@pytest.mark.parametrize(
    ("pairs", "sentences", "counts"),
    [
        (1, 1, ["1 pair ", "1 sentence in test", "3 in validation"]),
        (1200, 2, ["1,200 pairs ", "2 sentences in test", "3 in validation"]),
    ],
)
def test_near_duplicates_are_counted(pairs, sentences, counts):
    near = NEAR | {"pairs": pairs, "test_sentences": sentences, "validation_sentences": 3}
    tree = make_page(near=near)
    text = " ".join(tree.text().split())
    assert all(count in text for count in counts)
    assert rows(tables(tree)["Examples"])[1] == ["test", SHOWN, PAIRS[0][0], "2"]


def test_examples_are_spread_over_each_corpus(tmp_path):
    for side in ("source", "target"):
        lines = [f"{side} {number}" for number in range(15)]
        files.write_lines(tmp_path / f"train.{side}", lines)
    examples = read_examples(tmp_path, {"one": 2, "none": 0, "many": 13})

    rows = {name: [int(one.split()[1]) for one, _ in pairs] for name, pairs in examples.items()}
    assert rows == {"one": [0, 1], "none": [], "many": [2, 5, 8, 11]}
    assert examples["one"][0] == ("source 0", "target 0")
