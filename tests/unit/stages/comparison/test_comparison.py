"""How systems are judged and shown."""

from dataclasses import replace

import pytest
from rich.console import Console

from nmt_core.training.budget import Budget
from nmt_core.translation.translation import Translation
from stages.comparison import report, results
from stages.comparison.results import ComparisonError
from stages.evaluate import write_translations
from stages.reporting.markdown import find_markers
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


def test_numbers_of_different_test_sets_are_not_compared():
    other = replace(OUTCOMES[1], references=REFERENCES[::-1])
    with pytest.raises(ComparisonError, match="tested on different sentences") as told:
        results.compare_outcomes([OUTCOMES[0], other], command="", commit="")
    assert "\n" not in str(told.value)

    other = replace(OUTCOMES[1], signatures={"bleu": "BLEU|b", "chrf": "chrF2|a"})
    with pytest.raises(
        ComparisonError, match=r"scored differently, BLEU\|a, chrF2\|a and BLEU\|b, "
    ):
        results.compare_outcomes([OUTCOMES[0], other], command="", commit="")


def test_systems_are_tested_in_words_of_their_language():
    text = ["欧洲议会昨天批准了这项建议。", "理事会主席表示同意。"] * 4
    better, worse = (
        replace(OUTCOMES[number], references=text, hypotheses=written, language="zh")
        for number, written in ((1, text), (0, [line[2:] for line in text]))
    )
    [bleu, _] = results.compare_outcomes([better, worse], command="", commit="").differences

    assert 0 < bleu.value < 100


def test_the_table_shows_means_and_every_seed(compared):
    first, seed, *_ = report.render_rows(compared)

    assert first == [
        *("A  better", "30.5 (29.5–31.5)", "40.5 (39.5–41.5)", "4.00", "1.50 M"),
        *("800", "0.25 M", "0:02:05", "2,000", "–"),
    ]
    assert seed[:2] == ["   seed 1", "31.0 (30.0–32.0)"]


def test_what_is_not_known_of_a_seed_is_not_known_of_the_mean(compared):
    runs = [run.model_copy(update={"train_seconds": 60.0 * run.seed}) for run in compared.runs]
    runs[0] = runs[0].model_copy(update={"train_seconds": None})
    better, _, second, worse, *_ = report.render_rows(
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
    """Uncorrected, one pair in twenty of equal systems would pass for different."""
    p_values = {"bootstrap": 0.1, "bootstrap_holm": 0.2, "randomization": 0.3}
    pairs = [
        pair.model_copy(update=p_values | {"randomization_holm": 0.4})
        for pair in compared.differences
    ]
    [(title, cells)] = report.render_matrices(compared.model_copy(update={"differences": pairs}))

    assert [cell[-9:] for row in cells for cell in row] == ["", "p = 0.400", "p = 0.400", ""]
    assert "approximate randomisation, corrected by Holm" in title


def test_notes_say_what_was_equal_and_how_scores_were_made(compared):
    first, second, signatures = report.render_notes(compared)

    assert first == (
        "12 test sentences; equal budgets of 125 seconds; processor threads each: 1; parentheses "
        "hold 95 % intervals."
    )
    assert "comparable only between systems with the same tokens" in second
    assert signatures == "Signatures: BLEU|a, chrF2|a."
    runs = [run.model_copy(update={"threads": 0}) for run in compared.runs[:1]]
    mixed = compared.model_copy(update={"runs": (*runs, *compared.runs[1:])})
    assert "processor threads each: all, 1;" in report.render_notes(mixed)[0]


def test_the_picture_shows_means_of_seeds_and_every_curve(compared, tmp_path, monkeypatch):
    """By time, where every validation's is known."""
    drawn = {}

    def draw(path, intervals, curves, *, unit, metrics):
        drawn[path.name] = (intervals, curves, unit, metrics)

    monkeypatch.setattr(report, "draw_comparison", draw)
    report.draw_results(compared, OUTCOMES, tmp_path / "by time")
    unknown = [replace(OUTCOMES[0], seconds={400: 60.0}), *OUTCOMES[1:]]
    report.draw_results(compared, unknown, tmp_path / "by tokens")
    (best, _), curves, unit, metrics = drawn["by time"]

    assert (best.label, best.value, best.low, best.high) == ("better", 30.5, 29.5, 31.5)
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
    path = tmp_path / "translations.tsv"
    write_translations(path, lines, lines[::-1], found)
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
    assert "| A  better | 30.5 (29.5–31.5) |" in page
    assert "30.5 (29.5–31.5)" in capture.get()
    assert (tmp_path / "comparison.png").stat().st_size > 10_000


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
