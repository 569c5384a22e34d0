"""A metric is one file, or another package's: translation edit rate, which nobody wrote here, is
measured, shown, compared and judged by.
"""

import sys

import pytest
from rich.console import Console
from sacrebleu.metrics.ter import TER

from flows import artifacts
from nmt_core.base import config
from nmt_core.evaluation import metrics, registered
from nmt_core.evaluation.statistics.gate import Candidate, GateConfig, GateError, judge
from nmt_core.evaluation.statistics.significance import compare_all
from stages.comparison import report, results
from stages.params import EvaluateParams
from stages.reporting import summary
from stages.reporting.evaluation import Evaluation, flatten
from stages.train import choose_metric
from tests.support.outcomes import outcome
from tests.support.packages import install
from tests.support.run_pages import MEASURED

TER_FILE = """
import numpy as np
from sacrebleu.metrics.ter import TER

from nmt_core.evaluation.sacrebleu import SacreBleuMetric


class Ter(SacreBleuMetric):
    label = "TER"
    higher_is_better = False

    def scorer(self):
        return TER()

    def score_of_sums(self, sums):
        return 100 * sums[:, 0] / np.maximum(sums[:, 1], 1)
"""
THEIRS = """
from nmt_core.evaluation.metric import Metric, Score


class Translated(Metric):
    label = "translated"

    def score(self, hypotheses, references, sources, *, resamples=0):
        other = [source != line for source, line in zip(sources, hypotheses, strict=True)]
        value = 100 * sum(other) / len(other)
        return Score(value=value, low=value, high=value, signature="translated|1", details="")
"""
SOURCES = [f"Der Rat Nummer {number} tagt im alten Haus." for number in range(60)]
REFERENCES = [f"The council number {number} has met in the old house." for number in range(60)]
GOOD = [line.replace("old", "big") if n % 3 else line for n, line in enumerate(REFERENCES)]
BAD = [" ".join(line.split()[: 4 + n % 5]) for n, line in enumerate(REFERENCES)]


@pytest.fixture(autouse=True)
def _more_metrics(tmp_path, monkeypatch):
    """A file among ours, and the package of somebody else."""
    (tmp_path / "ter.py").write_text(TER_FILE)
    monkeypatch.setattr(metrics, "__path__", [*metrics.__path__, str(tmp_path)])
    monkeypatch.setattr(registered.METRICS, "ours", registered.list_metrics())
    install(tmp_path, monkeypatch, THEIRS, metrics={"translated": "Translated"})
    yield
    sys.modules.pop(f"{metrics.__name__}.ter", None)


def ter_of(hypotheses):
    return TER().corpus_score(hypotheses, [REFERENCES]).score


def scores(hypotheses, names=("bleu", "ter", "translated")):
    params = config.build(EvaluateParams, {"metrics": names, "resamples": 50}, at="evaluate")
    return {
        name: registered.load_metric(name, "en").score(
            hypotheses, REFERENCES, SOURCES, resamples=params.resamples
        )
        for name in params.metrics
    }


def test_it_is_measured_as_sacrebleu_does():
    found = scores(BAD)

    assert found["ter"].value == ter_of(BAD)
    assert found["ter"].low < found["ter"].value < found["ter"].high
    assert found["ter"].signature.startswith("TER|nrefs:1|bs:50|seed:12345|case:lc|")
    assert found["translated"].value == 100
    assert scores(SOURCES)["translated"].value == 0
    assert "chrf" not in found


def test_it_is_shown():
    evaluation = Evaluation.parse(MEASURED | flatten(scores(BAD)))
    number = f"{ter_of(BAD):.1f}"
    console = Console(width=200)
    with console.capture() as capture:
        console.print(summary.score_table(evaluation))

    assert f"TER {number}" in " ".join(capture.get().split())
    rows = artifacts.render_scores(evaluation)
    assert ("TER", float(number)) in [(row["score"], row["value"]) for row in rows]


def test_a_model_may_be_selected_by_it():
    name, metric = choose_metric("ter", "en")

    assert (name, metric.higher_is_better) == ("ter", False)
    assert choose_metric("loss", "en")[0] == "bleu"
    assert "|tok:zh|" in choose_metric("loss", "zh")[1].signature


def compared(*names):
    outcomes = [
        outcome(
            system,
            1,
            written,
            30.0,
            sources=SOURCES,
            references=REFERENCES,
            signatures={name: registered.load_metric(name, "en").signature for name in names},
            scores={n: score.interval for n, score in scores(written, names).items()},
        )
        for system, written in (("bad", BAD), ("good", GOOD))
    ]
    return outcomes, results.compare_outcomes(outcomes, command="", commit="")


def test_systems_are_compared_by_it(tmp_path):
    """The lowest is the best; what is no function of sums is shown, and not tested."""
    outcomes, found = compared("ter", "translated", "bleu", "chrf")
    by_metric = {pair.metric: pair for pair in found.differences}
    report.write_report(found, outcomes, tmp_path)
    page = (tmp_path / "comparison.md").read_text()

    assert list(found.systems) == ["good", "bad"]
    assert list(by_metric) == ["ter", "bleu", "chrf"]
    assert by_metric["ter"].value == pytest.approx(ter_of(GOOD) - ter_of(BAD))
    assert by_metric["ter"].value < 0 < by_metric["bleu"].value
    assert by_metric["ter"].randomization_holm < 0.05
    assert "| system | TER | translated | BLEU | chrF | perplexity |" in page
    assert f"| A  good | {ter_of(GOOD):.1f} (" in page
    assert "TER above the diagonal and BLEU below the diagonal; " in page
    assert "chrF above the diagonal; " in page
    assert (tmp_path / "comparison.png").exists()


def contest(champion, challenger, *names):
    old, new = (Candidate("it", SOURCES, REFERENCES, lines) for lines in (champion, challenger))
    return judge(old, new, GateConfig(metrics=list(names)), languages=("de", "en"))


def test_a_challenger_is_judged_by_it():
    gain = contest(BAD, GOOD, "ter", "bleu")
    [ter, bleu] = gain.effects

    assert gain.outcome == "promote"
    assert gain.reason.startswith(f"TER is {ter_of(BAD) - ter_of(GOOD):.2f} lower, which chance")
    assert ter.difference == pytest.approx(ter_of(GOOD) - ter_of(BAD))
    assert ter.gain == -ter.difference > 0
    assert (ter.champion, ter.challenger) == pytest.approx((ter_of(BAD), ter_of(GOOD)))
    assert (ter.metric, bleu.metric) == ("ter", "bleu")
    assert bleu.gain == bleu.difference > 0
    assert [how.partition("|")[0] for how in gain.signatures] == ["TER", "BLEU"]
    loss = contest(GOOD, BAD, "ter")
    assert loss.outcome == "reject"
    assert "TER is" in loss.reason
    assert " higher, which chance" in loss.reason


def test_what_cannot_be_tested_judges_nobody():
    with pytest.raises(GateError, match="leave translated out of the gate's metrics"):
        contest(BAD, GOOD, "bleu", "translated")
    assert not compare_all(
        {"one": [GOOD], "other": [BAD]}, REFERENCES, SOURCES, metrics=["translated"], language="en"
    )
