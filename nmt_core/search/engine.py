"""The contract of engines: token numbers in, hypotheses out. This file imports no torch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from nmt_core.base.errors import BundleError, is_out_of_memory
from nmt_core.search.hypothesis import Hypothesis
from nmt_core.search.settings import BeamConfig, SamplingConfig

MOST_ROWS = 64
"""Sentences that a fast engine looks at together; more are not faster."""


@contextmanager
def explain_failure(name: str, *kinds: type[Exception]) -> Iterator[None]:
    """Report in a sentence that a library cannot compute with the model that it has read.

    Args:
        name: of the engine.
        kinds: errors of the library; those of memory are passed on.

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
        """Return the part of a search that this engine cannot do, in a few words; None if it can.

        Args:
            search: settings of the search.
            prefixes: whether there are prefixes.
        """

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
            probabilities: whether hypotheses must have the probability of every token.
            attention: whether they must have attention.
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

        Args:
            sources: sentences, each ended by EOS.
            targets: their translations, without BOS and EOS.
        """
