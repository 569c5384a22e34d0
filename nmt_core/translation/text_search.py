"""Search of texts: lines as requests of an engine, and its hypotheses as translations."""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.search.engine import Engine, FullEngine, Hypothesis, Request
from nmt_core.search.settings import BeamConfig
from nmt_core.text.aligner.aligner import Aligner
from nmt_core.text.normalize import normalize
from nmt_core.text.side import Side, Tokenized
from nmt_core.text.vocabulary import EOS, UNK
from nmt_core.text.words import list_words
from nmt_core.translation.translation import EMPTY_TRANSLATION, Translation


class TranslatorConfig(Config):
    """Search and batching of translations."""

    beam: BeamConfig = BeamConfig()
    """Settings of the search."""

    batch_tokens: int = Field(2048, ge=1, le=1_000_000)
    """Padded source tokens per batch, which hold ``beam.beam_size`` hypotheses each; a longer line
    is searched alone. Where the vocabulary is large, a batch has fewer lines."""

    max_source_tokens: int = Field(512, ge=1, le=10_000)
    """Tokens of a line, or of a given beginning, that are read; the rest is left out, with a
    warning. It bounds time and memory, and models know little about lines longer than those they
    were trained on."""


_log = logging.getLogger(__name__)


class SourceTask(NamedTuple):
    """A line to translate."""

    text: Tokenized
    source: list[int]
    """Numbers of its tag, if it has one, of the tokens that are read, and EOS; empty for an empty
    line."""
    prefix: list[str]
    """Tokens of the target language."""

    @property
    def tokens(self) -> list[str]:
        """The tokens that are read, without the tag."""
        return self.text.tokens[: len(self.source) - 1 - (self.text.tag is not None)]


@dataclass(frozen=True)
class TextCodec:
    """Turns lines into requests of an engine, and its hypotheses into translations."""

    source: Side
    target: Side
    max_tokens: int
    """Tokens of a line or prefix that are read, its tag included."""
    load_full: Callable[[], FullEngine] | None = None
    """Returns the engine that finds the source words of unknown tokens; None copies none."""

    def cut(self, text: Tokenized) -> list[str]:
        """Return the tokens of a line up to ``max_tokens``; warn if some are left out."""
        tokens = text.tokens[: self.max_tokens - (text.tag is not None)]
        if len(tokens) < len(text.tokens):
            _log.warning(
                "a line has %d tokens, but only the first %d are read; give each of its sentences "
                "a line of its own: %.60s",
                len(text.tokens),
                len(tokens),
                normalize(text.line),
            )
        return tokens

    def read(self, text: Tokenized) -> list[int]:
        """Return the numbers of a source line's tag and tokens, and EOS; empty without tokens."""
        numbers = self.source.vocabulary.encode(self.cut(text))
        return [*self.source.find_tag(text), *numbers, EOS] if numbers else []

    def make_tasks(
        self, lines: Sequence[str | Tokenized], prefixes: Sequence[str] | None
    ) -> list[SourceTask]:
        """Return the tasks of lines whose translations begin with prefixes.

        Raises:
            ValueError: if there are not as many prefixes as lines.
        """
        if prefixes is not None and len(prefixes) != len(lines):
            raise ValueError(f"there are {len(lines)} lines but {len(prefixes)} prefixes")
        texts = [self.source.tokenize(line) for line in lines]
        return [
            SourceTask(text, self.read(text), self.cut(self.target.tokenize(prefix)))
            for text, prefix in zip(texts, prefixes or [""] * len(lines), strict=True)
        ]

    def make_requests(self, tasks: Sequence[SourceTask]) -> list[Request]:
        """Return the requests of tasks that are not empty."""
        encode = self.target.vocabulary.encode
        return [Request(task.source, encode(task.prefix)) for task in tasks if task.source]

    def write(
        self, tasks: Sequence[SourceTask], hypotheses: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Translation]]:
        """Return the translations of tasks from the hypotheses of those that are not empty."""
        pairs = [
            (task, leave_tag_out(hypothesis) if task.text.tag else hypothesis)
            for task, own in zip((t for t in tasks if t.source), hypotheses, strict=True)
            for hypothesis in own
        ]
        tokens = [self._decode(task, hypothesis) for task, hypothesis in pairs]
        if self.load_full:
            copy_unknown(pairs, tokens, self.source, self.load_full)
        written = map(self._join, tokens, pairs)
        counts = iter(map(len, hypotheses))
        return [
            [next(written) for _ in range(next(counts))] if task.source else [EMPTY_TRANSLATION]
            for task in tasks
        ]

    def _decode(self, task: SourceTask, hypothesis: Hypothesis) -> list[str]:
        decoded = self.target.vocabulary.decode(hypothesis.tokens)
        return [*task.prefix, *decoded[len(task.prefix) :]]

    def _join(self, tokens: list[str], pair: tuple[SourceTask, Hypothesis]) -> Translation:
        task, hypothesis = pair
        return Translation(
            text=self.target.join(tokens),
            score=hypothesis.score,
            tokens=tuple(tokens),
            token_probabilities=tuple(map(math.exp, hypothesis.token_log_probs)),
            ids=hypothesis.tokens,
            source_tokens=tuple(task.tokens),
            attention=hypothesis.attention,
        )


