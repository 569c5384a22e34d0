"""Quality estimation: the probability that a translation is good.

It is a logistic regression (``fitting.py``) over glass-box features (Fomicheva et al. 2020), mainly
the model's score, then lengths and repetition, which every engine provides at no cost. This file
needs only NumPy, so that translation does not depend on the packages for fitting.
"""

import math
from collections.abc import Sequence

from pydantic import Field, model_validator

from nmt_core.base.config import Config
from nmt_core.text.normalize import normalize
from nmt_core.text.translation import EMPTY_TRANSLATION, Translation

TENTHS = 10
"""Number of bins of confidence: below 0.1, from 0.1 to below 0.2, and so on to 1."""

MAX_DEVIATIONS = 4.0
"""Features are clipped to this many standard deviations from their mean on validation text."""

MIN_UNKNOWN_SENTENCES = 20
"""Minimum validation sentences with unknown words to estimate confidence of such sentences."""


class FeatureWeight(Config):
    """The weight of a feature in the log-odds, per standard deviation from its mean."""

    mean: float
    """Mean on validation text."""
    scale: float = Field(gt=0)
    """Standard deviation on validation text."""
    weight: float


class ReliabilityBin(Config):
    """Statistics of the translations whose confidence is in one tenth."""

    sentences: int
    confidence: float
    """Mean confidence."""
    good: float
    """Share of good translations."""


class Reliability(Config, extra="ignore"):
    """The reliability of confidences, measured on text that they were not fitted on.

    Earlier exports have additional values.
    """

    sentences: int
    good: float
    """Share of good translations."""
    area: float
    """Area under the ROC curve: the probability that a good translation has a higher confidence
    than a bad one."""
    error: float
    """Expected calibration error (Guo et al. 2017, equation 3), with ten bins: the mean distance
    between confidence and the share of good translations."""
    curve: tuple[ReliabilityBin, ...]
    """The bins that have translations, the lowest first."""


class ConfidenceModel(Config):
    """A logistic regression that separates good translations from bad ones."""

    good_chrf: float = Field(gt=0, lt=100)
    """Minimum chrF of a good translation, compared with its reference."""
    sentences: int
    """Number of validation sentences that it was fitted on."""
    sentences_unknown: int | None = None
    """Number of these with words unknown to training; None if not recorded."""
    intercept: float
    """Log-odds of a translation whose features all have their mean."""
    features: dict[str, FeatureWeight]
    """Weights by name of the feature; see ``measure_features``."""
    validation: tuple[int, ...] = Field(min_length=TENTHS, max_length=TENTHS)
    """Number of validation sentences in each tenth of confidence."""
    reliability: Reliability | None = None
    """Reliability on test text; None if all test translations are good, or all are bad."""

    @model_validator(mode="after")
    def _check(self) -> "ConfidenceModel":
        if unknown := self.features.keys() - measure_features("", EMPTY_TRANSLATION).keys():
            raise ValueError(f"the feature {min(unknown)!r} is unknown; update this program")
        return self

    def estimate(self, sources: Sequence[str], translations: Sequence[Translation]) -> list[float]:
        """Return the probability that the translation of each source is good, from 0 to 1."""
        weights = [(name, own.mean, own.scale, own.weight) for name, own in self.features.items()]
        estimated = []
        for features in map(measure_features, sources, translations):
            log_odds = self.intercept
            for name, mean, scale, weight in weights:
                deviation = (features[name] - mean) / scale
                if not -MAX_DEVIATIONS < deviation < MAX_DEVIATIONS:
                    deviation = math.copysign(MAX_DEVIATIONS, deviation)
                log_odds += weight * deviation
            estimated.append(0.5 * (1 + math.tanh(0.5 * log_odds)))
        return estimated

    def can_judge(self, translation: Translation) -> bool:
        """Return whether the model can estimate the confidence of a translation."""
        fitted = self.sentences_unknown is None or self.sentences_unknown >= MIN_UNKNOWN_SENTENCES
        return was_searched(translation) and (fitted or not translation.unknown_words)

    def judge(
        self, sources: Sequence[str], translations: Sequence[Sequence[Translation]]
    ) -> list[list[Translation]]:
        """Return the translations of each line with their confidence, where it can be estimated."""
        lines = [line for line, several in zip(sources, translations, strict=True) for _ in several]
        estimated = self.estimate(lines, [each for several in translations for each in several])
        confidences = iter(estimated)
        return [
            [
                each._replace(confidence=new if self.can_judge(each) else None)
                if was_searched(each)
                else each
                for each, new in zip(own, confidences, strict=False)  # takes len(own) confidences
            ]
            for own in translations
        ]


def is_unlike_training(translation: Translation) -> bool:
    """Return whether a translation has no confidence because of unknown words in its source."""
    return bool(translation.unknown_words) and translation.confidence is None


def was_searched(translation: Translation) -> bool:
    """Return whether a translation comes from a search, not from a memory or an empty line."""
    return bool(translation.ids or translation.score)


def measure_features(source: str, translation: Translation) -> dict[str, float]:
    """Return the features of a translation by name; lengths and ratios are logarithms.

    Lengths are in characters, because some languages have no spaces between words.
    """
    text, ids = translation.text, translation.ids
    length = math.log(1 + len(text))
    ratio = length - math.log(1 + len(normalize(source)))
    runs = [*zip(ids, ids[1:], ids[2:], strict=False)]
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
