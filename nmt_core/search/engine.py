"""The interface of engines, which translate token IDs, and the registry of their programs.

This file imports neither torch nor an engine, so that listing a bundle's engines is fast.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, Self, get_args

from nmt_core.base.errors import BundleError, NmtError, is_out_of_memory
from nmt_core.base.registry import Registry
from nmt_core.search.settings import BeamConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_BATCH_ROWS = 32
"""Maximum sentences of a batch in a fast engine; more are slower."""


@contextmanager
def explain_failure(name: str, *kinds: type[Exception]) -> Iterator[None]:
    """Convert errors of an engine's library to a message for users.

    ``kinds`` are the library's exceptions. Errors about memory are raised unchanged.

    Raises:
        BundleError: with the library's reason.
    """
    try:
        yield
    except kinds as error:
        if is_out_of_memory(error):
            raise
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise BundleError(
            f"{name} cannot compute with this model ({reason}); run nmt verify to check the model, "
            f"or use --engine torch"
        ) from None


class InexpressibleError(Exception):
    """A program does not support a model; the message is the reason in a few words."""


class Request(NamedTuple):
    """One sentence to translate, as token IDs."""

    source: Sequence[int]
    """The sentence, with EOS at the end."""

    prefix: Sequence[int] = ()
    """The required beginning of the translation."""


class Hypothesis(NamedTuple):
    """One translation as token IDs, with the model's probabilities as natural logarithms."""

    tokens: tuple[int, ...]
    """The translation without BOS and EOS."""

    score: float
    """``log_prob / length ** length_penalty``, where EOS counts as a token; higher is better."""

    log_prob: float
    """Log-probability of the tokens and EOS."""

    token_log_probs: tuple[float, ...]
    """The terms of ``log_prob``: one for every token, then the term of EOS; empty if the caller did
    not request probabilities."""

    attention: "NDArray[np.float32] | None" = None
    """Attention weights of tokens and EOS to the source and its EOS, (tokens + 1, source + 1); rows
    sum to 1. None if not requested or not available."""


