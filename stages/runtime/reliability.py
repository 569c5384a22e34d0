"""Confidence fitted on translations of validation text, and measured on those of test text."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nmt_core.evaluation.quality import score_chrf
from nmt_core.translation.confidence import was_searched
from nmt_core.translation.fitting import (
    explain_unfit,
    fit_confidence,
    measure_reliability,
)
from nmt_core.translation.translation import Translation
from stages.params import EvaluateParams
from stages.reporting.evaluation import ConfidenceReport

CONFIDENCE_SENTENCES = 2000
"""Validation sentences that confidence is fitted on, at most: they are translated for it."""

TranslatedText = tuple[Sequence[str], Sequence[str], Sequence[Translation]]
"""Source sentences, their references and their translations."""


def select_searched(
    params: EvaluateParams, text: TranslatedText, *, language: str
) -> tuple[tuple[list[str], list[Translation]], NDArray[np.bool_]]:
    """Return the sentences that are not empty with their translations, and which are good."""
    sources, references, translations = text
    rows = [row for row, found in enumerate(translations) if was_searched(found)]
    found = [translations[row] for row in rows]
    written, expected = [one.text for one in found], [references[row] for row in rows]
    good = score_chrf(written, expected, language=language) >= params.good_chrf
    return ([sources[row] for row in rows], found), good


def judge_confidence(
    params: EvaluateParams, validation: TranslatedText, test: TranslatedText, *, language: str
) -> ConfidenceReport:
    """Fit confidence on validation text, and measure on test text how far it can be trusted.

    Returns:
        The model with its reliability, or the reason for no model.

    Args:
        params: what is good.
        validation: what to fit on.
        test: what to measure on, translated by the same model and engine.
        language: code of the target language.
    """
    found, good = select_searched(params, validation, language=language)
    if missing := explain_unfit(good):
        return ConfidenceReport(missing=missing)
    fitted = fit_confidence(*found, good, good_chrf=params.good_chrf)
    tested, good_tested = select_searched(params, test, language=language)
    estimated = fitted.estimate(*tested)
    judged = np.array([fitted.can_judge(one) for one in tested[1]], dtype=bool)
    reliability = measure_reliability(estimated[judged], good_tested[judged])
    model = fitted.model_copy(update={"reliability": reliability})
    return ConfidenceReport(model=model)
