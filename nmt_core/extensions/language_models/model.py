"""The interface of causal language models, which scoring and sampling use.

A model reads tokens, carries its :class:`Past`, and returns hidden vectors that predict the next
token, as the decoder of ``models/seq2seq.py`` does. The first token is BOS; PAD and BOS are never
predicted.

Letters: R rows, T tokens, D features, V vocabulary, N order of a model of the last N - 1 tokens.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, Self, TypeVar

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from nmt_core.models.seq2seq import State
from nmt_core.text.vocabulary import BOS, PAD

StateT = TypeVar("StateT", bound="Past")


class Past(State):
    """The state of a language model after the tokens read."""

    def detach(self) -> Self:
        """Return the state without its gradient history."""
        return self.map(Tensor.detach)


class LanguageModel(nn.Module, ABC, Generic[StateT]):
    """Gives the probability of every token after those before it."""

    carries = False
    """Whether the state of a line carries over to the next one."""

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(chain(self.parameters(), self.buffers())).device

    @abstractmethod
    def start(self, rows: int) -> StateT:
        """Return the state of rows of which no token was read."""

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
    """A language model that predicts from hidden vectors by a softmax."""

    @abstractmethod
    def project(self, hidden: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the logits of the next token."""

    def log_probs(self, hidden: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """See the contract; PAD and BOS have probability 0."""
        return forbid(self.project(hidden), [PAD, BOS]).log_softmax(dim=-1)


def forbid(logits: Float[Tensor, "*N V"], tokens: Sequence[int]) -> Float[Tensor, "*N V"]:
    """Return logits in float32 or better; some tokens get probability 0."""
    precise = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return precise.index_fill(-1, torch.tensor(tokens, device=logits.device), -torch.inf)


@dataclass(frozen=True)
class Window(Past):
    """The last N - 1 tokens; PAD where nothing was read yet."""

    tokens: Tensor  # (R, N - 1)

    @classmethod
    def empty(cls, rows: int, order: int, device: torch.device) -> "Window":
        """Return the window of rows of which no token was read."""
        return cls(torch.full((rows, order - 1), PAD, device=device))


def slide(tokens: Int[Tensor, "R T"], window: Window) -> tuple[Int[Tensor, "R T N-1"], Window]:
    """Return the window after each of the tokens, and the last one."""
    seen = torch.cat([window.tokens, tokens], dim=1)
    width = window.tokens.size(1)
    return seen.unfold(1, width, 1)[:, 1:], Window(seen[:, seen.size(1) - width :])
