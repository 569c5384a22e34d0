"""The interface of causal language models, which scoring and sampling use.

A model reads tokens, carries its state, and returns hidden vectors that predict the next
token, as the decoder of ``models/seq2seq.py`` does. The first token is BOS; PAD and BOS are never
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
    """What a model remembers of the tokens of each row."""

    layers: tuple[tuple[Tensor, ...], ...] = ()
    """Of each layer: the states of its cells, (R, D) each, or keys and values of the n tokens, (R,
    H, n, d) each."""
    tokens: Tensor | None = None
    """The last N - 1 tokens, PAD before the first, or the n tokens of a context."""


class LanguageModel(nn.Module, ABC):
    """Gives the probability of every token after those before it, by a softmax if it is neural."""

    config: Any
    """Settings of the kind of model."""
    output: nn.Linear
    carries = False
    """Whether the state of a line carries over to the next one."""

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(chain(self.parameters(), self.buffers())).device

    @abstractmethod
    def start(self, rows: int) -> LanguageState:
        """Return the state of rows of which no token was read."""

    @abstractmethod
    def decode(
        self, tokens: Int[Tensor, "R T"], state: LanguageState
    ) -> tuple[Shaped[Tensor, "R T D"], LanguageState]:
        """Read the next tokens of every row; return hidden vectors, and the new state."""

    def log_probs(self, hidden: Shaped[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        """Return the log-probabilities of the next token, in float32 or better.

        PAD and BOS have probability 0.
        """
        logits = self.output(hidden)
        precise = logits.to(torch.promote_types(logits.dtype, torch.float32))
        never = torch.tensor([PAD, BOS], device=logits.device)
        return precise.index_fill(-1, never, -torch.inf).log_softmax(dim=-1)

    def log_likelihood(
        self, hidden: Shaped[Tensor, "*N D"], tokens: Int[Tensor, "*N"]
    ) -> Float[Tensor, "*N"]:
        """Return the log-probability of the given next tokens."""
        return self.log_probs(hidden).gather(-1, tokens[..., None]).squeeze(-1)

    def forward(self, tokens: Int[Tensor, "R T"]) -> Float[Tensor, "R T V"]:
        """Return the log-probabilities of every next token at once (teacher forcing)."""
        hidden, _ = self.decode(tokens, self.start(len(tokens)))
        return self.log_probs(hidden)


def start_window(rows: int, order: int, device: torch.device) -> LanguageState:
    """Return the state of a model of the last N - 1 tokens before it reads any."""
    return LanguageState(tokens=torch.full((rows, order - 1), PAD, device=device))


def slide(
    tokens: Int[Tensor, "R T"], state: LanguageState
) -> tuple[Int[Tensor, "R T N-1"], LanguageState]:
    """Return the N - 1 tokens up to each of the tokens, and the new state."""
    assert state.tokens is not None
    seen = torch.cat([state.tokens, tokens], dim=1)
    width = state.tokens.size(1)
    last = LanguageState(tokens=seen[:, seen.size(1) - width :])
    return seen.unfold(1, width, 1)[:, 1:], last


ROWS_PER_SOFTMAX = 1024
"""Predictions made at once, which bounds memory where vocabularies are large."""

CHUNK = 512
"""Tokens of a stream read at once."""

BATCH_TOKENS = 4096
"""Padded tokens of independent lines read at once."""


@dataclass(frozen=True)
class TextModel:
    """A language model and its units; puts the model in evaluation mode."""

    model: LanguageModel
    units: Units

    def __post_init__(self) -> None:
        self.model.eval()

    def score(self, lines: Sequence[str]) -> list[LogLikelihood]:
        """Return the log-likelihood of every line, its end included.

        Characters are read as one stream, and so are words and subwords by a model that carries its
        state from line to line. Of words and subwords, a blank line has no tokens, as in training.
        """
        read = [line for line in lines if self.units.document or line.strip()]
        if self.units.document:
            tokens = [self.units.encode_part(f"{line}\n") for line in read]
            ends = np.cumsum([0, *map(len, tokens)])
            stream = stream_log_likelihoods(self.model, [BOS, *chain.from_iterable(tokens)])
            nats = [stream[begin:end] for begin, end in pairwise(ends)]
        else:
            encoded = [self.units.encode_line(line) for line in read]
            tokens = [line[1:] for line in encoded]
            nats = line_log_likelihoods(self.model, encoded)
        scores = iter(
            LogLikelihood(float(own.sum()), len(numbers), numbers.count(UNK), len(line) + 1)
            for own, numbers, line in zip(nats, tokens, read, strict=True)
        )
        blank = LogLikelihood()
        return [next(scores) if self.units.document or line.strip() else blank for line in lines]

    def generate(self, length: int, sampling: TokenSampling, *, seed: int, prefix: str = "") -> str:
        """Return ``prefix`` and ``length`` more tokens.

        Ends of lines count as tokens. The same seed gives the same text.
        """
        if self.units.document:
            read, never = self.units.encode_part(prefix), [PAD, BOS, UNK, EOS]
        else:
            lines = [self.units.encode_line(line) for line in split_lines(prefix)] or [[BOS, EOS]]
            read, never = [n for line in lines for n in line][1:-1], [PAD, BOS, UNK]
        context = [BOS, *read]
        if not (self.units.document or self.model.carries):
            context = context[len(context) - 1 - context[::-1].index(BOS) :]
        tokens = generate_tokens(
            self.model, context, sampling, make_generator(seed, "generate"), never=never
        )
        return self.units.decode([*read, *islice(tokens, length)])


@torch.inference_mode()
def stream_log_likelihoods(
    model: LanguageModel, tokens: Sequence[int]
) -> Float[np.ndarray, " T-1"]:
    """Read one stream; return the log-likelihood of every token after the first, 0 for BOS."""
    stream = torch.tensor(tokens, device=model.device)
    state, parts = model.start(1), [np.zeros(0)]
    for begin in range(0, len(stream) - 1, CHUNK):
        chunk = stream[begin : begin + CHUNK + 1]
        hidden, state = model.decode(chunk[None, :-1], state)
        parts.append(_score(model, hidden[0], chunk[1:]).double().cpu().numpy())
    return np.concatenate(parts)


@torch.inference_mode()
def line_log_likelihoods(
    model: LanguageModel, lines: Sequence[Sequence[int]]
) -> list[Float[np.ndarray, " T-1"]]:
    """Return the log-likelihoods of tokens after the first, of lines that each begin with BOS.

    A model that was trained to go on from line to line reads them as one stream.
    """
    if model.carries:
        nats = stream_log_likelihoods(model, [*chain.from_iterable(lines)])
        ends = np.cumsum([len(line) for line in lines])
        return [nats[end - len(line) : end - 1] for line, end in zip(lines, ends, strict=True)]
    scores: list[Float[np.ndarray, " T"]] = [np.zeros(0)] * len(lines)
    lengths = {row: len(line) for row, line in enumerate(lines)}
    for rows in batches_by_length(lengths, max_tokens=BATCH_TOKENS):
        tokens = pad([lines[row] for row in rows]).to(model.device)
        hidden, _ = model.decode(tokens[:, :-1], model.start(len(rows)))
        is_token = tokens[:, 1:] != PAD
        together = _score(model, hidden[is_token], tokens[:, 1:][is_token]).double().cpu()
        parts = together.split([lengths[row] - 1 for row in rows])
        for row, part in zip(rows, parts, strict=True):
            scores[row] = part.numpy()
    return scores


def _score(model: LanguageModel, hidden: Tensor, tokens: Tensor) -> Tensor:
    parts = zip(hidden.split(ROWS_PER_SOFTMAX), tokens.split(ROWS_PER_SOFTMAX), strict=True)
    nats = torch.cat([model.log_likelihood(features, wanted) for features, wanted in parts])
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
    """Yield sampled tokens after others, BOS first, without end, and none of ``never``.

    After EOS the next line begins with BOS.

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
                "no token that may be written has a positive probability: the model expects "
                "unknown words alone, or its weights are not finite; begin with another text, or "
                "learn it with smoothing"
            )
        noise = torch.tensor([chance.random()], dtype=torch.float64, device=model.device)
        token = int(draw_tokens(shape_distribution(log_probs, sampling), noise))
        yield token
        newest = torch.tensor([[token]], device=model.device)
        if token == EOS:
            newest = torch.tensor([[EOS, BOS]] if model.carries else [[BOS]], device=model.device)
            state = state if model.carries else model.start(1)
