"""What reports say on a terminal and in Markdown: every figure where it belongs, and no other."""

import io
import json

import pytest
import yaml
from rich.console import Console

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from nmt_core.corpora.filters import FilterConfig
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.screening.finding import Finding
from nmt_core.corpora.screening.looking import CorpusLook
from stages import paths
from stages.reporting import summary
from stages.reporting.card import describe_epochs
from stages.reporting.clean_report import SHOWN, SHOWN_CHARACTERS, show
from stages.reporting.data_tables import (
    tabulate_corpora,
    tabulate_monolingual,
    tabulate_pairs,
    tabulate_vectors,
)
from stages.reporting.markdown import WIDTH, quote_text, render_pipe_table, replace_part
from stages.reporting.verdict import RunVerdict
from tests.support.run_pages import MEASURED, TRAINING, judge


def write(what, width=250):
    """Return what a terminal shows."""
    shown = io.StringIO()
    Console(file=shown, width=width).print(what)
    return shown.getvalue()


def cells(what):
    """Return the cells of a table with lines between its columns, row by row, its title first."""
    title, *lines = write(what).splitlines()
    rows = [[cell.strip() for cell in line[1:-1].replace("┃", "│").split("│")] for line in lines]
    return [title.strip(), *(row for row in rows if len(row) > 1 and "─" not in row[0] + row[1])]


def test_pairs_that_were_kept_and_left_out_stand_by_split_and_reason():
    metrics = {
        "pairs": {"train": 12345, "validation": 2, "test": 3},
        "removed": {"train": {"duplicate": 4000}, "validation": {"empty": 1}, "test": {"empty": 2}},
    }
    assert cells(tabulate_pairs(metrics)) == [
        "Pairs",
        ["", "train", "validation", "test"],
        ["kept", "12,345", "2", "3"],
        ["removed: duplicate", "4,000", "0", "0"],
        ["removed: empty", "0", "1", "2"],
    ]


def test_corpora_stand_with_their_pairs_weights_licences_and_tags():
    corpus = {
        "pairs": {"train": 12345, "validation": 20, "test": 3},
        "removed": {"train": {"a": 1000, "b": 200}, "validation": {}, "test": {"a": 30}},
        "weight": 2.5,
        "licence": "[bold]own",
        "tag": "news",
    }
    assert cells(tabulate_corpora({"one": corpus})) == [
        "Corpora",
        ["", "train", "validation", "test", "removed", "weight", "licence", "tag"],
        ["one", "12,345", "20", "3", "1,230", "2.5", "[bold]own", "news"],
    ]


def test_monolingual_text_and_vectors_stand_by_name():
    alone = {"language": "de", "lines": 7000, "removed": {"a": 900, "b": 100}, "licence": "[i]x"}
    assert cells(tabulate_monolingual({"news": alone})) == [
        "Monolingual text",
        ["", "language", "lines", "removed", "licence"],
        ["news", "de", "7,000", "1,000", "[i]x"],
    ]
    known = {"url": "u", "path": "p", "sha256": "0a", "rows": 9000, "dimensions": 300}
    vectors = {"source": {**known, "twice": 1200, "empty": 3}, "target": known}
    assert cells(tabulate_vectors({"vectors": vectors})) == [
        "Word vectors",
        ["", "rows", "dimensions", "removed"],
        ["source", "9,000", "300", "twice 1,200, empty 3"],
        ["target", "9,000", "300", "none"],
    ]


# the summary


def test_scores_stand_with_interval_and_signature():
    shown = write(summary.score_table(MEASURED))
    rows = [" ".join(line.split()) for line in shown.splitlines()]
    assert rows == [
        "metric score 95 % confidence signature",
        "BLEU 31.0 29.5 – 32.5 BLEU|nrefs:1",
        "chrF 55.0 54.0 – 56.0 chrF2|nrefs:1",
    ]


NOVEL = {"sentences": 300, "bleu": 20.0, "chrf": 40.0}


@pytest.mark.parametrize("novel", [{}, NOVEL])
@pytest.mark.parametrize("looping", [0, 2])
def test_facts_are_a_line_for_each_topic(novel, looping):
    failures = MEASURED["failures"] | {"looping": looping, "too_long": looping}
    measured = MEASURED | {"novel": novel, "failures": failures}
    text = summary.render_facts(measured, TRAINING | {"epochs": 1})
    expected = [
        "400 test sentences, perplexity 7.50, length ratio 0.980, unknown source words 1.00%",
        "160 updates, 1 epoch, 31,149 target tokens, best at update 160",
    ]
    if novel:
        expected += [
            "BLEU 20.0, chrF 40.0 on the 300 test sentences that are not close to any training "
            "sentence"
        ]
    if looping:
        expected += ["unusable translations: 2 looping, 2 too long"]
    assert text.plain.splitlines() == expected
    assert describe_epochs(2) == "2 epochs"
    assert describe_epochs(0) == "less than an epoch"


