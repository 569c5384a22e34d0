"""Case-sensitive BLEU (Papineni et al. 2002) on detokenized text."""

import logging
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from sacrebleu.metrics.bleu import BLEU

from nmt_core.evaluation.metric import Reference, Score
from nmt_core.evaluation.metrics.chrf import Chrf
from nmt_core.evaluation.sacrebleu import SacreBleuMetric
from nmt_core.evaluation.words import check_installed, tokenizer_of

_log = logging.getLogger(__name__)

ORDERS = 4
"""Longest n-grams, in words."""

SOME_CHRF = 10.0
"""From which on letters agree by more than chance, as they do not where training begins."""


class Bleu(SacreBleuMetric):
    """Words are 13a's, or the language's own where it writes no spaces; the signature says which.

    Raises:
        ConfigError: if what cuts the language into words is not installed.
    """

    label: ClassVar = "BLEU"

    def __init__(self, language: str) -> None:
        super().__init__(language)
        check_installed(language)

    def scorer(self) -> BLEU:
        """Return sacreBLEU's BLEU, in words of the language."""
        return BLEU(tokenize=tokenizer_of(self.language), force=True)  # quality.py warns, once

    def score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[Reference],
        sources: Sequence[str],
        *,
        resamples: int = 0,
    ) -> Score:
        """Return the score of a test set; warn of a 0 that may come from another language."""
        score = super().score(hypotheses, references, sources, resamples=resamples)
        if score.value:
            return score
        other = Chrf(self.language).score(hypotheses, references, sources).value
        if other >= SOME_CHRF:
            _log.warning(
                "BLEU is 0 but chrF %.1f: letters agree, and no words as %s cuts them; is the "
                "target language, %s, the right one?",
                other,
                tokenizer_of(self.language),
                self.language,
            )
        return score

    def score_of_sums(self, sums: Float[np.ndarray, "R C"]) -> Float[np.ndarray, " R"]:
        """Return BLEU (0-100) of summed counts: lengths, matches per order, n-grams per order.

        An order without a match counts as half a match, the next one as a quarter, and so on (Chen
        and Cherry 2014, method 3), as sacreBLEU does by default.
        """
        length, reference = sums[:, 0], sums[:, 1]
        matches, total = sums[:, 2 : 2 + ORDERS], sums[:, 2 + ORDERS : 2 + 2 * ORDERS]
        nothing = (matches == 0) & (total > 0)
        smoothed = np.where(nothing, 0.5 ** np.cumsum(nothing, axis=1), matches)
        with np.errstate(divide="ignore", invalid="ignore"):
            precisions = np.where(total > 0, smoothed / total, 0.0)
            brevity = np.exp(np.minimum(0.0, 1 - reference / length))
            score = 100 * brevity * np.exp(np.log(precisions).mean(axis=1))
        return np.where(matches.any(axis=1) & (total > 0).all(axis=1), score, 0.0)
