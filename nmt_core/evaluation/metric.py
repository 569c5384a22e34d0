"""The interface of metrics.

Letters: N sentences, C counts of a sentence, R resampled test sets.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from nmt_core.base.config import Config
from nmt_core.base.errors import CorpusError

Reference = str | Sequence[str]
"""One reference translation of a sentence, or several for metrics that support them."""

Counts = Float[np.ndarray, "N C"]
"""Statistics of each sentence of a test set, from whose sums a metric is computed."""


class ScoreInterval(Config):
    """A score with its 95 % confidence interval."""

    value: float
    low: float
    """Lower bound, by bootstrap resampling (Koehn 2004)."""
    high: float
    """Upper bound."""


class Score(ScoreInterval):
    """The score of a test set."""

    signature: str
    """The settings that another program needs to compute the same score."""
    details: str = ""
    """Components of the value, such as n-gram precisions and lengths."""

    @property
    def interval(self) -> ScoreInterval:
        """The score and its interval, without signature and details."""
        return ScoreInterval(value=self.value, low=self.low, high=self.high)


@dataclass(frozen=True)
class Metric(ABC):
    """A metric of the translations of a test set.

    Example: a metric that another package offers by an entry point of ``nmt.metrics``::

        class Exact(Metric):
            label = "exact"

            def score(self, hypotheses, references, sources, *, resamples=0):
                equal = [h == r for h, r in zip(hypotheses, references, strict=True)]
                value = 100 * sum(equal) / len(equal)
                return Score(value=value, low=value, high=value, signature="exact", details="")

    Raises:
        ConfigError: if the word tokenizer of the target language is not installed.
    """

    label: ClassVar[str]
    """Name of the metric for people."""
    higher_is_better: ClassVar[bool] = True
    takes_several_references: ClassVar[bool] = False
    """Whether a sentence may have several references."""

    language: str
    """Code of the target language, such as en or zh-Hant."""

    @abstractmethod
    def score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[Reference],
        sources: Sequence[str],
        *,
        resamples: int = 0,
    ) -> Score:
        """Return the score of a test set of raw text, one line per sentence.

        ``resamples`` is the number of bootstrap samples; 0 gives an interval without width.

        Raises:
            CorpusError: if the numbers of lines differ.
        """

    @property
    def signature(self) -> str:
        """The settings of the metric, without the number of resamples."""
        lines = ["Any line of some words."]
        return self.score(lines, lines, lines).signature


class SummedMetric(Metric):
    """A metric that is computed from sums over sentences, so that differences can be tested."""

    @abstractmethod
    def counts(
        self, hypotheses: Sequence[str], references: Sequence[Reference], sources: Sequence[str]
    ) -> Counts:
        """Return the counts of each sentence."""

    @abstractmethod
    def score_of_sums(self, sums: Float[np.ndarray, "R C"]) -> Float[np.ndarray, " R"]:
        """Return the scores of test sets from the sums of their sentences' counts."""


def check_pairs(hypotheses: Sequence[str], references: Sequence[Reference]) -> None:
    """Raise a ``CorpusError`` if the numbers of hypotheses and references differ."""
    if len(hypotheses) != len(references):
        raise CorpusError(
            f"there are {len(hypotheses)} hypotheses for {len(references)} references; "
            f"translate the whole test set again"
        )


Mask = NDArray[np.bool_]
"""One boolean per test sentence: True if it belongs to the slice."""


@dataclass(frozen=True)
class SlicedText:
    """A test set whose slices are scored."""

    sources: Sequence[str]
    references: Sequence[str]
    languages: tuple[str, str]
    """Codes of source and target language."""
