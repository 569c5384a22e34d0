"""What a translator gives for a line."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Translation(NamedTuple):
    """One translation of one line."""

    text: str
    """A line: it holds no line end of any kind."""

    score: float
    """Length-normalised log-probability; see ``Hypothesis``."""

    tokens: tuple[str, ...]
    """What the text was made of; source words that were copied, and a given beginning, as there."""

    token_probabilities: tuple[float, ...]
    """One per token, and last that of the end of the sentence; none where they were not asked
    for."""

    ids: tuple[int, ...]
    """The tokens' numbers."""

    attention: NDArray[np.float32] | None = None
    """How much each token, and last the end, looks at each source token, and last its end:
    (tokens + 1, source tokens + 1), where that was asked for, or words are copied by it, and the
    model has attention."""


class NextToken(NamedTuple):
    """What may follow."""

    token: str
    """A token of the vocabulary; ``</s>`` ends the sentence."""

    probability: float


EMPTY_TRANSLATION = Translation(text="", score=0.0, tokens=(), token_probabilities=(), ids=())
"""The translation of an empty line."""
