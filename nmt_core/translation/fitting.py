"""Fit confidence and the length penalty on validation text, and measure confidence."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nmt_core.base.config import Config
from nmt_core.text.side import Tokenized
from nmt_core.translation.confidence import (
    FARTHEST,
    TENTHS,
    ConfidenceModel,
    FeatureWeight,
    Reliability,
    ReliabilityBin,
    measure_features,
)
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator

FEWEST = 200
"""Sentences to fit on."""

FEWEST_OF_A_KIND = 20
"""Good ones among them, and others."""

PENALTY = 3.0
"""Of squared weights, beside the log-loss of all sentences: the precision of a Gaussian prior."""

SIGNS = {
    "score": (0.0, None),
    "source_length": (None, None),
    "length_ratio": (None, None),
    "length_ratio_squared": (None, 0.0),
    "token_length": (None, None),
    "word_length": (None, None),
    "repetition": (None, 0.0),
    "breaches": (None, 0.0),
}
"""Bounds of the weight of each feature: a lower score, an odd length, repetition and lost literals
never speak for a translation, whatever chance has put into validation text."""


def tabulate_features(
    sources: Sequence[str], translations: Sequence[Translation], names: Sequence[str]
) -> NDArray[np.float64]:
    """Return a row of features for each translation, a column for each name."""
    measured = map(measure_features, sources, translations)
    rows = [[features[name] for name in names] for features in measured]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(names))


def standardize(
    rows: NDArray[np.float64], means: NDArray[np.float64], scales: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return features in standard deviations from their means, at most ``FARTHEST``."""
    return np.clip((rows - means) / scales, -FARTHEST, FARTHEST)


