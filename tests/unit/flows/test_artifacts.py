"""What Prefect shows beside a run: all that was measured, and no cell that is cut."""

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


def test_outputs_of_stages_become_artifacts(project, monkeypatch):
    shown = {}
    for kind in ("create_table_artifact", "create_markdown_artifact"):
        monkeypatch.setattr(
            artifacts,
            kind,
            lambda content, *, key, description: shown.update({key: (content, description)}),
        )
    artifacts.publish()
    assert shown == {}
    files.write_json(artifacts.SCORES, FOUND)
    artifacts.publish()
    signatures = "2,000 test sentences\n\n- BLEU: `BLEU|nrefs:1|tok:13a`\n- chrF: `chrF2|nrefs:1`"
    assert shown == {"scores": (artifacts.render_scores(Evaluation.parse(FOUND)), signatures)}

    verdict = run_pages.judge(good=10).model_dump(mode="json")
    files.write_json(artifacts.SCORES, run_pages.MEASURED | {"verdict": verdict})
    files.write_json(
        artifacts.EXAMPLES,
        [{"source": "a | b <b> \\ & c\nd", "hypothesis": "Owl", "reference": "An owl"}],
    )
    artifacts.publish()
    summary, _, remark, *_ = shown["report"][0].splitlines()
    assert summary.startswith("**Not ready: 2% of the test sentences are translated well")
    assert remark.startswith("- **2% of the test sentences")
    cells = shown["translations"][0].splitlines()[-1]
    assert cells == "| a \\| b &lt;b> \\\\ &amp; c d | Owl | An owl |"
