"""The probability that a translation is good, from what every engine tells of it at no cost.

It is a logistic regression (``fitting.py``) of the glass box kind (Fomicheva et al. 2020): the
model's own score tells most, lengths and repetition nearly as much again. This file needs NumPy
alone, so that a model translates without what fitted it.
"""

import math
from collections.abc import Sequence

from pydantic import Field, model_validator

from nmt_core.base.config import Config
from nmt_core.text.normalize import normalize
from nmt_core.translation.translation import EMPTY_TRANSLATION, Translation

TENTHS = 10
"""Bins of confidence: below 0.1, from 0.1 to below 0.2, and so on to 1."""

FARTHEST = 4.0
"""Standard deviations from the mean of validation text beyond which a feature says no more."""

FEWEST_UNKNOWN = 20
"""Validation sentences with unknown words without which nothing is known of others with some."""

LONGEST_RUN = 3
"""Tokens of a run whose second occurrence counts as repetition."""


class FeatureWeight(Config):
    """What a feature adds to the log-odds for each standard deviation above its mean."""

    mean: float
    """On validation text."""
    scale: float = Field(gt=0)
    """Standard deviation there."""
    weight: float


class ReliabilityBin(Config):
    """The translations whose confidence lies in one tenth."""

    sentences: int
    confidence: float
    """Their mean confidence."""
    good: float
    """The share of them that is good."""


class Reliability(Config, extra="ignore"):
    """How far confidences can be trusted, measured on text that they were not fitted on.

    Earlier exports hold further values.
    """

    sentences: int
    good: float
    """The share of translations that are good."""
    area: float
    """Area under the ROC curve: the probability that of two translations, a good one and another,
    the good one has the higher confidence."""
    error: float
    """Expected calibration error (Guo et al. 2017, equation 3), with tenths: the mean distance
    between confidence and the share that is good."""
    curve: tuple[ReliabilityBin, ...]
    """The tenths that hold any, the lowest first."""


class ConfidenceModel(Config):
    """A logistic regression that tells good translations from others."""

    good_chrf: float = Field(gt=0, lt=100)
    """A translation is good if its chrF beside a reference is at least this."""
    sentences: int
    """Of validation text that it was fitted on."""
    sentences_unknown: int | None = None
    """Those of them that have words which training text never had; None if that is not known."""
    intercept: float
    """Log-odds of a translation whose features are all as usual."""
    features: dict[str, FeatureWeight]
    """By name, see ``measure_features``."""
    validation: tuple[int, ...] = Field(min_length=TENTHS, max_length=TENTHS)
    """Sentences of validation text whose confidence lies in each tenth."""
    reliability: Reliability | None = None
    """On test text; None if that was all good, or not good at all."""

    @model_validator(mode="after")
    def _check(self) -> "ConfidenceModel":
        if unknown := self.features.keys() - measure_features("", EMPTY_TRANSLATION).keys():
            raise ValueError(f"this program knows no feature {min(unknown)!r}; update it")
        return self

    def estimate(self, sources: Sequence[str], translations: Sequence[Translation]) -> list[float]:
        """Return the probability that the translation of each source is good, from 0 to 1."""
        estimated = []
        for features in map(measure_features, sources, translations):
            log_odds = self.intercept
            for name, own in self.features.items():
                deviation = (features[name] - own.mean) / own.scale
                log_odds += own.weight * min(max(deviation, -FARTHEST), FARTHEST)
            estimated.append(0.5 * (1 + math.tanh(0.5 * log_odds)))
        return estimated

    def can_judge(self, translation: Translation) -> bool:
        """Tell whether it was fitted on text of this kind, and the translation was searched for."""
        fitted = self.sentences_unknown is None or self.sentences_unknown >= FEWEST_UNKNOWN
        return was_searched(translation) and (fitted or not translation.unknown_words)

    def judge(
        self, sources: Sequence[str], translations: Sequence[Sequence[Translation]]
    ) -> list[list[Translation]]:
        """Return the translations of each line with their confidence, if they have one."""
        lines = [line for line, several in zip(sources, translations, strict=True) for _ in several]
        estimated = self.estimate(lines, [each for several in translations for each in several])
        confidences = iter(estimated)
        return [
            [
                each._replace(confidence=new if self.can_judge(each) else None)
                if was_searched(each)
                else each
                for each, new in zip(own, confidences, strict=False)  # one for each
            ]
            for own in translations
        ]


def is_unlike_training(translation: Translation) -> bool:
    """Tell whether words that training never had leave a translation without a confidence."""
    return bool(translation.unknown_words) and translation.confidence is None


def was_searched(translation: Translation) -> bool:
    """Tell whether a translation was found by a search, and is not that of an empty line."""
    return bool(translation.ids or translation.score)


def measure_features(source: str, translation: Translation) -> dict[str, float]:
    """Return what is known of a translation, by name; all in logarithms but shares and counts.

    Lengths are in characters, since not every language has spaces between words.
    """
    text, ids = translation.text, translation.ids
    length = math.log(1 + len(text))
    ratio = length - math.log(1 + len(normalize(source)))
    runs = [ids[start : start + LONGEST_RUN] for start in range(len(ids) - LONGEST_RUN + 1)]
    return {
        "score": translation.score,
        "source_length": length - ratio,
        "length_ratio": ratio,
        "length_ratio_squared": ratio**2,
        "token_length": length - math.log(1 + len(ids)),
        "word_length": length - math.log(1 + len(text.split())),
        "repetition": 1 - len(set(runs)) / len(runs) if runs else 0.0,
        "breaches": float(len(translation.breaches)),
    }