def apply_logistic(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of log-odds."""
    return 0.5 * (1 + np.tanh(0.5 * log_odds))


def find_tenths(confidences: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the tenth of each confidence, from 0."""
    return np.minimum((confidences * TENTHS).astype(np.int64), TENTHS - 1)


def explain_unfit(good: NDArray[np.bool_]) -> str | None:
    """Return the reason why nothing can be fitted on so few sentences; None if it can."""
    total, count = len(good), int(good.sum())
    if total < FEWEST:
        return f"{total} validation sentences are too few to fit on; it takes {FEWEST}"
    if not FEWEST_OF_A_KIND <= count <= total - FEWEST_OF_A_KIND:
        return (
            f"{count} of {total} validation sentences are translated well, and it takes "
            f"{FEWEST_OF_A_KIND} of each kind; set evaluate.good_chrf to another bound"
        )
    return None


def fit_confidence(
    sources: Sequence[str],
    translations: Sequence[Translation],
    good: NDArray[np.bool_],
    *,
    good_chrf: float,
) -> ConfidenceModel:
    """Fit the probability that a translation is good.

    Args:
        sources: validation text that training has not seen.
        translations: one of each.
        good: whether each is good.
        good_chrf: the chrF from which on it is.
    """
    rows = tabulate_features(sources, translations, list(SIGNS))
    means, scales = rows.mean(axis=0), rows.std(axis=0)
    scales[np.ptp(rows, axis=0) == 0] = 1.0  # what never varies says nothing, by any scale
    *weights, intercept = _fit_weights(standardize(rows, means, scales), good).tolist()
    columns = zip(SIGNS, means.tolist(), scales.tolist(), weights, strict=True)
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
    """Return the weights of standardized features, and last the intercept."""
    from scipy.optimize import minimize  # takes 0.2 s

    inputs = np.column_stack([rows, np.ones(len(rows))])
    penalty = np.array([*[PENALTY] * rows.shape[1], 0.0])

    def lose(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        log_odds = inputs @ weights
        loss = np.logaddexp(0, log_odds).sum() - log_odds[good].sum()
        slope = inputs.T @ (apply_logistic(log_odds) - good)
        return loss + (penalty * weights**2).sum() / 2, slope + penalty * weights

    start, bounds = np.zeros(inputs.shape[1]), [*SIGNS.values(), (None, None)]
    fitted: NDArray[np.float64] = minimize(lose, start, jac=True, bounds=bounds).x  # L-BFGS-B
    return fitted


def measure_reliability(
    confidences: NDArray[np.float64], good: NDArray[np.bool_]
) -> Reliability | None:
    """Return how far confidences can be trusted; None if all translations are good, or none is."""
    if good.all() or not good.any():
        return None
    tenths = find_tenths(confidences)
    inside = [tenths == tenth for tenth in np.unique(tenths)]
    return Reliability(
        sentences=len(good),
        good=float(good.mean()),
        area=compute_area(confidences, good),
        error=compute_error(confidences, good),
        curve=tuple(
            ReliabilityBin(
                sentences=int(own.sum()),
                confidence=float(confidences[own].mean()),
                good=float(good[own].mean()),
            )
            for own in inside
        ),
    )


def compute_area(confidences: NDArray[np.float64], good: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve, ties counting one half, of good ones and others.

    It is the statistic of Mann and Whitney over the number of pairs (Fawcett 2006, section 7).
    """
    others, ours = np.sort(confidences[~good]), confidences[good]
    below = np.searchsorted(others, ours, side="left") + np.searchsorted(others, ours, side="right")
    return float(below.mean() / (2 * len(others)))


def compute_error(confidences: NDArray[np.float64], good: NDArray[np.bool_]) -> float:
    """Return the expected calibration error (Guo et al. 2017, equation 3), with tenths."""
    gaps = np.bincount(find_tenths(confidences), weights=confidences - good, minlength=TENTHS)
    return float(np.abs(gaps).sum() / len(good))


STEP, HIGHEST = 0.5, 3.0
"""Change of the length penalty from trial to trial, and the highest that is tried."""
FITTING = 0.02
"""Share by which translations may be shorter or longer than their references without a trial."""


class LengthPenaltyTrial(Config):
    """Result of a search with a length penalty."""

    length_penalty: float
    score: float
    """Higher is better."""
    length_ratio: float
    """Characters of the translations by those of the references."""


def try_length_penalties(
    translator: Translator,
    lines: Sequence[str | Tokenized],
    references: Sequence[str],
    measure: Callable[[Sequence[str]], float],
) -> list[LengthPenaltyTrial]:
    """Try length penalties as long as the translations get better.

    The configured one is tried first; then, in steps, higher ones where translations are too short
    and lower ones where they are too long. If the last step went too far, half of it is tried.

    Args:
        translator: translates the lines.
        lines: source text.
        references: their reference translations.
        measure: returns the score of their translations; higher is better.
    """
    attempt = partial(_try, translator, lines, references, measure)
    trials = [attempt(translator.config.beam.length_penalty)]
    lacking = 1 - trials[0].length_ratio
    if abs(lacking) <= FITTING:
        return trials
    step = STEP if lacking > 0 else -STEP
    while 0 <= (penalty := trials[-1].length_penalty + step) <= HIGHEST:
        trials.append(attempt(penalty))
        if trials[-1].score <= trials[-2].score:
            if lacking * (1 - trials[-1].length_ratio) < 0:
                trials.append(attempt(penalty - step / 2))
            break
    return trials


def _try(
    translator: Translator,
    lines: Sequence[str | Tokenized],
    references: Sequence[str],
    measure: Callable[[Sequence[str]], float],
    penalty: float,
) -> LengthPenaltyTrial:
    texts = set_length_penalty(translator, penalty).translate_sentences(lines)
    ratio = sum(map(len, texts)) / max(1, sum(map(len, references)))
    return LengthPenaltyTrial(length_penalty=penalty, score=measure(texts), length_ratio=ratio)


def set_length_penalty(translator: Translator, penalty: float) -> Translator:
    """Return a translator that searches with a length penalty."""
    beam = translator.config.beam.model_copy(update={"length_penalty": penalty})
    return replace(translator, config=translator.config.model_copy(update={"beam": beam}))