def drop_impossible(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Return the hypotheses of positive probability.

    Raises:
        NmtError: if no hypothesis is left.
    """
    possible = [hypothesis for hypothesis in hypotheses if math.isfinite(hypothesis.score)]
    if not possible:
        raise NmtError(
            "the model has no translation of positive probability for a sentence, because its "
            "weights are NaN or it never ends sentences; train it again"
        )
    return possible


class Engine(Protocol):
    """Finds the best translations; several threads may call it at the same time.

    Example: an engine that copies every source::

        @dataclass(frozen=True)
        class CopyingEngine(Engine):
            name: str
            has_attention = False

            def search(self, requests, search, *, batch_tokens, probabilities, attention):
                return [[Hypothesis(tuple(r.source[:-1]), 0.0, 0.0, ())] for r in requests]
    """

    name: str
    """The name of the engine."""

    has_attention: bool = False
    """Whether the engine has attention during the search, which copying words requires."""

    patience: float = 1.0
    """Ended hypotheses that finish a sentence, as a multiple of the beam size. An engine of more
    than 1 reads another patience from SCORES."""

    def explain_refusal(self, search: BeamConfig, *, prefixes: bool) -> str | None:
        """Return the feature of a search that the engine does not support, in words, or None."""
        refusals = {
            "a prefix": prefixes,
            "diversity": search.diversity > 0,
            "copying unknown words": search.unknown == "copy" and not self.has_attention,
        }
        return next((feature for feature, is_needed in refusals.items() if is_needed), None)

    def search(
        self,
        requests: Sequence[Request],
        search: BeamConfig,
        *,
        batch_tokens: int,
        probabilities: bool,
        attention: bool,
    ) -> Sequence[Iterable[Hypothesis]]:
        """Return one to ``search.n_best`` hypotheses of every request, best first, to read once.

        Args:
            requests: the sentences.
            search: settings that ``explain_refusal`` accepts.
            batch_tokens: maximum padded source tokens of a batch.
            probabilities: whether to return the probability of every token.
            attention: whether to return attention weights.
        """


def batches_by_length(
    lengths: Mapping[int, int], *, max_tokens: int, max_rows: int | None = None
) -> Iterator[list[int]]:
    """Yield rows in batches of similar length, longest first.

    Args:
        lengths: number of tokens of each row.
        max_tokens: maximum tokens of a batch, with padding; a longer row is a batch of its own.
        max_rows: maximum rows of a batch.
    """
    batch: list[int] = []
    for row in sorted(lengths, key=lambda row: (-lengths[row], row)):
        is_full = max_rows is not None and len(batch) >= max_rows
        if batch and (is_full or lengths[batch[0]] * (len(batch) + 1) > max_tokens):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


Precision = Literal["int8", "float32"]
"""The precision of matrix products in an engine that the export adds to a bundle."""

FOLDER = "engines"
"""The folder of engines in a bundle: ``engines/NAME/``, and measurements ``engines/NAME.json``."""

SHORTLIST = "vmap.txt"
"""The file of CTranslate2's shortlist, if the engine has a shortlist."""

SCORES = "scores.json"
"""The file of an engine's patience and of a shortlist's score shift: the mean difference between
the engine's scores and PyTorch's, over validation sentences with the same translation."""


class Program(NamedTuple):
    """A program that runs models, with its writer and its loader.

    Example: the program of the engine in ``Engine``, in a module ``copying``. Another package can
    offer it by the entry point ``copying = copying:COPYING`` of ``nmt.engines``::

        COPYING = Program("copying", loader="copying:load", writer="copying:write")

        def write(folder, precision, *, config, **_):
            if config.architecture != "rnn":
                raise InexpressibleError("it is not recurrent")
            folder.mkdir(parents=True)

        def load(folder, source, target, *, name, device, threads):
            return CopyingEngine(name)
    """

    package: str
    """The module that must be installed."""
    loader: str
    """The function that loads a verified folder, as ``module:function``."""
    writer: str = ""
    """The function that converts a model, or raises InexpressibleError; empty for PyTorch, which
    reads the bundle's weights."""


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
"""The programs, fastest first."""


def find_program(engine: str) -> Program:
    """Return the program of an engine, such as ``ctranslate2`` for ``ctranslate2_int8``."""
    return PROGRAMS.load("torch" if engine == "torch" else engine.rpartition("_")[0])


def list_engine_choices() -> list[str]:
    """Return the values of ``--engine``.

    ``auto`` selects the bundle's fastest engine, and the name of a program its fastest engine of
    that program.
    """
    written = [program for program in PROGRAMS if PROGRAMS.load(program).writer]
    engines = [f"{program}_{precision}" for program in written for precision in get_args(Precision)]
    return ["auto", *written, *engines, "torch"]


class LogLikelihood(NamedTuple):
    """The log-likelihood of a text; add texts with ``plus``."""

    log_likelihood: float = 0.0
    """Sum over tokens, in nats."""

    tokens: int = 0
    """Number of tokens, EOS included."""

    unknown: int = 0
    """Number of unknown tokens."""

    characters: int = 0
    """Number of characters, line ends included."""

    @property
    def perplexity(self) -> float:
        """Perplexity per token; infinite if it exceeds the range of a float."""
        try:
            return math.exp(-self.log_likelihood / max(1, self.tokens))
        except OverflowError:
            return math.inf

    @property
    def nats_per_character(self) -> float:
        """Cross entropy per character, comparable between models with different tokens."""
        return -self.log_likelihood / max(1, self.characters)

    def plus(self, other: Self) -> "LogLikelihood":
        """Return the log-likelihood of both texts together."""
        return LogLikelihood(
            self.log_likelihood + other.log_likelihood,
            self.tokens + other.tokens,
            self.unknown + other.unknown,
            self.characters + other.characters,
        )
