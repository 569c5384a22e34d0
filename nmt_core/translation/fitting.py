"""Fit quality estimation and the length penalty on validation text."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nmt_core.base.config import Config
from nmt_core.text.side import Tokenized
from nmt_core.text.translation import Translation
from nmt_core.translation.confidence import (
    MAX_DEVIATIONS,
    TENTHS,
    ConfidenceModel,
    FeatureWeight,
    Reliability,
    ReliabilityBin,
    measure_features,
)
from nmt_core.translation.translator import Translator

MIN_SENTENCES = 200
"""Minimum validation sentences for fitting."""

MIN_PER_CLASS = 20
"""Minimum good translations, and minimum bad translations."""

L2_PENALTY = 3.0
"""L2 regularization of the weights, added to the summed log-loss of all sentences."""

WEIGHT_BOUNDS = {
    "score": (0.0, None),
    "source_length": (None, None),
    "length_ratio": (None, None),
    "length_ratio_squared": (None, 0.0),
    "token_length": (None, None),
    "word_length": (None, None),
    "repetition": (None, 0.0),
    "breaches": (None, 0.0),
}
"""Bounds of each feature's weight, so that a lower score, an unusual length, repetition or lost
literals never raise the confidence."""


def tabulate_features(
    sources: Sequence[str], translations: Sequence[Translation], names: Sequence[str]
) -> NDArray[np.float64]:
    """Return the features of each translation, (translations, names)."""
    all_features = map(measure_features, sources, translations)
    rows = [[features[name] for name in names] for features in all_features]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(names))


def standardize(
    rows: NDArray[np.float64], means: NDArray[np.float64], scales: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return features in standard deviations from their means, clipped to ``MAX_DEVIATIONS``."""
    return np.clip((rows - means) / scales, -MAX_DEVIATIONS, MAX_DEVIATIONS)


