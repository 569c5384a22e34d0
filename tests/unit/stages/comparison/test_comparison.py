"""How systems are judged and shown."""

import csv
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import pytest
from rich.console import Console

from nmt_core.base import files
from nmt_core.base.languages import Languages
from nmt_core.evaluation.statistics.significance import Difference
from nmt_core.training.schedule import Budget
from nmt_core.translation.translation import Translation
from stages.comparison import report, results
from stages.comparison.results import ComparisonError, ScoreInterval
from stages.evaluate import write_translations
from stages.reporting.markdown import find_markers
from stages.reporting.measures import TranslatedText
from tests.support.outcomes import REFERENCES, outcome

WRONG = [line.replace("The", "An") for line in REFERENCES]
OUTCOMES = [
    outcome("worse", 1, WRONG, 20.0),
    outcome("better", 1, REFERENCES, 31.0),
    outcome("worse", 2, WRONG, 21.0),
    outcome("better", 2, REFERENCES, 30.0),
]


@pytest.fixture(scope="module")
def compared():
    return results.compare_outcomes(OUTCOMES, command="make compare", commit="c0ffee")


def test_the_best_system_is_first_and_its_seeds_stay_together(compared):
    assert {name: [run.seed for run in runs] for name, runs in compared.systems.items()} == {
        "better": [1, 2],
        "worse": [1, 2],
    }
    [bleu, chrf] = compared.differences
    assert (bleu.metric, bleu.first, bleu.second) == ("bleu", "better", "worse")
    assert bleu.value > 0
    assert chrf.value > 0


def test_the_best_system_is_first_whatever_it_is_called():
    outcomes = [outcome("a", 1, WRONG, 20.0), outcome("z", 1, REFERENCES, 31.0)]
    found = results.compare_outcomes(outcomes, command="", commit="")
    assert [*found.scores] == [*found.systems] == [*found.budgets] == ["z", "a"]
    assert found.differences[0].value > 0


def test_numbers_of_different_test_sets_are_not_compared():
    other = replace(OUTCOMES[1], references=REFERENCES[::-1])
    with pytest.raises(ComparisonError, match="tested on different sentences") as told:
        results.compare_outcomes([OUTCOMES[0], other], command="", commit="")
    assert "\n" not in str(told.value)

    other = replace(OUTCOMES[1], signatures={"bleu": "BLEU|b", "chrf": "chrF2|a"})
    with pytest.raises(ComparisonError, match=r"scored differently, BLEU\|a"):
        results.compare_outcomes([OUTCOMES[0], other], command="", commit="")


def test_systems_are_tested_in_words_of_their_language():
    text = ["欧洲议会昨天批准了这项建议。", "理事会主席表示同意。"] * 4
    better, worse = (
        replace(OUTCOMES[number], references=text, hypotheses=written, language="zh")
        for number, written in ((1, text), (0, [line[2:] for line in text]))
    )
    [bleu, _] = results.compare_outcomes([better, worse], command="", commit="").differences

    assert 0 < bleu.value < 100


def test_the_table_shows_means_and_every_seed_and_how_they_vary(compared):
    """Variances of 0.25 by seeds (1 degree of freedom), of (1 / 1.96)² by 12 sentences (11).

    They make a standard error of 0.714 with 3.79 degrees, whose t is 2.837.
    """
    first, seed, _, spread, *_ = report.render_rows(compared)

    assert first == [
        *("A  better", "30.5 (28.5–32.5)", "40.5 (38.5–42.5)", "4.00", "1.50 M"),
        *("800", "0.25 M", "0:02:05", "2,000", "–"),
    ]
    assert seed[:2] == ["   seed 1", "31.0 (30.0–32.0)"]
    assert spread == ["   sd of 2 seeds", "0.7", "0.7", *[""] * 7]


