"""Pages of reports read back whole: each fact, cell and heading, in order, and no other."""

from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest
from selectolax.lexbor import LexborHTMLParser

from nmt_core.corpora.statistics import CorpusStatistics, Distribution, SideStatistics
from nmt_core.training.budget import Budget
from nmt_core.training.schedule import WarmupDecay
from stages.reporting import bill, data_page, run_page, run_report
from stages.reporting.contest_page import render_contest_page
from stages.reporting.data_page import MOST_CHARACTERS, render_data_page
from stages.reporting.judged import JudgedSentence, choose_best, choose_changed, choose_worst
from stages.reporting.learning_rate import trace_learning_rate
from stages.reporting.marked_text import MOST_LINKED, MOST_WORDS, mark_difference, mark_source
from stages.reporting.removed_table import tabulate_removed
from stages.reporting.run_report import MOST_COUNTED, count_training_words, link_shown
from stages.reporting.sentence_tables import list_sentences, tabulate_changes, tabulate_sentences
from tests.support.data_pages import NEAR, describe, gather
from tests.support.run_pages import (
    DOWNLOAD,
    LANGUAGES,
    MEASURED,
    SENTENCES,
    TRAINING,
    judge,
    render,
)


def parse(page):
    return LexborHTMLParser(page)


def facts(node):
    """Return what a list of facts says, by name."""
    terms = [one.text() for one in node.css("dl dt")]
    assert node.css("dl dd + dt") == []  # a term stands before what it means
    return dict(zip(terms, [one.text() for one in node.css("dl dd")], strict=True))


def rows(table):
    return [[cell.text() for cell in row.css("th, td")] for row in table.css("tr")]


def tables(node):
    return {one.css_first("caption").text(): one for one in node.css("table")}


def numbers(table):
    """Return the heads of columns that are set as numbers."""
    return [
        one.text()
        for one in table.css("thead th")
        if "number" in (one.attributes.get("class") or "")
    ]


# the report of a run


RELIABILITY = {
    "sentences": 300,
    "good": 0.5,
    "area": 0.8,
    "area_low": 0.75,
    "area_high": 0.85,
    "error": 0.02,
    "error_low": 0.01,
    "error_high": 0.03,
    "curve": [{"sentences": 1200, "confidence": 0.55, "good": 0.5}],
}


def test_every_section_stands_in_its_order_with_its_facts():
    tree = parse(render())
    names = ["verdict", "scores", "slices", "behaviour", "confidence", "translations", "training"]
    assert [one.attributes.get("id") for one in tree.css("section")] == [*names, "text"]
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
    assert facts(tree.css_first("#training")) == {
        "updates": "160",
        "best at": "160",
        "passes": "2",
        "target tokens": "31,149",
        "parameters": "34,944",
    }
    assert "All of the training text, corpus by corpus." in [
        one.text() for one in tree.css("#text > p")
    ]
    header = tree.css_first("header")
    assert header.css_first("p").text() == (
        f"Report of a run, de to en: 400 test sentences, run {TRAINING['fingerprint']}"
    )
    assert header.css_first("p code").text() == TRAINING["fingerprint"]
    assert tree.css_first("title").text() == "Report of a run, de to en"


@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize("remarks", [True, False])
def test_a_verdict_has_its_colour_and_its_remarks(ready, remarks):
    verdict = judge(good=10).model_copy(update={"ready": ready})
    if not remarks:
        verdict = verdict.model_copy(update={"remarks": ()})
    page = run_page.render_run_page(
        MEASURED | {"verdict": verdict.model_dump(mode="json")},
        TRAINING,
        DOWNLOAD,
        SENTENCES,
        languages=LANGUAGES,
        seed=1,
    )
    tree = parse(page)
    assert tree.css_first("h1").attributes["class"] == f"verdict {'ready' if ready else 'wrong'}"
    section = tree.css_first("#verdict")
    listed = section.css(".remarks li")
    assert len(listed) == len(verdict.remarks)
    for node, remark in zip(listed, verdict.remarks, strict=True):
        assert node.text() == f"{remark.what} {remark.advice}"
        assert (node.css_first("strong") is not None) is remark.blocks
    assert ("Nothing speaks against it." in section.text()) is not remarks
    assert "Bold: for this it is not ready." in section.css_first("p.soft").text()


