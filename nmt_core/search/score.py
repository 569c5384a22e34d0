"""Log-likelihood and perplexity of a given text."""

import math
from typing import NamedTuple, Self


class LogLikelihood(NamedTuple):
    """The log-likelihood of a text; those of several texts add up."""

    log_likelihood: float = 0.0
    """Sum over tokens, in nats."""

    tokens: int = 0
    """Ends of lines included."""

    unknown: int = 0
    """Tokens of these that the model does not know."""

    characters: int = 0
    """Line ends included."""

    @property
    def perplexity(self) -> float:
        """Tokens between which the model was as unsure as if all were equally likely.

        Infinite of a text that the model holds for impossible, or for next to impossible.
        """
        try:
            return math.exp(-self.log_likelihood / max(1, self.tokens))
        except OverflowError:
            return math.inf

    @property
    def nats_per_character(self) -> float:
        """Cross entropy per character, which models of different units share."""
        return -self.log_likelihood / max(1, self.characters)

    def plus(self, other: Self) -> "LogLikelihood":
        """Return the score of both texts together."""
        return LogLikelihood(
            self.log_likelihood + other.log_likelihood,
            self.tokens + other.tokens,
            self.unknown + other.unknown,
            self.characters + other.characters,
        )