def test_no_interval_over_seeds_is_narrower_than_of_its_sentences_or_leaves_out_all_seeds():
    """As the mean of the intervals of 5.3, 19.7 and 3.4 does."""
    intervals = [ScoreInterval(value=one, low=one - 1, high=one + 1) for one in (5.3, 19.7, 3.4)]
    far = results.average_scores(intervals, 1000)
    near = results.average_scores([intervals[0]] * 3, 1000)

    assert (round(far.value, 2), round(far.deviation, 2)) == (9.47, 8.91)
    assert far.low == 0
    assert 19.7 < far.high < 40
    assert (near.low, near.high) == pytest.approx((4.3, 6.3), abs=0.01)
    assert results.average_scores(intervals[:1], 1000).deviation is None
    assert results.average_scores(intervals[:1], 1000).low == 4.3


def test_what_is_not_known_of_a_seed_is_not_known_of_the_mean(compared):
    runs = [run.model_copy(update={"train_seconds": 60.0 * run.seed}) for run in compared.runs]
    runs[0] = runs[0].model_copy(update={"train_seconds": None})
    better, _, second, _, worse, *_ = report.render_rows(
        compared.model_copy(update={"runs": tuple(runs)})
    )

    assert (better[7:9], second[7:9]) == (["–", "–"], ["0:02:00", "2,083"])
    assert worse[7:9] == ["0:01:30", "3,125"]


def test_the_matrix_has_bleu_above_and_chrf_below(compared):
    [(title, [[_, above], [below, _]])] = report.render_matrices(compared)

    assert title.startswith("Row minus column, BLEU above the diagonal and chrF below the diagonal")

    assert above.startswith("+")
    assert below.startswith("-")
    assert report.render_difference(1.25, 0.0004) == "+1.2, p < 0.001"


def test_the_matrix_shows_p_values_corrected_for_their_number(compared):
    """Uncorrected, one pair in twenty of equal systems would pass for different.

    Over seeds, too, where there are several.
    """
    p_values = {"bootstrap": 0.1, "bootstrap_holm": 0.2, "randomization": 0.3, "seeds": 0.5}
    p_values |= {"randomization_holm": 0.4, "seeds_holm": 0.6}
    pairs = [pair.model_copy(update=p_values) for pair in compared.differences]
    several = compared.model_copy(update={"differences": pairs})
    alone = [pair.model_copy(update={"seeds": None, "seeds_holm": None}) for pair in pairs]
    firsts = [run for run in compared.runs if run.seed == 1]
    one = compared.model_copy(update={"differences": alone, "runs": tuple(firsts)})

    for shown, p, test in (
        (several, "0.600", "Welch's t-test over seeds and sentences, corrected by Holm"),
        (one, "0.400", "approximate randomisation of sentences, corrected by Holm"),
    ):
        [(title, cells)] = report.render_matrices(shown)
        ends = [cell[-9:] for row in cells for cell in row]
        assert ends == ["", f"p = {p}", f"p = {p}", ""]
        assert test in title


def test_notes_say_what_was_equal_and_how_scores_were_made(compared):
    first, seeds, second, signatures = report.render_notes(compared)

    assert first == (
        "12 test sentences; equal budgets of 125 seconds; processor threads each: 1; parentheses "
        "hold 95 % intervals."
    )
    assert seeds.startswith("Means of 2 seeds (1, 2), and sd,")
    assert "comparable only between systems with the same tokens" in second
    assert signatures == "Signatures: BLEU|a, chrF2|a."
    runs = [run.model_copy(update={"threads": 0}) for run in compared.runs[:1]]
    mixed = compared.model_copy(update={"runs": (*runs, *compared.runs[1:])})
    assert "processor threads each: all, 1;" in report.render_notes(mixed)[0]


def test_of_one_seed_it_is_said_that_nothing_is_known_of_seeds():
    alone = results.compare_outcomes(OUTCOMES[:2], command="", commit="")

    assert "One seed (1): " in report.render_notes(alone)[1]
    assert "say nothing of other seeds" in report.render_notes(alone)[1]
    assert [cell for cell, *_ in report.render_rows(alone)] == ["A  better", "B  worse"]
    assert next(report.render_rows(alone))[1] == "31.0 (30.0–32.0)"