def test_a_verdict_is_green_where_a_model_is_ready_and_what_blocks_it_is_bold():
    wrong = judge(good=10)
    text = summary.render_verdict_lines(wrong)
    assert text.plain.splitlines() == [
        wrong.summary,
        *(f"- {remark.what} {remark.advice}" for remark in wrong.remarks),
    ]
    assert {remark.blocks for remark in wrong.remarks} == {True, False}
    styles = {
        text.plain[span.start : span.end].strip(" \n-"): str(span.style) for span in text.spans
    }
    for remark in wrong.remarks:
        assert ("not bold" in styles.get(remark.what, "")) is not remark.blocks
        assert "dim" in styles[remark.advice]
    for ready, colour in ((True, "green"), (False, "red")):
        verdict = RunVerdict.model_validate(wrong.model_dump() | {"ready": ready, "remarks": ()})
        assert summary.render_verdict_lines(verdict).style == f"bold {colour}"
    assert "scored by an earlier version" in summary.render_verdict_lines(None).plain


def test_examples_are_not_taken_for_markup():
    example = {"source": "[b]eins", "hypothesis": "[red]one", "reference": "[i]two"}
    rows = write(summary.render_examples([example])).splitlines()
    shown = [cell.strip() for cell in rows[3].strip("│").split("│")]
    assert shown == ["[b]eins", "[red]one", "[i]two"]


@pytest.mark.parametrize("corpus", ["demo", "own"])
@pytest.mark.parametrize(
    ("runs", "told"),
    [("sqlite:///x.db", "make mlflow"), ("http://me:secret@x.org", "http://x.org")],
)
def test_next_commands_are_those_of_this_run(monkeypatch, corpus, runs, told):
    monkeypatch.setattr(summary, "tracking_uri", lambda: runs)
    shown = write(summary.render_next_steps(corpus, "it's [b]"))
    assert f"--model {paths.EXPORT} 'it'\"'\"'s [b]'" in shown
    assert "nmt explain --n-best 5 " in shown
    assert f"{paths.REPORTS}/attention/" in shown
    assert told in shown
    assert "secret" not in shown
    assert ("DATA=files" in shown) is (corpus == "demo")


@pytest.fixture
def results(project, monkeypatch):
    """What a run leaves."""
    monkeypatch.setattr(summary, "tracking_uri", lambda: "sqlite:///x")
    scores = MEASURED | {"verdict": judge().model_dump(mode="json")}
    examples = [
        {"source": one, "hypothesis": "h", "reference": "r"} for one in ("das ist lang", "kurz")
    ]
    for path, document in (
        (paths.REPORTS / "evaluate.json", scores),
        (paths.TRAINED / "training.json", TRAINING),
        (paths.REPORTS / "examples.json", examples),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))
    download = {"languages": {"source": "de", "target": "en"}, "corpora": {"own": {}, "web": {}}}
    lock = {"stages": {"download": {"params": {"code/settings.json": {"download": download}}}}}
    paths.LOCK.write_text(yaml.safe_dump(lock))
    for name, size in (("model", 3_000_000), ("in/more", 4_000_000)):
        (paths.EXPORT / name).parent.mkdir(parents=True, exist_ok=True)
        (paths.EXPORT / name).write_bytes(bytes(size))
    return project


def test_the_summary_holds_all_of_a_run(results, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "250")
    summary.main()
    shown = capsys.readouterr().out
    assert "de → en  own, web" in shown
    assert f"model  {paths.EXPORT}  (7 MB, sealed)" in shown
    assert f"report  {paths.REPORTS}/index.html" in shown
    assert f"--model {paths.EXPORT} kurz" in shown
    assert "DATA=files" not in shown
    parts = (
        "29.5 – 32.5",
        "31,149 target tokens",
        "das ist lang",
        "--n-best",
        judge().summary,
    )
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)  # the verdict is read last, above the next command
    files.write_json(paths.REPORTS / "examples.json", [])
    summary.main()
    assert "29.5 – 32.5" in capsys.readouterr().out


