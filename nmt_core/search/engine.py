"""The contract of engines: token numbers in, hypotheses out. This file imports no torch."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from nmt_core.base.errors import BundleError, NmtError, is_out_of_memory
from nmt_core.search.settings import BeamConfig, SamplingConfig

MOST_ROWS = 64
"""Sentences that a fast engine looks at together; more are not faster."""


@contextmanager
def explain_failure(name: str, *kinds: type[Exception]) -> Iterator[None]:
    """Report in a sentence that an engine's library cannot compute with the model.

    ``kinds`` are errors of the library; those of memory are passed on.

    Raises:
        BundleError: with the library's own reason.
    """
    try:
        yield
    except kinds as error:
        if is_out_of_memory(error):
            raise
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise BundleError(
            f"{name} cannot compute with this model ({reason}); nmt verify tells what is wrong "
            f"with it, and --engine torch does without {name}"
        ) from None


class InexpressibleError(Exception):
    """A program cannot express a model; says why in a few words."""


class Request(NamedTuple):
    """One sentence to translate, in numbers of tokens."""

    source: Sequence[int]
    """The sentence, ended by EOS."""

    prefix: Sequence[int] = ()
    """The prefix of its translation."""


class Hypothesis(NamedTuple):
    """One translation in numbers; logarithms are natural, probabilities the model's own."""

    tokens: tuple[int, ...]
    """The hypothesis without BOS and EOS."""

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


class Engine(Protocol):
    """Searches for the best translations.

    An engine is safe to be called by several threads at once.
    """

    name: str
    """The name of the engine."""

    @property
    def sees_attention(self) -> bool:
        """Whether it has attention during the search, and so may copy words."""

    def explain_refusal(self, search: BeamConfig, *, prefixes: bool) -> str | None:
        """Return the part of a search that this engine cannot do, in a few words, or None."""

    def search(
        self,
        requests: Sequence[Request],
        search: BeamConfig,
        *,
        batch_tokens: int,
        probabilities: bool,
        attention: bool,
    ) -> list[list[Hypothesis]]:
        """Return one to ``search.n_best`` hypotheses of every request, best first.

        Args:
            requests: the sentences.
            search: settings that :meth:`explain_refusal` accepts.
            batch_tokens: padded source tokens of a batch.
            probabilities: return the probability of every token.
            attention: return attention.
        """


class PlainEngine(Engine, Protocol):
    """An engine of plain beam search.

    One that copies every source::

        @dataclass(frozen=True)
        class CopyingEngine(PlainEngine):
            name: str
            sees_attention = False

            def search(self, requests, search, *, batch_tokens, probabilities, attention):
                return [[Hypothesis(tuple(one.source[:-1]), 0.0, 0.0, ())] for one in requests]
    """

    @override
    def explain_refusal(self, search: BeamConfig, *, prefixes: bool) -> str | None:
        refusals = {
            "a prefix": prefixes,
            "diversity": search.diversity > 0,
            "copying unknown words": search.unknown == "copy" and not self.sees_attention,
        }
        return next((what for what, asked in refusals.items() if asked), None)


class FullEngine(Engine, Protocol):
    """An engine that refuses nothing."""

    model: Any
    """The model that it searches."""

    def sample(
        self,
        requests: Sequence[Request],
        sampling: SamplingConfig,
        search: BeamConfig,
        *,
        batch_tokens: int,
    ) -> list[list[Hypothesis]]:
        """Return translations of every request drawn at random, in the order they were drawn."""

    def next_tokens(self, request: Request, count: int) -> list[tuple[int, float]]:
        """Return the tokens most likely to follow a prefix, with probabilities, likeliest first."""

    def attend(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float32]] | None:
        """Return the attention of each target token and EOS to each source token and EOS.

        One array (target tokens + 1, source tokens + 1) per sentence; None without attention.
        Sources end with EOS, targets do not.
        """
