"""The terminal shows the contents of text and what was removed."""

import io

from rich.console import Console

from nmt_core.base.languages import Languages
from stages.reporting.download_report import CorpusReport, DownloadReport
from stages.reporting.text_summary import print_text_summary

LANGUAGES = Languages(source="de", target="en")


def show(report, *notices):
    file = io.StringIO()
    print_text_summary(report, LANGUAGES, [*notices], Console(file=file, width=100))
    return file.getvalue().splitlines()


def test_counts_and_examples_of_all_splits_are_shown():
    corpus = CorpusReport(pairs={"train": 9}, examples={"length_ratio": [("a [b]", "c" * 99)]})
    report = DownloadReport(
        pairs={"train": 9000, "test": 20},
        removed={"train": {"duplicate": 3, "length_ratio": 40}, "test": {"duplicate": 1}},
        corpora={"mine": corpus},
    )
    heading, titles, first, second, notice = show(report, "mine: half of it is French")

    assert heading.startswith("de-en pairs: 9,000 to train, 20 to test; ")
    assert titles.split() == ["removed", "pairs", "example"]
    assert first.split() == ["length", "ratio", "40", "a", "[b]", "|", "c" * 60]
    assert second.split() == ["duplicate", "4"]
    assert notice == "mine: half of it is French"


def test_nothing_removed_has_no_table():
    [line] = show(DownloadReport(pairs={"train": 1}, removed={"train": {}}))
    assert line.startswith("de-en pairs: 1 to train; ")
