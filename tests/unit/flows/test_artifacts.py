"""The report that Prefect shows beside a run."""

from flows import train
from nmt_core.base import files
from stages import paths
from tests.support import run_pages

MEASURED = run_pages.MEASURED | {
    "bleu": 12.54,
    "bleu_low": 11.0,
    "bleu_high": 14.04,
    "bleu_signature": "BLEU|tok:13a",
    "sentences": 2000,
    "perplexity": 1.126,
    "failures": {"empty": 3, "too_long": 2},
}


def test_report_shows_verdict_scores_and_translations(project, monkeypatch):
    shown = {}
    monkeypatch.setattr(
        train, "create_markdown_artifact", lambda text, *, key, **_: shown.update({key: text})
    )
    train.publish()
    assert shown == {}
    files.write_json(paths.REPORTS / "evaluate.json", MEASURED)
    train.publish()
    assert shown["report"].startswith("| 2,000 test sentences |")
    for row in (
        r"BLEU | 12.5 | 11.0 to 14.0 | `BLEU\|tok:13a` |",
        "perplexity | 1.13 |",
        "empty | 3 |",
        "too long | 2 |",
    ):
        assert f"\n| {row}" in shown["report"]

    verdict = run_pages.judge(good=10).model_dump(mode="json")
    files.write_json(paths.REPORTS / "evaluate.json", MEASURED | {"verdict": verdict})
    example = {"source": "a | b <b>", "hypothesis": "Owl", "reference": "An owl"}
    files.write_json(paths.REPORTS / "examples.json", [example])
    train.publish()
    summary, _, remark, *_ = shown["report"].splitlines()
    assert summary.startswith("**Not ready: 2% of the test sentences are translated well")
    assert remark.startswith("- **2% of the test sentences")
    assert r"| ` a \| b <b> ` | ` Owl ` | ` An owl ` |" in shown["report"]