def find_tenths(confidences: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of each confidence's tenth, from 0."""
    return np.minimum((confidences * TENTHS).astype(np.int64), TENTHS - 1)


def explain_unfit(good: NDArray[np.bool_]) -> str | None:
    """Return the reason why nothing can be fitted on so few sentences; None if it can."""
    total, count = len(good), int(good.sum())
    if total < MIN_SENTENCES:
        return f"fitting needs {MIN_SENTENCES} validation sentences, but there are {total}"
    if not MIN_PER_CLASS <= count <= total - MIN_PER_CLASS:
        return (
            f"{count} of {total} validation translations are good, but fitting needs "
            f"{MIN_PER_CLASS} good and {MIN_PER_CLASS} bad ones; change evaluate.good_chrf"
        )
    return None


def fit_confidence(
    sources: Sequence[str],
    translations: Sequence[Translation],
    good: NDArray[np.bool_],
    *,
    good_chrf: float,
) -> ConfidenceModel:
    """Return a model of the probability that a translation is good.

    Args:
        sources: validation sentences.
        translations: the translation of each sentence.
        good: whether each translation is good.
        good_chrf: minimum chrF of a good translation.
    """
    rows = tabulate_features(sources, translations, list(WEIGHT_BOUNDS))
    means, scales = rows.mean(axis=0), rows.std(axis=0)
    scales[np.ptp(rows, axis=0) == 0] = 1.0  # avoids a division by 0 for constant features
    *weights, intercept = _fit_weights(standardize(rows, means, scales), good).tolist()
    columns = zip(WEIGHT_BOUNDS, means.tolist(), scales.tolist(), weights, strict=True)
    model = ConfidenceModel(
        good_chrf=good_chrf,
        sentences=len(good),
        sentences_unknown=sum(bool(each.unknown_words) for each in translations),
        intercept=intercept,
        features={
            name: FeatureWeight(mean=mean, scale=scale, weight=weight)
            for name, mean, scale, weight in columns
        },
        validation=(0,) * TENTHS,
    )
    tenths = find_tenths(np.array(model.estimate(sources, translations)))
    counts = np.bincount(tenths, minlength=TENTHS).tolist()
    return model.model_copy(update={"validation": tuple(counts)})


def _fit_weights(rows: NDArray[np.float64], good: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the weights of the standardized features, then the intercept."""
    from scipy.optimize import minimize  # takes 0.2 s
    from scipy.special import expit

    inputs = np.column_stack([rows, np.ones(len(rows))])
    penalty = np.array([*[L2_PENALTY] * rows.shape[1], 0.0])

    def lose(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        log_odds = inputs @ weights
        loss = np.logaddexp(0, log_odds).sum() - log_odds[good].sum()
        slope = inputs.T @ (expit(log_odds) - good)
        return loss + (penalty * weights**2).sum() / 2, slope + penalty * weights

    start, bounds = np.zeros(inputs.shape[1]), [*WEIGHT_BOUNDS.values(), (None, None)]
    fitted: NDArray[np.float64] = minimize(lose, start, jac=True, bounds=bounds).x  # L-BFGS-B
    return fitted


def measure_reliability(
    confidences: NDArray[np.float64], good: NDArray[np.bool_]
) -> Reliability | None:
    """Return the reliability of confidences, or None if all translations are good, or all bad."""
    if good.all() or not good.any():
        return None
    tenths = find_tenths(confidences)
    masks = [tenths == tenth for tenth in np.unique(tenths)]
    return Reliability(
        sentences=len(good),
        good=float(good.mean()),
        area=compute_area(confidences, good),
        error=compute_error(confidences, good),
        curve=tuple(
            ReliabilityBin(
                sentences=int(mask.sum()),
                confidence=float(confidences[mask].mean()),
                good=float(good[mask].mean()),
            )
            for mask in masks
        ),
    )


def compute_area(confidences: NDArray[np.float64], good: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve; ties count one half.

    It is the Mann-Whitney statistic divided by the number of pairs (Fawcett 2006, section 7).
    """
    bad, ours = np.sort(confidences[~good]), confidences[good]
    below = np.searchsorted(bad, ours, side="left") + np.searchsorted(bad, ours, side="right")
    return float(below.mean() / (2 * len(bad)))


def compute_error(confidences: NDArray[np.float64], good: NDArray[np.bool_]) -> float:
    """Return the expected calibration error (Guo et al. 2017, equation 3), with ten bins."""
    gaps = np.bincount(find_tenths(confidences), weights=confidences - good, minlength=TENTHS)
    return float(np.abs(gaps).sum() / len(good))


STEP, HIGHEST = 0.5, 3.0
"""Step of the length penalty between trials, and its maximum."""
LENGTH_TOLERANCE = 0.02
"""Relative difference in length from the references up to which no other penalty is tried."""


class LengthPenaltyTrial(Config):
    """The result of a search with some length penalty."""

    length_penalty: float
    score: float
    """Higher is better."""
    length_ratio: float
    """Characters of the translations divided by those of the references."""


def try_length_penalties(
    translator: Translator,
    lines: Sequence[str | Tokenized],
    references: Sequence[str],
    measure: Callable[[Sequence[str]], float],
) -> list[LengthPenaltyTrial]:
    """Try length penalties as long as the score improves; return all trials.

    The first trial has the configured penalty. The following trials raise it in steps if
    translations are too short, or lower it if they are too long. If the last step went too far,
    half a step is tried.

    Args:
        translator: translates the lines.
        lines: source text.
        references: reference translations.
        measure: returns the score of translations; higher is better.
    """

    def attempt(penalty: float) -> LengthPenaltyTrial:
        texts = set_length_penalty(translator, penalty).translate_sentences(lines)
        ratio = sum(map(len, texts)) / max(1, sum(map(len, references)))
        return LengthPenaltyTrial(length_penalty=penalty, score=measure(texts), length_ratio=ratio)

    trials = [attempt(translator.config.beam.length_penalty)]
    shortage = 1 - trials[0].length_ratio
    if abs(shortage) <= LENGTH_TOLERANCE:
        return trials
    step = STEP if shortage > 0 else -STEP
    while 0 <= (penalty := trials[-1].length_penalty + step) <= HIGHEST:
        trials.append(attempt(penalty))
        if trials[-1].score <= trials[-2].score:
            if shortage * (1 - trials[-1].length_ratio) < 0:
                trials.append(attempt(penalty - step / 2))
            break
    return trials


def set_length_penalty(translator: Translator, penalty: float) -> Translator:
    """Return a translator with another length penalty."""
    beam = translator.config.beam.model_copy(update={"length_penalty": penalty})
    return replace(translator, config=translator.config.model_copy(update={"beam": beam}))