def with_work(compared, steps, tokens):
    """The comparison, its runs with so many updates and target tokens each."""
    runs = (
        run.model_copy(update={"steps": step, "target_tokens": count})
        for run, step, count in zip(compared.runs, steps, tokens, strict=True)
    )
    return compared.model_copy(update={"runs": tuple(runs)})


@pytest.mark.parametrize(
    ("steps", "tokens", "told"),
    [
        ([100] * 4, [5000] * 4, []),
        ([100, 120, 100, 120], [5000] * 4, []),
        ([41, 96, 100, 100], [5000] * 4, ["seeds of better got from 41 to 96 updates", "updates:"]),
        ([100] * 4, [5000, 5000, 7000, 7000], ["tokens: from 5,000 of better to 7,000 of worse."]),
        ([100] * 4, [5000, 5000, 5000, 6500], ["seeds of worse got from 5,000 to 6,500 target"]),
        ([100, 100, 121, 121], [5000] * 4, ["UNEQUAL updates: from 100 of better to 121 of wo"]),
    ],
)
def test_what_was_not_equal_in_spite_of_the_budget_is_told(compared, steps, tokens, told):
    """Above a fifth: between the seeds of a system, which is the load, and between systems."""
    notes = report.render_notes(with_work(compared, steps, tokens))
    unequal = [note for note in notes if note.startswith("UNEQUAL")]

    assert len(unequal) == len(told)
    assert all(words in note for words, note in zip(told, unequal, strict=True))


def test_the_picture_shows_means_of_seeds_and_every_curve(compared, tmp_path, monkeypatch):
    """By time, where every validation's is known."""
    drawn = {}

    def draw(path, intervals, curves, *, unit, metrics, over):
        drawn[path.name] = (intervals, curves, unit, metrics)
        assert over == "seeds and sentences"

    monkeypatch.setattr(report, "draw_comparison", draw)
    report.draw_results(compared, OUTCOMES, tmp_path / "by time")
    unknown = [replace(OUTCOMES[0], seconds={400: 60.0}), *OUTCOMES[1:]]
    report.draw_results(compared, unknown, tmp_path / "by tokens")
    (best, _), curves, unit, metrics = drawn["by time"]

    assert (best.label, best.value) == ("better", 30.5)
    assert (best.low, best.high) == pytest.approx((28.47, 32.53), abs=0.01)
    assert best.points == [31.0, 30.0]
    assert [curve.label for curve in curves] == [found.run.system for found in OUTCOMES]
    assert (curves[0].x, curves[0].y) == ([1.0, 125 / 60], [10.0, 20.0])
    assert (unit, metrics) == ("minutes spent in updates", ("BLEU", "BLEU"))
    _, curves, unit, _ = drawn["by tokens"]
    assert curves[0].x == [0.12, 0.24]
    assert unit == "million target tokens trained on"


def test_translations_are_read_as_they_were_written(tmp_path):
    """Quotes, empty lines and words that mean nothing to a program are text."""
    lines = ['"', "", "NA", 'so "they" said', "1.50", " # x"]
    found = [Translation(line, -0.5, (), (), ()) for line in lines]
    languages = Languages(source="de", target="en")
    text = TranslatedText(languages, lines, lines[::-1], [], found)
    path = tmp_path / "translations.tsv"
    write_translations(path, text)
    table = results.read_translations(path.read_text(encoding="utf-8"))

    assert list(table["source"]) == list(table["hypothesis"]) == lines
    assert list(table["reference"]) == lines[::-1]


def test_equal_budgets_are_called_so_and_others_are_told(compared):
    assert report.describe_budget(compared.budgets) == "equal budgets of 125 seconds"
    told = report.describe_budget({"a": Budget(steps=10), "b": Budget(epochs=1)})
    assert told == "budgets that are not equal: a 10 updates, b 1 epochs"


