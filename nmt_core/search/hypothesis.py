"""A hypothesis: one translation in numbers of tokens."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_core.base.errors import NmtError


class Hypothesis(NamedTuple):
    """One translation in numbers; logarithms are natural, probabilities the model's own."""

    tokens: tuple[int, ...]
    """What was written, without BOS and EOS."""

    score: float
    """``log_prob / length ** length_penalty``, where EOS counts as a token; higher is better."""

    log_prob: float
    """Log-probability of the tokens and the EOS after them."""

    token_log_probs: tuple[float, ...]
    """The terms of ``log_prob``: one for every token, and last the one of EOS; none where an engine
    was not asked for them."""

    attention: NDArray[np.float32] | None = None
    """How much each token and EOS look at each source token and EOS, (tokens + 1, source + 1),
    where that was asked for and the model knows; its rows sum to 1."""


def drop_impossible(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Return the hypotheses of positive probability.

    Raises:
        NmtError: if there is none.
    """
    possible = [hypothesis for hypothesis in hypotheses if math.isfinite(hypothesis.score)]
    if not possible:
        raise NmtError(
            "the model gives a sentence no translation of positive probability; its weights are "
            "not numbers or it cannot end a sentence: train it again, or take another checkpoint"
        )
    return possible
