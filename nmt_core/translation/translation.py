"""Translations and next tokens, as a translator returns them."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_core.literals.checking import Breach


class Translation(NamedTuple):
    """One translation of one line."""

    text: str
    """A line: it holds no line end of any kind."""

    score: float
    """Length-normalised log-probability; see ``Hypothesis``."""

    tokens: tuple[str, ...]
    """The tokens of the text; copied source words and a given prefix are as they were written."""

    token_probabilities: tuple[float, ...]
    """One per token, and last that of the end of the sentence; empty if they were not requested."""

    ids: tuple[int, ...]
    """The tokens' numbers."""

    source_tokens: tuple[str, ...] = ()
    """The tokens of the line that the model read, without its tag; literals are as they were
    written where it read symbols. Empty of what no model has read: an empty line, one of figures
    and signs, and what a memory holds."""

    attention: NDArray[np.float32] | None = None
    """Attention of each token, and last the end, to each source token, and last its end: (tokens
    + 1, source tokens + 1). None unless it was requested or used to copy words, and the model has
    attention."""

    links: Sequence[int] | None = None
    """For each word or sign of the text the number of the source word that it translates, or
    UNALIGNED; see ``find_words``. None unless it was requested."""

    breaches: tuple[Breach, ...] = ()
    """Numbers, placeholders and other literals of the source that did not come through."""

    restored_words: tuple[str, ...] = ()
    """Words that the model read in another case or with accents, as it read them."""

    unknown_words: tuple[str, ...] = ()
    """Words of the source that the training text never had; empty where that is not known."""

    confidence: float | None = None
    """The probability that it is good, see ``ConfidenceModel``; 1 where somebody approved it, or
    there are but figures and signs. None where nobody can tell: of an empty line, a sample, a
    translation with a given prefix, a line with unknown words where validation text had hardly any,
    or a model without it."""

    origin: Literal["model", "memory"] = "model"
    """Who translated it: the model, or somebody whose approved translation a memory holds, which
    has no tokens."""


class NextToken(NamedTuple):
    """A possible next token."""

    token: str
    """A token of the vocabulary; ``</s>`` ends the sentence."""

    probability: float


def remember_translation(text: str) -> Translation:
    """Return an approved translation that a memory holds."""
    return Translation(text, 0.0, (), (), (), confidence=1.0, origin="memory")


EMPTY_TRANSLATION = Translation(text="", score=0.0, tokens=(), token_probabilities=(), ids=())
"""The translation of an empty line."""