NOVEL = {"sentences": 1300} | {
    key: value - 1
    for key, value in MEASURED.items()
    if key.startswith(("bleu", "chrf")) and "sig" not in key
}


def test_tables_of_a_run_hold_its_metrics_and_no_more():
    measured = MEASURED | {"novel": NOVEL}
    found = tables(parse(render(measured)))
    near = ["near nothing in training", "1,300 sentences"]
    assert rows(found["On the test set"]) == [
        ["Metric", "score", "95 %", "signature"],
        ["BLEU", "31.0", "29.5 to 32.5", "BLEU|nrefs:1"],
        ["chrF", "55.0", "54.0 to 56.0", "chrF2|nrefs:1"],
        [f"BLEU, {near[0]}", "30.0", "28.5 to 31.5", near[1]],
        [f"chrF, {near[0]}", "54.0", "53.0 to 55.0", near[1]],
    ]
    slices = found["Sentences that have something in common, with 95 % intervals"]
    assert rows(slices) == [
        ["Sentences", "number", "BLEU", "chrF"],
        ["with a number, date or time", "60", "30.0 (27.0 to 33.0)", "54.0 (52.0 to 56.0)"],
        ["questions", "0", "none", "none"],
        ["all", "400", "31.0 (29.5 to 32.5)", "55.0 (54.0 to 56.0)"],
    ]
    assert numbers(slices) == ["number"]
    behaviour = found["What comes through when a sentence changes, with 95 % intervals"]
    share = "95.0 % (76.0 to 99.0)"
    assert rows(behaviour) == [
        ["Change", "sentences", "kept", "otherwise the same"],
        ["literals as they come", "20", share, ""],
        ["capitals", "20", share, share],
    ]
    assert numbers(behaviour) == ["sentences"]
    removed = found["Pairs that were left out"]
    assert rows(removed) == [
        ["Why", "train", "validation", "test"],
        ["also in train", "0", "0", "1"],
        ["duplicate", "3", "0", "0"],
    ]
    shown = [caption for caption in ("At random", "Best", "Worst") if caption in found]
    assert shown == ["At random", "Best", "Worst"]
    assert all(len(rows(found[caption])) == 11 for caption in shown)


def test_slices_are_compared_by_the_metrics_that_any_of_them_has():
    only = {"a": {"label": "a", "sentences": 1, "scores": {"chrf": [1, 0, 2]}}}
    found = tables(parse(render(MEASURED | {"slices": only})))
    [table] = [one for caption, one in found.items() if "in common" in caption]
    assert rows(table) == [
        ["Sentences", "number", "chrF"],
        ["a", "1", "1.0 (0.0 to 2.0)"],
        ["all", "400", "55.0 (54.0 to 56.0)"],
    ]


@pytest.mark.parametrize("kind", ["none", "one kind", "known"])
def test_confidence_is_told_as_far_as_it_is_known(monkeypatch, kind):
    reliability = SimpleNamespace(
        **RELIABILITY | {"curve": [SimpleNamespace(**one) for one in RELIABILITY["curve"]]}
    )
    judging = {
        "none": None,
        "one kind": SimpleNamespace(reliability=None),
        "known": SimpleNamespace(reliability=reliability),
    }[kind]
    monkeypatch.setattr(run_page, "read_confidence", lambda _: judging)
    section = parse(render()).css_first("#confidence")
    assert ("There is none: 20 validation" in section.text()) is (kind == "none")
    assert ("sentences of one kind only" in section.text()) is (kind == "one kind")
    assert ("On test text: an area under the ROC curve of 0.80" in section.text()) is (
        kind == "known"
    )
    found = tables(section)
    if kind == "known":
        [table] = found.values()
        assert rows(table) == [["Confidence", "sentences", "good"], ["0.55", "1,200", "0.50"]]
        assert numbers(table) == ["sentences", "good"]
    else:
        assert found == {}


