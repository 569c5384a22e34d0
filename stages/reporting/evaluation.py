"""The result of an evaluation, stored in ``reports/evaluate.json``.

On disk the scores have flat keys, which DVC and MLflow can compare: ``bleu``, ``bleu_low``,
``bleu_high``, ``bleu_signature``, ``bleu_details``. A part that was not measured is ``{}``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from nmt_core.base import config, files
from nmt_core.base.config import Config
from nmt_core.evaluation.metric import Score, ScoreInterval
from nmt_core.evaluation.quality import KeptLiterals
from nmt_core.evaluation.registry import find_metric_names
from nmt_core.evaluation.slices import SliceScore
from nmt_core.translation.confidence import ConfidenceModel
from stages.reporting.download_report import Result

MAX_SCORES = 11
"""Maximum number of scores in a metrics file, which holds at most 15 numbers."""


class Remark(Config):
    """A problem of a model, and advice."""

    what: str
    """The problem, in one sentence."""
    advice: str
    """The advice, in one or two sentences."""
    blocks: bool
    """Whether the problem makes the model not ready."""


class RunVerdict(Config):
    """The verdict on a run: whether the model is ready, and its problems."""

    ready: bool
    summary: str
    """One sentence."""
    remarks: tuple[Remark, ...]
    """Remarks, blocking ones first."""


class ConfidenceReport(Result):
    """The confidence of translations, fitted on validation text."""

    missing: str = ""
    """The reason if there is no confidence, otherwise empty."""
    model: ConfidenceModel | None = None


class DirectionEvaluation(Result):
    """The results of one direction of a multilingual model."""

    scores: dict[str, ScoreInterval]
    sentences: int
    length_ratio: float
    length_penalty: float
    off_target: float
    """Share of translations in another language of the model."""
    confidence: ConfidenceReport
    trained: bool = True
    """The training text had this direction."""
    pivot: str | None = None
    """Language through which the model translates; None translates directly."""


class Evaluation(Result):
    """Everything that the evaluate stage measures; the most important metric is first."""

    scores: dict[str, Score]
    sentences: int
    cross_entropy: float
    perplexity: float
    length_ratio: float
    source_unknown_rate: float = 0.0
    failures: dict[str, int] = Field({})
    literals: KeptLiterals = KeptLiterals(lines=0, kept=0)
    confidence: ConfidenceReport = ConfidenceReport(missing="an earlier version did not fit it")
    length_penalty: float = 1.0
    slices: dict[str, SliceScore] = Field({})
    verdict: RunVerdict | None = None
    """None in results of earlier versions."""
    off_target: float = 0.0
    """Share of translations in another language of a multilingual model."""
    directions: dict[str, DirectionEvaluation] = Field({})
    """Results by direction of a multilingual model, whose scores are averages of these."""

    @property
    def first_metric(self) -> str:
        """Name of the most important metric."""
        return next(iter(self.scores))

    @property
    def first_score(self) -> Score:
        """Score in the most important metric."""
        return self.scores[self.first_metric]

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> "Evaluation":
        """Return the result from the content of ``evaluate.json``.

        Raises:
            ConfigError: if the content is not a result.
        """
        return config.build(cls, {**values, "scores": _nest(values)}, at="evaluate.json")

    @classmethod
    def read(cls, path: Path) -> "Evaluation":
        """Return the result from a file."""
        return cls.parse(files.read_json(path))

    def dump(self) -> dict[str, Any]:
        """Return the content of ``evaluate.json``."""
        flat = self.model_dump(mode="json", exclude={"scores"})
        flat["confidence"] = self.confidence.model_dump(mode="json", exclude_unset=True)
        if self.verdict is None:
            del flat["verdict"]
        if not self.directions:
            del flat["directions"], flat["off_target"]
        return _flatten(self.scores) | flat

    def summarize(self) -> dict[str, float]:
        """Return the few numbers that ``dvc metrics`` compares."""
        scores = {name: score.value for name, score in self.scores.items()}
        return {
            **dict(list(scores.items())[:MAX_SCORES]),
            "loss": self.cross_entropy,
            "perplexity": self.perplexity,
            "length_ratio": self.length_ratio,
            "failures": sum(self.failures.values()),
        }


def _flatten(scores: Mapping[str, Score]) -> dict[str, Any]:
    return {
        name if field == "value" else f"{name}_{field}": value
        for name, score in scores.items()
        for field, value in score.model_dump().items()
    }


def _nest(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    fields = [field for field in Score.model_fields if field != "value"]
    return {
        name: {"value": values[name]}
        | {field: values[f"{name}_{field}"] for field in fields if f"{name}_{field}" in values}
        for name in find_metric_names(values)
    }
