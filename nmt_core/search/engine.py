"""The contract of engines, token numbers in, hypotheses out, and the programs that search models.

This file imports no torch, and no engine, since those of a bundle are listed before one is loaded.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple, Protocol, Self, get_args

import numpy as np
from numpy.typing import NDArray

from nmt_core.base.errors import BundleError, NmtError, is_out_of_memory
from nmt_core.base.registry import Registry
from nmt_core.search.settings import BeamConfig

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
    """Searches for the best translations, for several threads at once.

    One that copies every source::

        @dataclass(frozen=True)
        class CopyingEngine(Engine):
            name: str
            sees_attention = False

            def search(self, requests, search, *, batch_tokens, probabilities, attention):
                return [[Hypothesis(tuple(one.source[:-1]), 0.0, 0.0, ())] for one in requests]
    """

    name: str
    """The name of the engine."""

    sees_attention: bool = False
    """Whether it has attention during the search, and so may copy words."""

    def explain_refusal(self, search: BeamConfig, *, prefixes: bool) -> str | None:
        """Return the part of a search that this engine cannot do, in a few words, or None."""
        refusals = {
            "a prefix": prefixes,
            "diversity": search.diversity > 0,
            "copying unknown words": search.unknown == "copy" and not self.sees_attention,
        }
        return next((what for what, asked in refusals.items() if asked), None)

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
            search: settings that ``explain_refusal`` accepts.
            batch_tokens: padded source tokens of a batch.
            probabilities: return the probability of every token.
            attention: return attention.
        """


Precision = Literal["int8", "float32"]
"""The precision of products in an engine that export adds to a bundle."""

FOLDER = "engines"
"""The folder of engines: ``engines/NAME/``, and measurements in ``engines/NAME.json``."""

SHORTLIST = "vmap.txt"
"""The file of CTranslate2's engine with its shortlist, if it has one."""

SCORES = "scores.json"
"""The file beside it with the shift of its scores: their mean difference from PyTorch's over the
validation sentences that both translate to the same text."""


class Program(NamedTuple):
    """A program that searches models, with its writer and its loader.

    One for the engine that ``Engine`` shows, in a module ``copying`` that another package
    offers by an entry point of ``nmt.engines``, ``copying = copying:COPYING``::

        COPYING = Program("copying", loader="copying:load", writer="copying:write")

        def write(folder, precision, *, config, **_):
            if config.architecture != "rnn":
                raise InexpressibleError("it is not recurrent")
            folder.mkdir(parents=True)

        def load(folder, source, target, *, name, device, threads):
            return CopyingEngine(name)
    """

    package: str
    """The module that has to be installed for it."""
    loader: str
    """Function that loads a verified folder, as ``module:thing``."""
    writer: str = ""
    """The function that writes a model for it, or raises InexpressibleError; empty for PyTorch,
    which reads the bundle itself."""


PROGRAMS = Registry(
    "an engine",
    "nmt.engines",
    {
        "ctranslate2": Program(
            "ctranslate2",
            loader="nmt_core.search.ctranslate2:load_ctranslate2",
            writer="nmt_core.search.conversion:write_ctranslate2",
        ),
        "torch": Program("torch", loader="nmt_core.search.pytorch:load_pytorch"),
    },
)
"""The programs, the fastest first."""


def find_program(engine: str) -> str:
    """Return the program that runs an engine."""
    return engine.rpartition("_")[0] if engine.endswith(get_args(Precision)) else engine


def rank_engine(engine: str) -> tuple[int, int]:
    """Return the sort key of an engine, the fastest first."""
    ours, program = [*PROGRAMS.builtins], find_program(engine)
    rank = ours.index(program) if program in ours else len(ours)
    return rank, get_args(Precision).index(engine.removeprefix(f"{program}_"))


def list_choices() -> list[str]:
    """Return the engines that a user may choose.

    ``auto`` takes the fastest that is there, the name of a program the fastest of that program's.
    """
    written = [program for program in PROGRAMS if PROGRAMS.load(program).writer]
    engines = [f"{program}_{precision}" for program in written for precision in get_args(Precision)]
    return ["auto", *written, *engines, "torch"]


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
        """Tokens among which the model was as unsure as if all were equally likely; may be inf."""
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