def test_curves_of_a_training_are_those_of_its_history():
    figures = parse(render()).css("#training figure")
    assert [one.css_first("svg").attributes["aria-label"] for one in figures] == [
        "Losses by update: validation loss 4.390 at the best update",
        "BLEU by update: 22.0 at the best",
    ]
    curves = [[one.attributes["class"] for one in figure.css("polyline")] for figure in figures]
    assert curves == [["curve validation", "curve train"], ["curve bleu"]]
    texts = [[one.text() for one in figure.css("svg text")] for figure in figures]
    assert texts == [["4.9", "4.39", "160"], ["22", "21", "160"]]
    keys = [(one.text(), one.attributes["class"]) for one in figures[0].css("figcaption span")]
    assert keys == [("validation", "key source"), ("train", "key target")]


def test_without_metrics_of_the_download_no_table_of_it_is_shown():
    assert "Pairs that were left out" not in tables(parse(render(download={})))
    empty = {split: {} for split in ("train", "validation", "test")}
    table = parse(f"<div>{tostring(tabulate_removed(empty))}</div>").css_first("table")
    assert rows(table)[1:] == [["nothing", "0", "0", "0"]]
    assert numbers(table) == ["train", "validation", "test"]


def tostring(element):
    return ET.tostring(element, encoding="unicode", method="html")


# sentences


def sentence(number, score=50.0, gain=0.0, reference="r"):
    return JudgedSentence(number, f"s {number}", reference, "h", score, before="b", gain=gain)


def test_sentences_are_chosen_by_score_then_length_then_place():
    some = [sentence(3), sentence(1), sentence(2, reference="long"), sentence(4, score=60.0)]
    assert [one.number for one in choose_worst(some, 9)] == [2, 1, 3, 4]
    assert [one.number for one in choose_best(some, 9)] == [4, 2, 1, 3]
    moved = [sentence(1, gain=2.0), sentence(2, gain=-1.0), sentence(3), sentence(4, gain=5.0)]
    moved += [sentence(6, gain=-1.0), sentence(5, gain=-1.0), sentence(7, gain=-3.0)]
    assert [one.number for one in choose_changed(moved, 9, gained=True)] == [4, 1]
    assert [one.number for one in choose_changed(moved, 9, gained=False)] == [7, 2, 5, 6]
    assert [one.number for one in choose_changed(moved, 1, gained=False)] == [7]


def test_tables_of_sentences_have_marks_languages_and_scores():
    one = JudgedSentence(1234, "a b", "c d", "c e", 41.6, links=(0, -1), before="c x", gain=-7.4)
    table = parse(f"<div>{tostring(tabulate_sentences('x', [one], LANGUAGES))}</div>")
    assert rows(table)[1:] == [["1,234", "a b", "c d", "c e", "42"]]
    assert numbers(table) == ["chrF"]
    quotes = [(q.attributes["lang"], q.text()) for q in table.css("bdi")]
    assert quotes == [("de", "a b"), ("en", "c d"), ("en", "c e")]
    assert [d.text() for d in table.css("del")] == ["d"]
    assert [i.text() for i in table.css("ins")] == ["e"]
    assert {row.attributes["class"] for row in table.css("tr")} == {"linked"}
    assert table.css_first("table").attributes["class"] == "sentences"
    changes = parse(f"<div>{tostring(tabulate_changes('x', [one], LANGUAGES))}</div>")
    assert rows(changes)[0] == ["Line", "source", "reference", "champion", "challenger", "chrF"]
    assert rows(changes)[1:] == [["1,234", "a b", "c d", "c x", "c e", "-7"]]
    assert [d.text() for d in changes.css("del")] == ["x"]
    assert [i.text() for i in changes.css("ins")] == ["e"]
    assert [q.attributes["lang"] for q in changes.css("bdi")] == ["de", "en", "en", "en"]
    [entry] = parse(tostring(list_sentences([one], LANGUAGES))).css("ol.worst li.linked")
    lines = [part.text() for part in entry.css("div")]
    assert lines == ["a b", "translated: c e", "reference: c d", "line 1,234, chrF 42"]
    first = entry.css("div")[1].css("span")
    assert [(n.text(), n.attributes["class"]) for n in first] == [
        ("translated: ", "soft"),
        ("c", "w0"),
    ]


