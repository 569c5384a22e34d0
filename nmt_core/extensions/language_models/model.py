"""The interface of causal language models, with scoring and sampling.

Like the decoder in ``models/seq2seq.py``, a model reads tokens, carries its state, and returns
hidden vectors that predict the next token. The first token is BOS. PAD and BOS are never
predicted.

Letters: R rows, T tokens, D features, V vocabulary, N order of a model of the last N - 1 tokens.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from nmt_core.base.errors import NmtError
from nmt_core.base.random import make_generator
from nmt_core.data.batch import pad
from nmt_core.extensions.language_models.reading import Units, split_lines
from nmt_core.models.seq2seq import State
from nmt_core.search.engine import LogLikelihood, batches_by_length
from nmt_core.search.settings import TokenSampling
from nmt_core.search.stepwise import draw_tokens, shape_distribution
from nmt_core.text.vocabulary import BOS, EOS, PAD, UNK


@dataclass(frozen=True)
class LanguageState(State):
    """The state of a model after the tokens of each row."""

    layers: tuple[tuple[Tensor, ...], ...] = ()
    """The tensors of each layer: recurrent states, (R, D) each, or keys and values of n tokens,
    (R, H, n, d) each."""
    tokens: Tensor | None = None
    """The last N - 1 tokens, PAD before the first, or the n tokens of a Transformer's context."""


