"""The translation of a line, with the reports on it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from nmt_core.literals.checking import Breach

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Translation(NamedTuple):
    """One translation of one line."""

    text: str
    """The translation, without line ends of any kind."""

    score: float
    """Length-normalised log-probability; see ``Hypothesis``."""

    tokens: tuple[str, ...]
    """The tokens of the text; copied source words and the prefix have their original form."""

    token_probabilities: tuple[float, ...]
    """Probability of each token, then of EOS; empty if not requested."""

    ids: tuple[int, ...]
    """Token IDs."""

    source_tokens: tuple[str, ...] = ()
    """The source tokens that the model read, without the tag, with literals instead of symbols.
    Empty if the model did not read the line: an empty line, a line without words, or a unit of the
    memory."""

    attention: "NDArray[np.float32] | None" = None
    """Attention weights of the tokens and EOS to the source tokens and EOS, (tokens + 1, source
    tokens + 1). None if not requested, or if the model has no attention."""

    links: Sequence[int] | None = None
    """For each word or punctuation mark of the text, the index of the source word that it
    translates, or UNALIGNED; see ``find_words``. None if not requested."""

    breaches: tuple[Breach, ...] = ()
    """Numbers, placeholders and other literals that were lost or added, and flaws."""

    restored_words: tuple[str, ...] = ()
    """Words whose letter case or accents were restored, in the restored form."""

    unknown_words: tuple[str, ...] = ()
    """Source words that do not occur in the training text."""

    confidence: float | None = None
    """The probability that the translation is good (see ``ConfidenceModel``); 1 for an approved
    translation or a line without words. None if it cannot be estimated: for an empty line, a
    sample, a prefix, too many unknown words, or a model without quality estimation."""

    origin: Literal["model", "memory"] = "model"
    """Origin of the translation; translations of a memory have no tokens."""


EMPTY_TRANSLATION = Translation(text="", score=0.0, tokens=(), token_probabilities=(), ids=())
"""The translation of an empty line."""