@pytest.mark.parametrize("count", [MOST_WORDS, MOST_WORDS + 1])
def test_words_are_shown_up_to_a_number(count):
    text = "x " * count
    assert tostring(mark_source(text, "de")).endswith(" …</bdi>") is (count > MOST_WORDS)
    for shown in mark_difference(text, text, "de"):
        assert tostring(shown).endswith(" …</bdi>") is (count > MOST_WORDS)
        assert shown.text.split() == ["x"] * MOST_WORDS + ["…"] * (count > MOST_WORDS)
    assert MOST_LINKED < MOST_WORDS
    first, second = mark_difference("a b c", "a x c", "en", (2,))
    assert tostring(first) == '<bdi lang="en">a <del>b</del> c</bdi>'
    assert tostring(second) == '<bdi lang="en"><span class="w2">a</span> <ins>x</ins> c</bdi>'


def test_a_contest_shows_what_was_measured_and_both_ways():
    lost, won = sentence(1, gain=-0.5), sentence(2, gain=0.5)
    told = {"outcome": "hold", "reason": "so", "lines": ["one", "two"]}
    tree = parse(render_contest_page(told, [lost, won], LANGUAGES))
    sections = {one.css_first("h2").text(): one for one in tree.css("section")}
    assert [*sections] == ["What was measured", "Losses", "Gains"]
    assert [one.text() for one in sections["What was measured"].css("li")] == ["one", "two"]
    for name, one in (("Losses", lost), ("Gains", won)):
        [table] = tables(sections[name]).values()
        assert [row[0] for row in rows(table)[1:]] == [str(one.number)]
        assert "make retrain" in sections[name].css_first("code").text()
    assert tree.css_first("h1").attributes["class"] == "verdict"
    assert tree.css_first("header p").text() == "Champion and challenger, de to en"


# the page about data


def side(**changes):
    lengths = Distribution((0.0, 1.0, 2.0, 3.0, 4.0), (0, 5, 3, 0, 2), (1.0, 2.5, 4.0))
    values = {
        "lengths": lengths,
        "words": 12345,
        "distinct": 678,
        "characters": 91011,
        "languages": (("de", 6), ("", 3), ("nl", 1)),
        "scripts": (("LATIN", 90_000), ("GREEK", 900), ("A", 60), ("B", 30), ("C", 15), ("D", 6)),
    }
    return SideStatistics(**values | changes)


def statistics(**changes):
    ratios = Distribution(tuple(map(float, range(18))), (1,) * 18, (0.5, 1.0, 2.0))
    values = {
        "sampled": 4321,
        "source": side(),
        "target": side(languages=(("", 4), ("en", 2))),
        "ratios": ratios,
        "examples": (("eins", "one"), ("x" * (MOST_CHARACTERS + 1), "y" * MOST_CHARACTERS)),
    }
    return CorpusStatistics(**values | changes)


def page_of(names=("own",), near=NEAR, **more):
    corpora = {name: describe(name, train=12345, weight=2.5) for name in names}
    measured = gather(corpora, near) | more
    made = {name: statistics() for name in corpora}
    return parse(render_data_page(measured, made, LANGUAGES))