@dataclass(frozen=True)
class TextSearch:
    """A search for translations of texts, set up for one call of a translator."""

    codec: TextCodec
    engine: Engine
    config: BeamConfig
    batch_tokens: int
    prefixes: Sequence[str] | None
    probabilities: bool
    attention: bool

    def run(self, texts: Sequence[str | Tokenized], **changes: int) -> list[list[Translation]]:
        """Return translations of texts, best first, by a search with some settings changed."""
        tasks = self.codec.make_tasks(texts, self.prefixes)
        hypotheses = self.engine.search(
            self.codec.make_requests(tasks),
            self.config.model_copy(update=changes),
            batch_tokens=self.batch_tokens,
            probabilities=self.probabilities,
            attention=self.attention,
        )
        return self.codec.write(tasks, hypotheses)


def leave_tag_out(hypothesis: Hypothesis) -> Hypothesis:
    """Return a hypothesis whose attention is to the text of its source alone, without its tag."""
    if hypothesis.attention is None:
        return hypothesis
    return hypothesis._replace(attention=drop_tag_column(hypothesis.attention))


def drop_tag_column(attention: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return attention without its first column, which is that of a tag; rows keep their sums."""
    left = attention[:, 1:]
    sums = left.sum(axis=1, keepdims=True)
    whole = attention.sum(axis=1, keepdims=True)
    return left * np.divide(whole, sums, where=sums > 0, out=np.zeros_like(sums))


def copy_unknown(
    pairs: Sequence[tuple[SourceTask, Hypothesis]],
    tokens: Sequence[list[str]],
    source: Side,
    load_full: Callable[[], FullEngine],
) -> None:
    """Replace unknown tokens by the source words with most of their attention.

    Args:
        pairs: lines with their hypotheses.
        tokens: of the hypotheses, which are changed.
        source: the side of the lines.
        load_full: returns the engine that computes attention where the search did not.
    """
    unknown = [
        number
        for number, (task, hypothesis) in enumerate(pairs)
        if UNK in hypothesis.tokens[len(task.prefix) :]
    ]
    if not unknown:
        return
    weights = _find_attention([pairs[number] for number in unknown], load_full)
    for number, attention in zip(unknown, weights, strict=True):
        task, hypothesis = pairs[number]
        words = source.surfaces(task.text.line)[: len(task.tokens)]
        closest = attention[:, : len(words)].argmax(axis=1).tolist()
        for position in range(len(task.prefix), len(hypothesis.tokens)):
            if hypothesis.tokens[position] == UNK:
                tokens[number][position] = words[closest[position]]


def _find_attention(
    pairs: Sequence[tuple[SourceTask, Hypothesis]], load_full: Callable[[], FullEngine]
) -> list[NDArray[np.float32]]:
    """Return the attention of hypotheses, from the search or else computed again."""
    seen = [hypothesis.attention for _, hypothesis in pairs if hypothesis.attention is not None]
    if len(seen) == len(pairs):
        return seen
    computed = load_full().attend(
        [task.source for task, _ in pairs], [hypothesis.tokens for _, hypothesis in pairs]
    )
    assert computed is not None  # for otherwise the search forbids the unknown word
    return [
        weights if task.text.tag is None else drop_tag_column(weights)
        for weights, (task, _) in zip(computed, pairs, strict=True)
    ]


def add_links(
    lines: Sequence[str], translations: Sequence[Sequence[Translation]], aligner: Aligner
) -> list[list[Translation]]:
    """Return translations with the source word of each of their words."""
    pairs = [
        (list_words(line), list_words(each.text))
        for line, several in zip(lines, translations, strict=True)
        for each in several
    ]
    links = iter(aligner.trace(pairs))
    return [[each._replace(links=next(links)) for each in several] for several in translations]
