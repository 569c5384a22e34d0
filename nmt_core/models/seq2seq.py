"""The interface of all architectures, which share one search and one trainer.

A model encodes source sentences once into a ``Memory``. Then it reads one or more target tokens at
a time and carries a ``State``. Teacher forcing and one-token steps are the same call.

Dimension letters, used across ``nmt_core``:
    B sentences     S source length    T target length    V target vocabulary
    D model width   H attention heads  d width per head   K beam size (hypotheses per sentence)
    R rows of a state; ``R = B * K``, and row ``r`` belongs to sentence ``r // K``

Padding masks are boolean and True where a position is padding.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Generic, TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt_core.text.vocabulary import BOS

Pretrained = Mapping[str, nn.Embedding]
"""The pretrained word embedding of each side, "source" and "target"."""

MemoryT = TypeVar("MemoryT", bound="Memory")
StateT = TypeVar("StateT", bound="State")


class Rows:
    """Named tensors with their rows on axis 0, never written in place.

    Subclasses are frozen dataclasses of tensors, nested tuples of tensors, and plain numbers.
    """

    def select(self: "RowsT", rows: Int[Tensor, " N"]) -> "RowsT":
        """Return some rows in any order; rows may repeat or be left out."""
        return self.map(lambda tensor: tensor.index_select(0, rows))

    def map(self: "RowsT", change: Callable[[Tensor], Tensor]) -> "RowsT":
        """Return a copy with ``change`` applied to every tensor, in the order of ``tensors``."""
        assert is_dataclass(self)
        return replace(self, **{f.name: _map(getattr(self, f.name), change) for f in fields(self)})

    def tensors(self) -> Iterator[Tensor]:
        """Yield every tensor."""
        assert is_dataclass(self)
        return _tensors(getattr(self, field.name) for field in fields(self))


RowsT = TypeVar("RowsT", bound=Rows)


class Memory(Rows):
    """The encoded source, one row per sentence, shared by the sentence's hypotheses."""


class State(Rows):
    """The decoder's memory of the previous target tokens, one row per hypothesis."""

    def reorder(self: "StateT", parents: Int[Tensor, "B M"]) -> "StateT":
        """Return M hypotheses per sentence, each with the state of one of the K ``parents``."""
        rows = torch.arange(len(parents), device=parents.device)[:, None]
        return self.select((rows * (len(next(self.tensors())) // len(parents)) + parents).flatten())

    def select_sentences(self: "StateT", sentences: Int[Tensor, " N"], hypotheses: int) -> "StateT":
        """Return the state of some sentences, each with its ``hypotheses`` rows."""
        rows = torch.arange(hypotheses, device=sentences.device)
        return self.select((sentences[:, None] * hypotheses + rows).flatten())


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, tuple):
            yield from _tensors(value)


def _map(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_map(item, change) for item in value)
    return value


class Seq2Seq(nn.Module, ABC, Generic[MemoryT, StateT]):
    """Scores target sequences given source sequences.

    Example: a model that gives every token the same logit, in a module ``even``. Another package
    can offer it by the entry point ``even = even:EvenConfig`` of ``nmt.architectures``::

        class EvenConfig(Seq2SeqConfig):  # in this package: in ``settings.py``, without torch
            builds: ClassVar = "even:Even"
            architecture: Literal["even"] = "even"

        @dataclass(frozen=True)
        class Source(Memory):
            tokens: Tensor

        @dataclass(frozen=True)
        class Read(State):
            rows: Tensor

        class Even(Seq2Seq[Source, Read]):
            def __init__(self, config, *, source_size, target_size, pretrained=None):
                super().__init__()
                self.logits = nn.Parameter(torch.zeros(target_size))

            def encode(self, source, source_padding):
                return Source(source)

            def start(self, memory, beam_size=1):
                return Read(torch.zeros(len(memory.tokens) * beam_size))

            def decode(self, tokens, memory, state):
                return torch.zeros(*tokens.shape, 1), state

            def project(self, hidden, tokens=None):
                return hidden + (self.logits if tokens is None else self.logits[tokens])

            def attention(self, tokens, memory):
                return None
    """

    source_start: bool = False
    """Whether the model prepends BOS to the source; callers pass sources without BOS."""
    output: nn.Module
    """The layer that computes logits from hidden vectors, unless ``project`` is overridden."""

    @abstractmethod
    def encode(self, source: Int[Tensor, "B S"], source_padding: Bool[Tensor, "B S"]) -> MemoryT:
        """Return the encoded source sentences."""

    @abstractmethod
    def start(self, memory: MemoryT, beam_size: int = 1) -> StateT:
        """Return the state before the first target token, ``beam_size`` rows per sentence."""

    @abstractmethod
    def decode(
        self, tokens: Int[Tensor, "R T"], memory: MemoryT, state: StateT
    ) -> tuple[Float[Tensor, "R T D"], StateT]:
        """Read the next target tokens of every row; return hidden vectors and the new state.

        ``R`` is a multiple of the number of sentences in ``memory``.
        """

    def project(
        self, hidden: Float[Tensor, "*N D"], tokens: Int[Tensor, " M"] | None = None
    ) -> Float[Tensor, "*N V"] | Float[Tensor, "*N M"]:
        """Return the logits of the next token: of the whole vocabulary, or only of ``tokens``."""
        logits: Tensor = self.output(hidden, tokens)
        return logits

    def log_probs(self, hidden: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the log-probabilities of the next token, at least in float32."""
        logits = self.project(hidden)
        precise = torch.promote_types(logits.dtype, torch.float32)
        if precise == logits.dtype and not (torch.is_grad_enabled() or logits is hidden):
            return torch.log_softmax(logits, dim=-1, out=logits)  # a third faster than a copy
        return logits.log_softmax(dim=-1, dtype=precise)

    @abstractmethod
    def attention(
        self, tokens: Int[Tensor, "B T"], memory: MemoryT
    ) -> Float[Tensor, "B T S"] | None:
        """Return the attention weights, averaged over heads; None without attention.

        Each row sums to 1 over the source.
        """

    def prepend_source_start(
        self, source: Int[Tensor, "B S"], padding: Bool[Tensor, "B S"]
    ) -> tuple[Tensor, Tensor]:
        """Return sentences and padding, with BOS prepended if ``source_start`` is true."""
        if not self.source_start:
            return source, padding
        return F.pad(source, (1, 0), value=BOS), F.pad(padding, (1, 0), value=False)

    def drop_source_start(self, weights: Float[Tensor, "*N L"]) -> Float[Tensor, "*N S"]:
        """Return attention weights without BOS, normalised again."""
        if not self.source_start:
            return weights
        words = weights[..., 1:]
        return words / words.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(words.dtype).tiny)

    def forward(
        self,
        source: Int[Tensor, "B S"],
        source_padding: Bool[Tensor, "B S"],
        target_input: Int[Tensor, "B T"],
    ) -> Float[Tensor, "B T V"]:
        """Return the logits at every target position (teacher forcing)."""
        memory = self.encode(source, source_padding)
        hidden, _ = self.decode(target_input, memory, self.start(memory))
        return self.project(hidden)