def test_a_corpus_has_all_of_its_facts_tables_and_pictures():
    section = page_of().css_first("section[id=own]")
    assert facts(section) == {
        "kind": "own",
        "licence": "own",
        "train": "12,345",
        "validation": "2",
        "test": "1",
        "left out": "8",
        "weight": "2.5",
        "share": "100.0%",
        "sampled": "4,321",
    }
    found = tables(section)
    assert [*found] == [
        "Both sides of the sample",
        "Pairs that were left out",
        "Examples left out",
        "Examples of pairs",
        "Files it came from",
    ]
    scripts = "latin 98.9%, greek 1.0%, a below 0.1%, b below 0.1%, others below 0.1%"
    quantiles = "median 2.5, 90% from 1 to 4"
    assert rows(found["Both sides of the sample"]) == [
        ["What", "source, de", "target, en"],
        [
            "languages of lines",
            "de 60.0%, too short to tell 30.0%, nl 10.0%",
            "too short to tell 66.7%, en 33.3%",
        ],
        ["scripts of letters", scripts, scripts],
        ["words of a line", quantiles, quantiles],
        ["words", *["12,345 (678 different)"] * 2],
        ["characters", "91,011", "91,011"],
    ]
    examples = rows(found["Examples of pairs"])
    assert examples[:2] == [["Pair", "de", "en"], ["1", "eins", "one"]]
    assert examples[2] == ["2", f"{'x' * MOST_CHARACTERS} …", "y" * MOST_CHARACTERS]
    assert [one.attributes["lang"] for one in found["Examples of pairs"].css("bdi")] == [
        "de",
        "en",
    ] * 2
    assert "alert('x')" in section.css_first("li").text()


def test_histograms_of_a_corpus_have_their_ticks_and_keys():
    lengths, ratios = page_of().css("section[id=own] figure")
    ticks = [one.text() for one in lengths.css("svg text")]
    assert ticks == ["50%", "0", "1", "2", "3", "4+"]
    assert [one.text() for one in ratios.css("svg text")] == ["6%", "¼", "½", "1", "2", "4"]
    assert [one.attributes["class"] for one in lengths.css("figcaption span")] == [
        "key source",
        "key target",
    ]
    told = "median 2.5, 90% from 1 to 4"
    label = lengths.css_first("svg").attributes["aria-label"]
    assert label == f"Histogram of the words of a line: source {told}, target {told}"
    assert (
        ratios.css_first("svg").attributes["aria-label"].endswith(": median 1, 90% from 0.5 to 2")
    )
    heights = [float(one.attributes["height"]) for one in lengths.css("rect.source")]
    assert [round(one / heights[0], 1) for one in heights] == [1.0, 0.6, 0.4]
    kinds = {one.attributes["class"] for one in lengths.css("rect")}
    assert (kinds, len(ratios.css("rect.both"))) == ({"source", "target"}, 18)


