"""Text in, text out: one line gives one line, in the same order, whatever it holds."""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from nmt_core import config
from nmt_core.config import Config
from nmt_core.data.batch import pad
from nmt_core.data.batching import batches_by_length
from nmt_core.decoding.beam import beam_search
from nmt_core.decoding.hypothesis import Hypothesis
from nmt_core.decoding.sampling import SamplingConfig, sample
from nmt_core.decoding.settings import BeamConfig
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.text.normalize import normalize
from nmt_core.text.side import Side
from nmt_core.text.vocabulary import BOS, EOS, PAD, UNK

_log = logging.getLogger(__name__)

MOST_LOG_PROBS = 2**24
"""Log-probabilities of next tokens, hypotheses by vocabulary, that are looked at together: some
70 MB, and a few times that where they are drawn from."""


class TranslatorConfig(Config):
    """How lines become translations."""

    beam: BeamConfig = BeamConfig()
    """How to search."""

    batch_tokens: int = Field(2048, ge=1, le=1_000_000)
    """Padded source tokens per batch, which hold ``beam.beam_size`` hypotheses each; a longer line
    is searched alone. Where the vocabulary is large, a batch has fewer lines."""

    max_source_tokens: int = Field(512, ge=1, le=10_000)
    """Tokens of a line, or of a given beginning, that are read; the rest is left out, with a
    warning. It bounds time and memory, and models know little about lines longer than those they
    were trained on."""

    unsure_below: float | None = Field(None, le=0)
    """Score below which the model was at 1 in 100 of its test sentences; null if nobody measured.
    Below it lie mostly lines unlike the text that was learnt from."""


class Translation(NamedTuple):
    """One translation of one line."""

    text: str
    """A line: it holds no line end of any kind."""

    score: float
    """Length-normalised log-probability; see ``Hypothesis``."""

    tokens: tuple[str, ...]
    """What the text was made of; source words that were copied, and a given beginning, as there."""

    token_probabilities: tuple[float, ...]
    """One per token, and last that of the end of the sentence."""

    ids: tuple[int, ...]
    """The tokens' numbers."""


class NextToken(NamedTuple):
    """What may follow."""

    token: str
    """A token of the vocabulary; ``</s>`` ends the sentence."""

    probability: float


NOTHING = Translation(text="", score=0.0, tokens=(), token_probabilities=(), ids=())
"""The translation of an empty line."""


Search = Callable[[Int[Tensor, "B S"], Int[Tensor, "B P"]], list[list[Hypothesis]]]
"""Takes sources and how their translations begin, both followed by PAD."""