@pytest.mark.parametrize(
    "path",
    [
        paths.LOCK,
        paths.REPORTS / "evaluate.json",
        paths.TRAINED / "training.json",
        paths.REPORTS / "examples.json",
    ],
)
def test_a_run_that_is_not_whole_is_told(results, path):
    path.unlink()
    with pytest.raises(NmtError, match=rf"^{path} is not there yet; run: make repro$"):
        summary.main()


# filters of a corpus, before they are used


def look(*taken, screen=None, findings=()):
    pairs = [Pair(f"Satz {number}", f"line {number}") for number, _ in enumerate(taken)]
    return CorpusLook(pairs=pairs, taken=[*taken], screen=screen, findings=[*findings])


class Learnt:
    def __init__(self, fitted, **thresholds):
        self.fitted, self.thresholds = fitted, thresholds


def test_every_filter_stands_with_its_share_its_threshold_and_examples_from_the_middle():
    taken = ["noise"] * 5 + ["copy"] + [""] * 14
    seen = look(*taken, screen=Learnt(fitted=True, noise=0.5, other=2.0))
    rows = cells(show("own", seen, FilterConfig()))
    assert rows[0] == "own"
    assert rows[1] == ["filter", "above", "pairs", "%", "for example"]
    first, second, *_ = rows[2:]
    assert first == ["noise", "0.50", "5", "25.00", "Satz 2"]
    assert [row[-1] for row in rows[2 : 2 + 2 * SHOWN]] == ["Satz 2", "line 2", "Satz 3", "line 3"]
    assert second[:4] == ["", "", "", ""]
    assert [row for row in rows if row[0] == "copy"] == [["copy", "", "1", "5.00", "Satz 5"]]
    assert "other" not in [row[0] for row in rows]  # takes nothing


@pytest.mark.parametrize("screen", [None, Learnt(fitted=False), Learnt(fitted=True)])
def test_findings_stand_with_the_setting_to_type(screen):
    found = Finding("tags", "2 pairs hold tags", (Pair("<b>", "x"),), "repair=[tags]")
    shown = write(show("own", look("", screen=screen, findings=[found]), FilterConfig()), 300)
    assert "own: 2 pairs hold tags (for example '<b>' beside 'x'); set download.corpora." in shown
    assert ("no thresholds were learnt" in shown) is (screen is None)


def test_a_long_example_is_cut_and_a_copy_is_shown_once():
    pairs = [Pair("x" * 99, "x" * 99)]
    seen = CorpusLook(pairs=pairs, taken=["copy"], screen=Learnt(fitted=True), findings=[])
    rows = cells(show("own", seen, FilterConfig()))
    examples = [row[-1] for row in rows[2:] if row[-1]]
    assert examples == ["x" * SHOWN_CHARACTERS]


# Markdown


def test_tables_in_markdown_have_a_rule_for_each_column():
    assert render_pipe_table(["a", "b", "c"], [["1", "2", "3"], ["4", "5", "6"]]) == [
        "| a | b | c |",
        "| --- | ---: | ---: |",
        "| 1 | 2 | 3 |",
        "| 4 | 5 | 6 |",
    ]
    assert render_pipe_table(["a", "b"], [], numbers=":---")[1] == "| --- | :--- |"


@pytest.mark.parametrize("size", [1, WIDTH - 1, WIDTH, WIDTH + 1, 3 * WIDTH])
def test_a_quoted_text_is_no_wider_than_a_cell(size):
    quoted = quote_text("x" * size)
    assert quoted[0] == quoted[-1] == "`"
    assert len(quoted) == 2 + min(size, WIDTH)
    assert quoted.endswith("…`") is (size > WIDTH)
    assert quote_text("a`b|c") == "`a b¦c`"


def test_a_part_of_a_page_is_replaced_or_put_at_its_end():
    page = "before\n"
    once = replace_part(page, "x", "one\n", heading="## X\n")
    assert once == "before\n## X\n<!-- x: begin -->\none\n<!-- x: end -->\n"
    again = replace_part(f"{once}after\n", "x", "two\n", heading="## X\n")
    assert again == "before\n## X\n<!-- x: begin -->\ntwo\n<!-- x: end -->\nafter\n"
    assert replace_part(again, "x", "two\n") == again
    both = replace_part(again, "y", "three\n")
    assert both.startswith(again)
    assert replace_part(both, "x", "one\n") == both.replace("two", "one")
