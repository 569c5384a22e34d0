"""What Prefect shows beside a run: all that was measured, and no cell that is cut."""

from types import SimpleNamespace

import pytest

from flows import artifacts
from nmt_core.base import files
from stages.reporting.evaluation import Evaluation
from tests.support import run_pages

FOUND = run_pages.MEASURED | {
    "bleu": 12.54,
    "bleu_low": 11.0,
    "bleu_high": 14.04,
    "bleu_signature": "BLEU|nrefs:1|tok:13a",
    "chrf": 30.25,
    "chrf_low": 29.0,
    "chrf_high": 31.0,
    "sentences": 2000,
    "perplexity": 1.126,
    "failures": {"empty": 3, "copied": 0, "too_long": 2},
}


def test_scores_have_intervals_and_failures_are_counted():
    assert artifacts.render_scores(Evaluation.parse(FOUND)) == [
        {"score": "BLEU", "value": 12.5, "95 %": "11.0 to 14.0"},
        {"score": "chrF", "value": 30.2, "95 %": "29.0 to 31.0"},
        {"score": "perplexity", "value": 1.13, "95 %": ""},
        {"score": "unusable translations: 3 empty, 0 copied, 2 too long", "value": 5, "95 %": ""},
    ]


def test_signatures_are_whole():
    assert artifacts.describe_measures(Evaluation.parse(FOUND)) == (
        "Scores on the 2,000 sentences of the test set\n\n"
        "- BLEU: `BLEU|nrefs:1|tok:13a`\n"
        "- chrF: `chrF2|nrefs:1`"
    )


def test_a_cell_is_text_and_nothing_else():
    told = artifacts.render_table(["source"], [["a | b <b> \\\\ & c\nd"]])

    assert told == "| source |\n| --- |\n| a \\| b &lt;b> \\\\\\\\ &amp; c d |"


def test_what_the_stages_have_left_so_far_is_shown(project, monkeypatch):
    shown = {}
    for name in ("create_table_artifact", "create_markdown_artifact"):
        monkeypatch.setattr(artifacts, name, lambda told, *, key, **_: shown.update({key: told}))
    artifacts.publish()
    assert {} == shown
    files.write_json(artifacts.SCORES, FOUND)
    artifacts.publish()
    assert ["scores"] == [*shown]
    files.write_json(
        artifacts.SCORES,
        run_pages.MEASURED | {"verdict": run_pages.judge(good=10).model_dump(mode="json")},
    )
    artifacts.publish()
    told = shown["report"].splitlines()
    assert told[0].startswith("**Not ready: 2% of the test sentences are translated well")
    assert told[2].startswith("- **2% of the test sentences")
    assert (
        "| with a number, date or time | 60 | 30.0 (27.0 to 33.0) | 54.0 (52.0 to 56.0) |" in told
    )
    assert "| questions | 0 |  |  |" in told
    files.write_json(
        artifacts.EXAMPLES, [{"source": "Eule", "hypothesis": "Owl", "reference": "An owl"}]
    )
    artifacts.publish()

    assert shown["translations"].splitlines()[-1] == "| Eule | Owl | An owl |"


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("furry-skylark", {}, "train de-en c4bbf99"),
        ("furry-skylark", {"revision": "v1", "models": ["rnn"]}, "train de-en rnn v1"),
        ("train data=demo", {}, "train data=demo"),
        ("evaluate on gpu", {}, "evaluate on gpu"),
    ],
)
def test_a_run_keeps_the_name_that_somebody_gave_it(monkeypatch, name, given, expected):
    languages = SimpleNamespace(languages=SimpleNamespace(source="de", target="en"))
    run = SimpleNamespace(
        get_name=lambda: name, get_parameters=lambda: given, get_flow_name=lambda: "train"
    )
    monkeypatch.setattr(artifacts, "flow_run", run)
    monkeypatch.setattr(artifacts, "load", lambda *_: languages)
    monkeypatch.setattr(artifacts, "short_commit", lambda: "c4bbf99")

    assert artifacts.name_run() == expected