def test_the_report_is_for_people_and_programs(compared, tmp_path):
    report.write_report(compared, OUTCOMES, tmp_path)
    page = (tmp_path / "comparison.md").read_text()
    console = Console(width=80)
    with console.capture() as capture:
        console.print(report.render_report(compared))

    assert results.Comparison.model_validate_json((tmp_path / "comparison.json").read_text())
    assert "| A  better | 30.5 (28.5–32.5) |" in page
    assert "30.5 (28.5–32.5)" in capture.get()
    for part in page.split("\n\n"):  # as many cells in each row of a table
        assert len({row.count("|") for row in part.splitlines() if row.startswith("|")}) <= 1
    assert (tmp_path / "comparison.png").stat().st_size > 10_000
    rows = list(csv.DictReader(files.read_lines(tmp_path / "comparison.csv")))
    assert [(row["system"], row["seed"], row["scores.bleu.value"]) for row in rows] == [
        *(("better", "1", "31.0"), ("better", "2", "30.0")),
        *(("worse", "1", "20.0"), ("worse", "2", "21.0")),
    ]
    latex = (tmp_path / "comparison.tex").read_text(encoding="utf-8")
    assert "A  better & 30.5 (28.5–32.5) &" in latex
    assert latex.startswith("\\begin{tabular}")


def test_one_system_is_compared_with_none():
    alone = results.compare_outcomes(OUTCOMES[::2], command="", commit="")
    console = Console(width=80)
    with console.capture() as capture:
        console.print(report.render_report(alone))

    assert report.render_markdown(alone).count("| --- |") == 1
    assert "p = " not in capture.get()
    assert not [line for line in capture.get().splitlines() if line.split() == ["A"]]


def equal(systems, *_, metrics, **__):
    """As of systems between which there is no difference."""
    names = ("bootstrap", "bootstrap_holm", "randomization", "randomization_holm", "seeds")
    certain = dict.fromkeys([*names, "seeds_holm"], 1.0)
    return [
        Difference(metric=metric, first=first, second=second, value=0.0, **certain)
        for metric in metrics
        for first, second in combinations(systems, 2)
    ]


def test_nine_systems_with_long_names_are_whole_in_80_columns(monkeypatch):
    """On a terminal and in a log: no name or number is cut, and no table is wider than the page."""
    monkeypatch.setattr(results, "compare_all", equal)
    names = [f"transformer_article_lit{n}" for n in range(9)]
    found = [outcome(name, seed, WRONG, 20.0) for name in names for seed in (1, 2)]
    shown = results.compare_outcomes(found, command="", commit="")
    console = Console(width=80)
    with console.capture() as capture:
        console.print(report.render_report(shown))
    printed = capture.get()

    assert "…" not in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert all(name in printed for name in names)
    costs = printed.split("\n\n")[1].splitlines()
    assert [row.split()[0] for row in costs[1:]] == [*"ABCDEFGHI"]
    assert printed.count("p = 1.000") == 2 * 9 * 8 / 2


def test_recording_again_replaces_what_was_recorded(compared, tmp_path):
    report.write_report(compared, OUTCOMES, tmp_path)
    results = tmp_path / "results.md"
    results.write_text("# Results\n\nBefore.\n")
    report.record_results(compared, results=results, folder=tmp_path)
    results.write_text(results.read_text() + "\nAfter.\n")
    once = results.read_text()
    report.record_results(compared, results=results, folder=tmp_path)

    assert once == results.read_text()
    assert once.startswith("# Results\n\nBefore.\n")
    assert once.endswith(f"{find_markers(report.PART)[1]}\n\nAfter.\n")
    assert (tmp_path / "comparison.png").exists()


def test_results_that_dvc_has_no_more_are_told_with_what_to_do(monkeypatch):
    def refuse(*_):
        raise FileNotFoundError

    away = SimpleNamespace(read_text=refuse)
    monkeypatch.setattr(results, "DVCFileSystem", lambda *_, rev: away)
    with pytest.raises(ComparisonError, match=r"experiment e1 .*dvc exp remove e1, and compare"):
        results.read_outcome("rnn", 1, "e1", "c0ffee")
