"""The contract every language model fulfils, so that scoring, sampling and fusion serve them all.

It is the decoder's half of ``models/seq2seq.py``: a model reads tokens, one or many at a time,
carrying its :class:`Past`, and gives what the next token is predicted from. The first token that it
reads is BOS, which says that nothing is known of what came before; PAD and BOS are never predicted.

Letters as in ``seq2seq.py``: R rows, T tokens, D features, V vocabulary; and N, the order of a
model that looks at a window of the last N - 1 tokens.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import ClassVar, Generic, Self, TypeVar

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from nmt_core.base.config import Config
from nmt_core.base.errors import BundleError
from nmt_core.models.seq2seq import State
from nmt_core.models.weights import compare_shapes, load_own_tensors
from nmt_core.text.vocabulary import BOS, PAD

StateT = TypeVar("StateT", bound="Past")


class Past(State):
    """The state of a language model after the tokens read."""

    def detach(self) -> Self:
        """Return the same, but no error is sent back through it."""
        return self.map(Tensor.detach)


class LanguageModelSettings(Config):
    """Settings of every language model."""

    builds: ClassVar[str]
    """Where the model of such settings is: ``module:class``."""

    kind: str
    """Which language model this is."""


class Restorable(nn.Module):
    """A model that is built of its settings and the size of its vocabulary, then given weights."""

    @classmethod
    def restore(
        cls, config: LanguageModelSettings, words: int, tensors: Mapping[str, Tensor]
    ) -> Self:
        """Return a model as it was saved.

        Raises:
            BundleError: if the tensors are not those of such a model.
        """
        build = partial(cls, config, words)
        shapes = {name: tensor.shape for name, tensor in tensors.items()}
        if wrong := compare_shapes(build, shapes):
            raise BundleError(f"the tensors do not fit the settings of the model: {wrong}")
        model = build()
        load_own_tensors(model, tensors)
        return model


class LanguageModel(Restorable, ABC, Generic[StateT]):
    """Says how likely every token is after those before it.

    One that finds every token alike, in a module ``even`` that another package offers by an entry
    point of ``nmt.language_models``, ``even = even:EvenConfig``::

        class EvenConfig(LanguageModelSettings):
            builds: ClassVar = "even:Even"
            kind: Literal["even"] = "even"

        class Even(NeuralLanguageModel[Window]):
            def __init__(self, config, words):
                super().__init__()
                self.logits = nn.Parameter(torch.zeros(words))

            def start(self, rows):
                return empty_window(rows, 2, self.device)

            def decode(self, tokens, state):
                seen, state = slide(tokens, state)
                return seen.float(), state

            def project(self, hidden):
                return self.logits.expand(*hidden.shape[:-1], -1)
    """

    carries = False
    """Whether it was trained to go on from line to line, and is to be read so."""

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(chain(self.parameters(), self.buffers())).device

    @abstractmethod
    def start(self, rows: int) -> StateT:
        """Return the state before anything was read."""

    @abstractmethod
    def decode(
        self, tokens: Int[Tensor, "R T"], state: StateT
    ) -> tuple[Shaped[Tensor, "R T D"], StateT]:
        """Read the next tokens of every row; return hidden vectors, and the new state."""

    @abstractmethod
    def log_probs(self, hidden: Shaped[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the log-probabilities of the next token, in float32 or better."""

    def log_likelihood(
        self, hidden: Shaped[Tensor, "*N D"], tokens: Int[Tensor, "*N"]
    ) -> Float[Tensor, "*N"]:
        """Return the log-probability of the given next tokens."""
        return self.log_probs(hidden).gather(-1, tokens[..., None]).squeeze(-1)

    def forward(self, tokens: Int[Tensor, "R T"]) -> Float[Tensor, "R T V"]:
        """Return the log-probabilities of every next token at once (teacher forcing)."""
        hidden, _ = self.decode(tokens, self.start(len(tokens)))
        return self.log_probs(hidden)


class NeuralLanguageModel(LanguageModel[StateT]):
    """A language model that predicts from features."""

    @abstractmethod
    def project(self, hidden: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the logits of the next token."""

    def log_probs(self, hidden: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """See the contract; PAD and BOS have probability 0."""
        return forbid(self.project(hidden), [PAD, BOS]).log_softmax(dim=-1)


def forbid(logits: Float[Tensor, "*N V"], tokens: Sequence[int]) -> Float[Tensor, "*N V"]:
    """Return logits in float32 or better, by which some tokens have probability 0."""
    precise = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return precise.index_fill(-1, torch.tensor(tokens, device=logits.device), -torch.inf)


@dataclass(frozen=True)
class Window(Past):
    """The last N - 1 tokens; PAD where nothing was read yet."""

    tokens: Tensor  # (R, N - 1)


def empty_window(rows: int, order: int, device: torch.device) -> Window:
    """Return the window before anything was read."""
    return Window(torch.full((rows, order - 1), PAD, device=device))


def slide(tokens: Int[Tensor, "R T"], window: Window) -> tuple[Int[Tensor, "R T N-1"], Window]:
    """Return the window after each of the tokens, and the last one."""
    seen = torch.cat([window.tokens, tokens], dim=1)
    width = window.tokens.size(1)
    return seen.unfold(1, width, 1)[:, 1:], Window(seen[:, seen.size(1) - width :])
