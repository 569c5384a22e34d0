"""Comparisons: the order of systems, their intervals, costs and differences, and the report."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from rich.console import Console

from nmt_core.base.errors import NmtError
from nmt_core.base.languages import Languages
from nmt_core.text.translation import Translation
from nmt_core.training.settings import Budget
from stages.evaluate import write_translations
from stages.reporting import comparison
from stages.reporting.comparison import (
    Comparison,
    Outcome,
    Run,
    ScoreInterval,
    average_scores,
    compare_outcomes,
    read_translations,
    render_markdown,
    render_report,
    tabulate,
    write_report,
)
from stages.reporting.measures import TranslatedText

REFERENCES = ["The owl hears the fox.", "Nobody sees the river.", "The bridge is old."] * 4


def interval(value):
    return ScoreInterval(value=value, low=value - 1, high=value + 1)


def outcome(system, seed, hypotheses, bleu):
    """Return the outcome of a training that did not run."""
    run = Run(
        system=system,
        seed=seed,
        experiment=f"{system}-seed{seed}",
        fingerprint="f",
        scores={"bleu": interval(bleu), "chrf": interval(bleu + 10)},
        perplexity=4.0,
        parameters=1_500_000,
        steps=800,
        epochs=2,
        target_tokens=250_000,
        threads=1,
        train_seconds=125.0,
        sentences_per_second=None,
    )
    return Outcome(
        run=run,
        budget=Budget(seconds=125.0),
        sources=REFERENCES,
        references=REFERENCES,
        hypotheses=hypotheses,
        signatures={"bleu": "BLEU|a", "chrf": "chrF2|a"},
        language="en",
    )


WRONG = [line.replace("The", "An") for line in REFERENCES]
OUTCOMES = [
    outcome("worse", 1, WRONG, 20.0),
    outcome("better", 1, REFERENCES, 31.0),
    outcome("worse", 2, WRONG, 21.0),
    outcome("better", 2, REFERENCES, 30.0),
]


def compare(outcomes=OUTCOMES):
    return compare_outcomes(outcomes, command="make compare", commit="c0ffee")


@pytest.fixture(scope="module")
def compared():
    return compare()


def show(compared):
    console = Console(width=80)
    with console.capture() as capture:
        console.print(render_report(compared))
    return capture.get()


def change_runs(compared, **columns):
    """Return the comparison with changed values in its runs."""
    runs = (
        run.model_copy(update={name: values[n] for name, values in columns.items()})
        for n, run in enumerate(compared.runs)
    )
    return compared.model_copy(update={"runs": tuple(runs)})


def test_best_system_is_first_with_its_seeds(compared):
    assert {name: [run.seed for run in runs] for name, runs in compared.systems.items()} == {
        "better": [1, 2],
        "worse": [1, 2],
    }
    assert [*compared.scores] == ["better", "worse"]
    for pair in compared.differences:
        assert (pair.first, pair.second) == ("better", "worse")
        assert pair.value > 0
    assert [pair.metric for pair in compared.differences] == ["bleu", "chrf"]


def test_lowest_error_rate_is_best(monkeypatch):
    monkeypatch.setattr("nmt_core.evaluation.metrics.Bleu.higher_is_better", False)
    assert [*compare().scores] == ["worse", "better"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"references": REFERENCES[::-1]}, "different sentences"),
        ({"budget": Budget(steps=9)}, "different budgets"),
        ({"sources": REFERENCES[::-1]}, "different sentences"),
        ({"signatures": {"bleu": "BLEU|b", "chrf": "chrF2|a"}}, r"BLEU\|a.*BLEU\|b"),
        ({"signatures": {"chrf": "chrF2|a", "bleu": "BLEU|a"}}, "scored differently"),
    ],
)
def test_runs_with_different_tests_are_refused(changes, named):
    with pytest.raises(NmtError, match=f"worse-seed1 and better-seed1.*{named}"):
        compare([OUTCOMES[0], replace(OUTCOMES[1], **changes)])


def test_systems_are_tested_in_their_languages_words():
    text = ["欧洲议会昨天批准了这项建议。", "理事会主席表示同意。"] * 4
    better, worse = (
        replace(OUTCOMES[number], references=text, hypotheses=written, language="zh")
        for number, written in ((1, text), (0, [line[2:] for line in text]))
    )
    assert 0 < compare([better, worse]).differences[0].value < 100


@pytest.mark.parametrize(
    ("scores", "sentences", "expected"),
    [
        ([5.3], 1000, (5.3, 4.3, 6.3)),
        # variances of 0.25 by seeds (1 degree of freedom) and (1 / 1.96)² by 12 sentences (11)
        # make a standard error of 0.714 with 3.79 degrees, whose t is 2.837
        ([31.0, 30.0], 12, (30.5, 28.47, 32.53)),
        ([5.3, 19.7, 3.4], 1000, (9.47, 0.0, 31.31)),
    ],
)
def test_scores_are_averaged_over_seeds(scores, sentences, expected):
    mean = average_scores([*map(interval, scores)], sentences)
    assert (mean.value, mean.low, mean.high) == pytest.approx(expected, abs=0.01)


def test_tables_contain_scores_costs_and_differences(compared):
    scores, costs, differences = tabulate(compared)
    assert scores == (
        ["system", "BLEU", "chrF"],
        [
            ["better", "30.5 ± 0.7 (28.5–32.5)", "40.5 ± 0.7 (38.5–42.5)"],
            ["worse", "20.5 ± 0.7 (18.5–22.5)", "30.5 ± 0.7 (28.5–32.5)"],
        ],
    )
    row = ["4.00", "1.50 M", "800", "0.25 M", "0:02:05", "2,000", "–"]
    assert costs[1] == [["better", *row], ["worse", *row]]
    [[name, bleu, chrf]] = differences[1]
    assert name == "better – worse"
    assert bleu.startswith("+")
    assert "p " in chrf


def test_costs_are_means_or_unknown(compared):
    changed = change_runs(
        compared, train_seconds=[None, 120.0, 60.0, 120.0], steps=[1, 2, 3, 5], seed=[1, 2, 1, 2]
    )
    better, worse = tabulate(changed)[1][1]
    assert (better[3], better[5:7]) == ("2", ["–", "–"])
    assert (worse[3], worse[5:7]) == ("4", ["0:01:30", "3,125"])


@pytest.mark.parametrize(
    ("difference", "p_value", "text"),
    [(1.25, 0.0004, "+1.2, p < 0.001"), (-0.5, 0.0312, "-0.5, p = 0.031")],
)
def test_differences_have_signs_and_p_values(compared, difference, p_value, text):
    pair = compared.differences[0].model_copy(update={"value": difference, "p_value": p_value})
    changed = compared.model_copy(update={"differences": (pair,)})
    assert tabulate(changed)[2][1] == [["better – worse", text, "–"]]


@pytest.mark.parametrize(
    ("steps", "tokens", "named"),
    [
        ([100] * 4, [5000] * 4, []),
        ([100, 120, 100, 120], [5000] * 4, []),
        ([41, 96, 100, 100], [5000] * 4, ["updates: from 41 of better, seed 1 to 100 of worse"]),
        ([100] * 4, [5000, 5000, 5000, 6500], ["target tokens: from 5,000 of better, seed 1 to"]),
    ],
)
def test_unequal_training_is_reported(compared, steps, tokens, named):
    changed = change_runs(compared, steps=steps, target_tokens=tokens)
    unequal = re.findall(r"^\*\*UNEQUAL\*\* .*", render_markdown(changed), re.MULTILINE)
    assert len(unequal) == len(named)
    assert all(words in note for words, note in zip(named, unequal, strict=True))


def test_report_is_for_people_and_programs(compared, tmp_path):
    write_report(compared, tmp_path)
    rows = pd.read_csv(tmp_path / "comparison.csv")
    assert [*zip(rows["system"], rows["seed"], strict=True)] == [
        (run.system, run.seed) for run in compared.runs
    ]
    page = (tmp_path / "comparison.md").read_text()
    stored = Comparison.model_validate_json((tmp_path / "comparison.json").read_text())
    assert stored == compared
    assert page == render_markdown(compared)
    assert (tmp_path / "comparison.png").read_bytes().startswith(b"\x89PNG")
    assert "make compare" in page
    assert "c0ffee" in page
    assert "| better | 30.5 ± 0.7 (28.5–32.5) |" in page
    for part in page.split("\n\n"):  # equally many cells in each row of a table
        assert len({row.count("|") for row in part.splitlines() if row.startswith("|")}) <= 1
    for text in ("30.5 ± 0.7 (28.5–32.5)", "0:02:05", "better – worse"):
        assert text in show(compared)


def test_one_system_has_no_differences():
    alone = compare(OUTCOMES[::2])
    assert len(tabulate(alone)) == 2
    assert "p = " not in show(alone)


def test_translations_are_read_as_written(tmp_path):
    """Quotes, empty lines and words with a meaning for programs are text."""
    lines = ['"', "", "NA", 'so "they" said', "1.50", " # x", "a\x0bb\u2028c"]
    found = [Translation(line, -0.5, (), (), ()) for line in lines]
    languages = Languages(source="de", target="en")
    path = tmp_path / "translations.tsv"
    write_translations(path, TranslatedText(languages, lines, lines[::-1], [], found))
    rows = read_translations(path.read_text(encoding="utf-8"))
    assert [row["source"] for row in rows] == [row["hypothesis"] for row in rows] == lines
    assert [row["reference"] for row in rows] == lines[::-1]


def test_results_missing_in_dvc_are_named(monkeypatch):
    def refuse(*_):
        raise FileNotFoundError

    away = SimpleNamespace(read_text=refuse)
    monkeypatch.setattr(comparison, "DVCFileSystem", lambda *_, rev: away)
    with pytest.raises(NmtError, match=r"experiment e1 .*dvc exp remove e1"):
        comparison.read_outcome("rnn", 1, "e1", "c0ffee")
