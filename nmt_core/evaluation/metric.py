"""The contract of metrics, and a test set whose slices are scored.

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
"""A reference translation of a sentence, or several, for metrics that can compare with several."""

Counts = Float[np.ndarray, "N C"]
"""The counts of each sentence of a test set."""


class ScoreInterval(Config):
    """A score with its 95 % confidence interval."""

    value: float
    low: float
    """Lower end, by bootstrap resampling (Koehn 2004)."""
    high: float
    """Upper end."""


class Score(ScoreInterval):
    """A score of a whole test set."""

    signature: str
    """The settings that another program needs to compute the same."""
    details: str = ""
    """Components of the value, such as n-gram precisions and lengths."""

    @property
    def interval(self) -> ScoreInterval:
        """The score with its interval alone."""
        return ScoreInterval(value=self.value, low=self.low, high=self.high)


@dataclass(frozen=True)
class Metric(ABC):
    """A score for the translations of a test set.

    Another package offers its own by an entry point of ``nmt.metrics``::

        class Exact(Metric):
            label = "exact"

            def score(self, hypotheses, references, sources, *, resamples=0):
                equal = [one == other for one, other in zip(hypotheses, references, strict=True)]
                value = 100 * sum(equal) / len(equal)
                return Score(value=value, low=value, high=value, signature="exact", details="")

    Raises:
        ConfigError: if the tokenizer of the language's words is not installed.
    """

    label: ClassVar[str]
    """The label of the metric."""
    higher_is_better: ClassVar[bool] = True
    takes_several_references: ClassVar[bool] = False
    """True if a sentence may have several references; otherwise each reference is a text."""

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

        Without resamples of the bootstrap, the interval has no width.

        Raises:
            CorpusError: if the lines do not pair up.
        """

    @property
    def signature(self) -> str:
        """The settings of scores, without the number of resamples."""
        lines = ["Any line of some words."]
        return self.score(lines, lines, lines).signature


class SummedMetric(Metric):
    """A metric that is a function of sums over sentences, so that differences can be tested."""

    @abstractmethod
    def counts(
        self, hypotheses: Sequence[str], references: Sequence[Reference], sources: Sequence[str]
    ) -> Counts:
        """Return the counts of each sentence."""

    @abstractmethod
    def score_of_sums(self, sums: Float[np.ndarray, "R C"]) -> Float[np.ndarray, " R"]:
        """Return the scores of test sets, each given by the sum of its sentences' counts."""


def check_pairs(hypotheses: Sequence[str], references: Sequence[Reference]) -> None:
    """Check that there is a hypothesis for each reference.

    Raises:
        CorpusError: if not.
    """
    if len(hypotheses) != len(references):
        raise CorpusError(
            f"{len(hypotheses)} hypotheses do not pair up with {len(references)} references; "
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
    """Codes of both."""