@pytest.mark.parametrize("names", [("own",), ("own", "web")])
def test_all_corpora_are_added_up_where_there_are_several(names):
    tree = page_of(names)
    several = len(names) > 1
    table = tables(tree)["Pairs of each corpus"]
    head, *each = rows(table)
    assert head == [
        "Corpus",
        "Licence",
        "train",
        "validation",
        "test",
        "left out",
        "weight",
        "share",
    ]
    assert numbers(table) == head[2:]
    share = "50.0%" if several else "100.0%"
    own = [[name, "own", "12,345", "2", "1", "8", "2.5", share] for name in names]
    total = [["all", "", "24,690", "4", "2", "16", "", ""]] * several
    assert each == own + total
    assert (tree.css_first("nav") is not None) is several
    noun = "2 corpora" if several else "1 corpus"
    counts = (
        "24,690 for train, 4 for validation, 2 for test"
        if several
        else ("12,345 for train, 2 for validation, 1 for test")
    )
    assert tree.css("header p")[0].text() == f"Pairs of {noun}: {counts}."
    if several:
        links = [(a.text(), a.attributes["href"]) for a in tree.css("nav a")]
        assert links == [(name, f"#{name}") for name in names]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"repaired": {"bad_space": 1234}, "noticed": {}}, [["bad space", "1,234"]]),
        ({"repaired": {}, "noticed": {}}, None),
        ({"repaired": {"a": 1}, "noticed": {"B_c": 2}}, [["a", "1"], ["b c", "2"]]),
    ],
)
def test_what_was_repaired_or_noticed_is_a_table_of_its_own(more, expected):
    table = tables(page_of(**more)).get("Repaired or noticed")
    assert (table and rows(table)[1:]) == expected
    assert table is None or numbers(table) == ["lines"]


@pytest.mark.parametrize("removed", [{}, {"too_long": 5, "empty": 2}])
def test_monolingual_text_is_told_with_what_was_left_out(removed):
    one = {"licence": "own", "language": "en", "lines": 7777, "removed": removed}
    tree = page_of(monolingual={"news": one, "web": one})
    found = tables(tree)
    lines = found["Lines of each corpus"]
    left = str(sum(removed.values()))
    assert rows(lines)[1:] == [[name, "own", "en", "7,777", left] for name in ("news", "web")]
    assert numbers(lines) == ["lines", "left out"]
    table = found.get("Left out")
    assert (table is not None) is bool(removed)
    assert table is None or rows(table)[1:] == [["empty", "4"], ["too long", "10"]]
    assert "Monolingual text" not in page_of().text()


@pytest.mark.parametrize(
    ("pairs", "sentences", "told"),
    [
        (1, 1, "1 pair of training text is near 1 sentence of test and 3 of validation."),
        (1200, 2, "1,200 pairs of training text are near 2 sentences of test and 3 of validation."),
    ],
)
def test_near_duplicates_are_counted_in_words(pairs, sentences, told):
    near = {"pairs": pairs, "test_sentences": sentences, "validation_sentences": 3, "examples": []}
    tree = page_of(near=near)
    [section] = [
        one for one in tree.css("section") if one.css_first("h2").text() == "Near duplicates"
    ]
    assert section.css_first("p").text() == told
    assert tables(section) == {}
    [section] = [one for one in page_of(near={}).css("section") if "Near dup" in one.text()]
    assert section.css_first("p").text() == "They were not looked for."


@pytest.mark.parametrize(
    ("languages", "expected", "marked"),
    [
        ((("de", 9), ("en", 1)), "de", False),
        ((("de", 9),), "de-AT", False),
        ((("", 9), ("de", 1)), "de", False),
        ((("", 9), ("en", 1)), "de", True),
        ((("", 9),), "de", False),
        ((), "de", False),
        ((("en", 9), ("de", 8)), "de", True),
    ],
)
def test_most_lines_are_in_the_language_that_is_expected(languages, expected, marked):
    found = data_page._list_languages(languages, expected)
    assert (not isinstance(found, str)) is marked
    assert not marked or found.text.endswith(f"; not {expected}")


@pytest.mark.parametrize(
    ("count", "total", "told"),
    [(1, 1000, "0.1%"), (1, 1001, "below 0.1%"), (5, 10, "50.0%"), (0, 10, "below 0.1%")],
)
def test_a_share_below_one_in_a_thousand_is_told_so(count, total, told):
    assert data_page._tell_share(count, total) == told


def test_shares_of_corpora_are_those_of_weighted_pairs_also_without_any():
    corpora = {
        "a": {"weight": 2.0, "pairs": {"train": 3}},
        "b": {"weight": 0.5, "pairs": {"train": 4}},
    }
    assert data_page._compute_shares(corpora) == {"a": 0.75, "b": 0.25}
    corpora["a"]["weight"] = corpora["b"]["weight"] = 0.0
    assert data_page._compute_shares(corpora) == {"a": 0.0, "b": 0.0}