@dataclass(frozen=True, kw_only=True)
class Translator:
    """A model with both sides of its text; puts the model in evaluation mode.

    Wherever ``prefixes`` may be given, they are how the translations begin, one per line, in whole
    words; a translation's probability includes that of its prefix.
    """

    model: Seq2Seq[Any, Any]
    source: Side
    target: Side
    config: TranslatorConfig = field(default_factory=TranslatorConfig)

    def __post_init__(self) -> None:
        self.model.eval()

    def translate(
        self,
        lines: Sequence[str],
        *,
        beam_size: int | None = None,
        prefixes: Sequence[str] | None = None,
    ) -> list[str]:
        """Return the best translation of every line; that of an empty line is empty.

        Args:
            lines: source text.
            beam_size: live hypotheses per sentence; None as configured.
            prefixes: how the translations begin.
        """
        found = self.search(lines, beam_size=beam_size, n_best=1, prefixes=prefixes)
        return [best.text for best, *_ in found]

    def search(
        self,
        lines: Sequence[str],
        *,
        beam_size: int | None = None,
        n_best: int | None = None,
        diversity: float | None = None,
        prefixes: Sequence[str] | None = None,
    ) -> list[list[Translation]]:
        """Return one or more translations of every line, best first.

        Args:
            lines: source text.
            beam_size: live hypotheses per sentence; None as configured.
            n_best: translations per line, at most ``beam_size``; None as configured.
            diversity: see ``BeamConfig``; None as configured.
            prefixes: how the translations begin.

        Raises:
            ConfigError: if ``n_best`` exceeds ``beam_size``.
            ValueError: if there are not as many prefixes as lines.
        """
        search = self._configure(beam_size, n_best, diversity)
        return self._translate(
            lines,
            prefixes,
            lambda source, prefix: beam_search(
                self.model, source, source == PAD, search, prefix=prefix
            ),
            hypotheses=search.beam_size,
        )

    def sample(
        self,
        lines: Sequence[str],
        sampling: SamplingConfig | None = None,
        *,
        prefixes: Sequence[str] | None = None,
    ) -> list[list[Translation]]:
        """Return translations of every line drawn at random, in the order they were drawn.

        What is drawn for a line depends on its text and the seed, and on no other line.

        Args:
            lines: source text.
            sampling: how to draw, and how many; what ``config.beam`` says of length, unknown words
                and repetition holds, too.
            prefixes: how the translations begin.

        Raises:
            ValueError: if there are not as many prefixes as lines.
        """
        sampling = sampling or SamplingConfig()
        search = self._configure()
        return self._translate(
            lines,
            prefixes,
            lambda source, prefix: sample(
                self.model, source, source == PAD, sampling, search, prefix=prefix
            ),
            hypotheses=sampling.samples,
        )

    @torch.inference_mode()
    def next_tokens(self, line: str, prefix: str = "", count: int = 10) -> list[NextToken]:
        """Return the ``count`` tokens most likely to follow ``prefix``, likeliest first.

        Nothing is forbidden, so reserved tokens may be among them. None follows for an empty line.
        """
        read = self._read(line)
        if not read:
            return []
        begin = self.target.vocabulary.encode(self._begin(prefix))
        source, target = self._rows([read]), self._rows([[BOS, *begin]])
        memory = self.model.encode(source, source == PAD)
        hidden, _ = self.model.decode(target, memory, self.model.start(memory))
        probabilities = self.model.log_probs(hidden[0, -1]).exp()
        most = probabilities.topk(min(count, len(probabilities)))
        return [
            NextToken(self.target.vocabulary.tokens[token], probability)
            for probability, token in zip(*(column.tolist() for column in most), strict=True)
        ]

    def attention(self, line: str, translation: Translation) -> Float[np.ndarray, "T S"] | None:
        """Return how much each token of a translation looks at each source token.

        The last row and the last column belong to the ends of the sentences. None if the model has
        no attention, or the line no tokens.
        """
        source = self._read(line)
        if not source:
            return None
        weights = self._attention([source], [translation.ids])
        return None if weights is None else weights[0].cpu().numpy()

    def _configure(
        self,
        beam_size: int | None = None,
        n_best: int | None = None,
        diversity: float | None = None,
    ) -> BeamConfig:
        configured = self.config.beam
        size = configured.beam_size if beam_size is None else beam_size
        changes: dict[str, Any] = {
            "beam_size": size,
            "n_best": min(configured.n_best, size) if n_best is None else n_best,
        }
        if diversity is not None:
            changes["diversity"] = diversity
        if configured.unknown == "copy" and self._attention([[EOS]], [()]) is None:
            changes["unknown"] = "forbid"  # nothing tells which word to copy
        return config.build(BeamConfig, configured.model_dump() | changes, at="beam")

    def _translate(
        self,
        lines: Sequence[str],
        prefixes: Sequence[str] | None,
        search: Search,
        *,
        hypotheses: int,
    ) -> list[list[Translation]]:
        if prefixes is not None and len(prefixes) != len(lines):
            raise ValueError(f"there are {len(lines)} lines but {len(prefixes)} prefixes")
        tasks = [
            _Task(line, self._read(line), self._begin(prefix))
            for line, prefix in zip(lines, prefixes or [""] * len(lines), strict=True)
        ]
        lengths = {row: len(task.source) for row, task in enumerate(tasks) if task.source}
        configured = self.config.beam.beam_size
        max_tokens = self.config.batch_tokens * configured // max(configured, hypotheses)
        most = MOST_LOG_PROBS // (hypotheses * len(self.target.vocabulary))
        found = [[NOTHING] for _ in lines]
        for rows in batches_by_length(lengths, max_tokens=max_tokens, max_rows=most):
            batch = [tasks[row] for row in rows]
            best_first = search(
                self._rows([task.source for task in batch]),
                self._rows([self.target.vocabulary.encode(task.prefix) for task in batch]),
            )
            for row, translations in zip(rows, self._write(batch, best_first), strict=True):
                found[row] = translations
        return found

    def cut(self, tokens: list[str], line: str) -> list[str]:
        """Return the tokens of a line up to ``max_source_tokens``, and warn of those left out."""
        kept = tokens[: self.config.max_source_tokens]
        if len(kept) < len(tokens):
            _log.warning(
                "a line has %d tokens, of which the first %d are read; give each of its sentences "
                "a line of its own: %.60s",
                len(tokens),
                len(kept),
                normalize(line),
            )
        return kept

    def _read(self, line: str) -> list[int]:
        """Return the numbers of a line's tokens and EOS; none at all for a line without tokens."""
        kept = self.cut(self.source.tokens(line), line)
        return [*self.source.vocabulary.encode(kept), EOS] if kept else []

    def _begin(self, prefix: str) -> list[str]:
        return self.cut(self.target.tokens(prefix), prefix)

    def _write(
        self, tasks: Sequence["_Task"], found: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Translation]]:
        """Turn the hypotheses of a batch into text."""
        pairs = [(task, one) for task, several in zip(tasks, found, strict=True) for one in several]
        tokens = [self._tokens(task, hypothesis) for task, hypothesis in pairs]
        if self.config.beam.unknown == "copy":
            self._copy(pairs, tokens)
        written = iter(
            Translation(
                text=self.target.join(words),
                score=hypothesis.score,
                tokens=tuple(words),
                token_probabilities=tuple(math.exp(log) for log in hypothesis.token_log_probs),
                ids=hypothesis.tokens,
            )
            for words, (_, hypothesis) in zip(tokens, pairs, strict=True)
        )
        return [list(islice(written, len(several))) for several in found]

    def _tokens(self, task: "_Task", hypothesis: Hypothesis) -> list[str]:
        tokens = self.target.vocabulary.decode(hypothesis.tokens)
        return [*task.prefix, *tokens[len(task.prefix) :]]

    def _copy(
        self, pairs: Sequence[tuple["_Task", Hypothesis]], tokens: Sequence[list[str]]
    ) -> None:
        """Put source words in the place of unknown ones, those that attention looks at most."""
        wanting = [
            number
            for number, (task, hypothesis) in enumerate(pairs)
            if UNK in hypothesis.tokens[len(task.prefix) :]
        ]
        if not wanting:
            return
        weights = self._attention(
            [pairs[number][0].source for number in wanting],
            [pairs[number][1].tokens for number in wanting],
        )
        assert weights is not None  # for otherwise the search forbids the unknown word
        for number, looks in zip(wanting, weights.cpu(), strict=True):
            task, hypothesis = pairs[number]
            words = self.source.surfaces(task.line)[: len(task.source) - 1]
            most = looks[:, : len(words)].argmax(dim=1).tolist()
            for place in range(len(task.prefix), len(hypothesis.tokens)):
                if hypothesis.tokens[place] == UNK:
                    tokens[number][place] = words[most[place]]

    def _rows(self, numbers: Sequence[Sequence[int]]) -> Int[Tensor, "B T"]:
        """Return rows of equal length, where the model is."""
        return pad(numbers).to(next(self.model.parameters()).device)

    @torch.inference_mode()
    def _attention(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> Float[Tensor, "B T S"] | None:
        source = self._rows(sources)
        memory = self.model.encode(source, source == PAD)
        return self.model.attention(self._rows([[BOS, *tokens] for tokens in targets]), memory)


class _Task(NamedTuple):
    """What is to be translated."""

    line: str
    source: list[int]  # tokens by number and EOS, none of an empty line
    prefix: list[str]  # tokens of the target language