class LanguageModel(nn.Module, ABC):
    """Predicts the probability of each next token."""

    config: Any
    """Settings of the kind of model."""
    output: nn.Linear
    is_stateful = False
    """Whether the state of a line carries over to the next line."""

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(chain(self.parameters(), self.buffers())).device

    @abstractmethod
    def start(self, rows: int) -> LanguageState:
        """Return the state of rows before their first token."""

    @abstractmethod
    def decode(
        self, tokens: Int[Tensor, "R T"], state: LanguageState
    ) -> tuple[Shaped[Tensor, "R T D"], LanguageState]:
        """Read the next tokens of every row; return hidden vectors, and the new state."""

    def log_probs(self, hidden: Shaped[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the log-probabilities of the next token, at least in float32.

        PAD and BOS have probability 0.
        """
        logits = self.output(hidden)
        precise = logits.to(torch.promote_types(logits.dtype, torch.float32))
        forbidden = torch.tensor([PAD, BOS], device=logits.device)
        return precise.index_fill(-1, forbidden, -torch.inf).log_softmax(dim=-1)

    def log_likelihood(
        self, hidden: Shaped[Tensor, "*N D"], tokens: Int[Tensor, "*N"]
    ) -> Float[Tensor, "*N"]:
        """Return the log-probability of these next tokens."""
        return self.log_probs(hidden).gather(-1, tokens[..., None]).squeeze(-1)

    def forward(self, tokens: Int[Tensor, "R T"]) -> Float[Tensor, "R T V"]:
        """Return the log-probabilities at every position (teacher forcing)."""
        hidden, _ = self.decode(tokens, self.start(len(tokens)))
        return self.log_probs(hidden)


def start_window(rows: int, order: int, device: torch.device) -> LanguageState:
    """Return the initial state of a model of the last N - 1 tokens."""
    return LanguageState(tokens=torch.full((rows, order - 1), PAD, device=device))


def build_windows(
    tokens: Int[Tensor, "R T"], state: LanguageState
) -> tuple[Int[Tensor, "R T N-1"], LanguageState]:
    """Return the last N - 1 tokens at each position, and the new state."""
    assert state.tokens is not None
    history = torch.cat([state.tokens, tokens], dim=1)
    width = state.tokens.size(1)
    last = LanguageState(tokens=history[:, history.size(1) - width :])
    return history.unfold(1, width, 1)[:, 1:], last


ROWS_PER_SOFTMAX = 1024
"""Maximum predictions per softmax, to save memory with large vocabularies."""

CHUNK_TOKENS = 512
"""Tokens of a stream per call of the model."""

BATCH_TOKENS = 4096
"""Maximum padded tokens in a batch of independent lines."""


@dataclass(frozen=True)
class TextModel:
    """A language model with its units; puts the model in evaluation mode."""

    model: LanguageModel
    units: Units

    def __post_init__(self) -> None:
        self.model.eval()

    def score(self, lines: Sequence[str]) -> list[LogLikelihood]:
        """Return the log-likelihood of every line, line ends included.

        Models of characters and stateful models read all lines as one stream. For words and
        subwords, a blank line has no tokens, as in training.
        """
        nonblank = [line for line in lines if self.units.document or line.strip()]
        if self.units.document:
            tokens = [self.units.encode_part(f"{line}\n") for line in nonblank]
            ends = np.cumsum([0, *map(len, tokens)])
            stream = stream_log_likelihoods(self.model, [BOS, *chain.from_iterable(tokens)])
            nats = [stream[begin:end] for begin, end in pairwise(ends)]
        else:
            encoded = [self.units.encode_line(line) for line in nonblank]
            tokens = [line[1:] for line in encoded]
            nats = line_log_likelihoods(self.model, encoded)
        scores = iter(
            LogLikelihood(float(terms.sum()), len(numbers), numbers.count(UNK), len(line) + 1)
            for terms, numbers, line in zip(nats, tokens, nonblank, strict=True)
        )
        blank = LogLikelihood()
        return [next(scores) if self.units.document or line.strip() else blank for line in lines]

    def generate(self, length: int, sampling: TokenSampling, *, seed: int, prefix: str = "") -> str:
        """Return ``prefix`` and ``length`` more tokens as text.

        Line ends count as tokens. The same seed gives the same text.
        """
        if self.units.document:
            beginning, never = self.units.encode_part(prefix), [PAD, BOS, UNK, EOS]
        else:
            lines = [self.units.encode_line(line) for line in split_lines(prefix)] or [[BOS, EOS]]
            beginning, never = [n for line in lines for n in line][1:-1], [PAD, BOS, UNK]
        context = [BOS, *beginning]
        if not (self.units.document or self.model.is_stateful):
            context = context[len(context) - 1 - context[::-1].index(BOS) :]
        tokens = generate_tokens(
            self.model, context, sampling, make_generator(seed, "generate"), never=never
        )
        return self.units.decode([*beginning, *islice(tokens, length)])


@torch.inference_mode()
def stream_log_likelihoods(
    model: LanguageModel, tokens: Sequence[int]
) -> Float[np.ndarray, " T-1"]:
    """Return the log-likelihood of every token of a stream after the first, 0 for BOS."""
    stream = torch.tensor(tokens, device=model.device)
    state, chunks = model.start(1), [np.zeros(0)]
    for begin in range(0, len(stream) - 1, CHUNK_TOKENS):
        chunk = stream[begin : begin + CHUNK_TOKENS + 1]
        hidden, state = model.decode(chunk[None, :-1], state)
        chunks.append(_score(model, hidden[0], chunk[1:]).double().cpu().numpy())
    return np.concatenate(chunks)


@torch.inference_mode()
def line_log_likelihoods(
    model: LanguageModel, lines: Sequence[Sequence[int]]
) -> list[Float[np.ndarray, " T-1"]]:
    """Return the log-likelihood of every token of each line after BOS, its first token.

    A stateful model reads all lines as one stream.
    """
    if model.is_stateful:
        nats = stream_log_likelihoods(model, [*chain.from_iterable(lines)])
        ends = np.cumsum([len(line) for line in lines])
        return [nats[end - len(line) : end - 1] for line, end in zip(lines, ends, strict=True)]
    scores: list[Float[np.ndarray, " T"]] = [np.zeros(0)] * len(lines)
    lengths = {row: len(line) for row, line in enumerate(lines)}
    for rows in batches_by_length(lengths, max_tokens=BATCH_TOKENS):
        tokens = pad([lines[row] for row in rows]).to(model.device)
        hidden, _ = model.decode(tokens[:, :-1], model.start(len(rows)))
        is_token = tokens[:, 1:] != PAD
        likelihoods = _score(model, hidden[is_token], tokens[:, 1:][is_token]).double().cpu()
        by_line = likelihoods.split([lengths[row] - 1 for row in rows])
        for row, terms in zip(rows, by_line, strict=True):
            scores[row] = terms.numpy()
    return scores


def _score(model: LanguageModel, hidden: Tensor, tokens: Tensor) -> Tensor:
    chunks = zip(hidden.split(ROWS_PER_SOFTMAX), tokens.split(ROWS_PER_SOFTMAX), strict=True)
    nats = torch.cat([model.log_likelihood(features, labels) for features, labels in chunks])
    return nats.masked_fill(tokens == BOS, 0.0)


@torch.inference_mode()
def generate_tokens(
    model: LanguageModel,
    read: Sequence[int],
    sampling: TokenSampling,
    chance: np.random.Generator,
    *,
    never: Sequence[int],
) -> Iterator[int]:
    """Yield sampled tokens after ``read``, without end, except the tokens ``never``.

    After EOS, the next line begins with BOS.

    Raises:
        NmtError: if all other tokens have probability 0.
    """
    state = model.start(1)
    newest = torch.tensor([list(read)], device=model.device)
    while True:
        hidden, state = model.decode(newest, state)
        log_probs = model.log_probs(hidden[:, -1])
        log_probs[:, list(never)] = -torch.inf
        if not log_probs.isfinite().any():
            raise NmtError(
                "no token has a positive probability, because the model predicts only unknown "
                "words, or its weights are not finite; use another --prefix, or train the model "
                "with smoothing"
            )
        noise = torch.tensor([chance.random()], dtype=torch.float64, device=model.device)
        token = int(draw_tokens(shape_distribution(log_probs, sampling), noise))
        yield token
        newest = torch.tensor([[token]], device=model.device)
        if token == EOS:
            newest = torch.tensor(
                [[EOS, BOS]] if model.is_stateful else [[BOS]], device=model.device
            )
            state = state if model.is_stateful else model.start(1)