# what pages are made of


@pytest.mark.parametrize("aligns", [True, False])
def test_only_sentences_that_are_shown_are_linked(aligns):
    some = [sentence(number, score=float(number)) for number in range(1, 60)]
    asked = []

    def trace(pairs):
        asked.extend(pairs)
        return [[0] for _ in pairs]

    linked = link_shown(some, SimpleNamespace(trace=trace) if aligns else None, seed=1)
    assert [one.number for one in linked] == [one.number for one in some]
    shown = [one for one in linked if one.links]
    if not aligns:
        assert (shown, asked) == ([], [])
        return
    assert {1, 10, 50, 59} <= {one.number for one in shown}
    assert 20 < len(shown) <= 30
    assert len(asked) == len(shown)
    assert all(one.links == (0,) for one in shown)


@pytest.mark.parametrize("lines", [0, 5, 6, 11])
def test_words_are_counted_in_lines_all_over_the_training_text(tmp_path, monkeypatch, lines):
    assert MOST_COUNTED == 200_000
    monkeypatch.setattr(run_report, "MOST_COUNTED", 5)
    counted = []
    monkeypatch.setattr(
        run_report, "count_word_lines", lambda read, sources: counted.append([*read]) or {"n": 1}
    )
    assert count_training_words(tmp_path, ["x"]) == {}
    (tmp_path / "train.source").write_text("".join(f"{n}\n" for n in range(lines)))
    assert count_training_words(tmp_path, ["x"]) == {"n": 1}
    step = max(1, -(-lines // 5))
    assert counted == [[str(n) for n in range(0, lines, step)]]


@pytest.mark.parametrize("steps", [2, 4, 50])
def test_rates_by_tokens_begin_with_none_and_rise_evenly_to_each_validation(steps):
    """Seven tokens and a half an update, of which whole ones count."""
    schedule, budget = WarmupDecay(warmup=0.9), Budget(tokens=1000)
    record = {
        "params": {
            "schedule": schedule.model_dump(mode="json"),
            "budget": budget.model_dump(),
            "model": {},
        },
        "history": [{"step": steps, "target_tokens": 15 * steps // 2}],
        "curve": [],
        "steps": steps,
    }
    curve = trace_learning_rate(record)
    assert (curve.label, [*curve.x]) == ("learning rate", [*range(1, steps + 1)])
    expected = [schedule.learning_rate * (15 * n // 2) / 900 for n in range(1, steps + 1)]
    assert curve.y == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metadata", "licences"),
    [
        ({"license_expression": "MIT", "license": "no"}, [{"expression": "MIT"}]),
        (
            {
                "classifier": [
                    "License :: OSI Approved :: MIT License",
                    "License :: OSI Approved :: Apache Software License",
                    "License :: OSI Approved",
                    "Topic :: Text",
                ],
                "license": "no",
            },
            [{"license": {"name": n}} for n in ("Apache Software License", "MIT License")],
        ),
        ({"license": " BSD\nmore lines"}, [{"license": {"name": "BSD"}}]),
        ({"license": " "}, []),
        ({"classifier": ["License :: OSI Approved"]}, []),
        ({}, []),
    ],
)
def test_a_licence_is_an_expression_or_its_names_in_order(metadata, licences):
    class Metadata(dict):
        json = metadata

    package = bill.Package("my-own-package", Metadata(Version="1.0+x y"))
    purl = "pkg:pypi/my-own-package@1.0%2Bx%20y"
    assert bill._component(package) == {
        "type": "library",
        "bom-ref": purl,
        "name": "my-own-package",
        "version": "1.0+x y",
        "licenses": licences,
        "purl": purl,
    }
