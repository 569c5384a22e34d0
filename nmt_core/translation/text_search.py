"""Search for translations: lines become requests of an engine, its hypotheses translations."""

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.search.engine import Engine, Hypothesis, Request
from nmt_core.search.settings import BeamConfig
from nmt_core.text.normalize import normalize
from nmt_core.text.side import Side, Tokenized
from nmt_core.text.translation import EMPTY_TRANSLATION, Translation
from nmt_core.text.vocabulary import EOS, UNK
from nmt_core.text.words import list_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nmt_core.search.pytorch import PyTorchEngine
    from nmt_core.text.aligner.aligner import Aligner

_log = logging.getLogger(__name__)


class TranslatorConfig(Config):
    """Search and batching of translations."""

    beam: BeamConfig = BeamConfig()
    """Settings of the search."""

    batch_tokens: int = Field(2048, ge=1, le=1_000_000)
    """Maximum padded source tokens per batch; a longer line is searched alone. With a large
    vocabulary, a batch has fewer lines."""

    max_source_tokens: int = Field(512, ge=1, le=10_000)
    """Maximum tokens of a line or of a prefix; longer ones are truncated with a warning. The limit
    bounds time and memory, and models translate lines poorly that are longer than their training
    data."""


class SourceTask(NamedTuple):
    """A line to translate."""

    text: Tokenized
    tokens: list[str]
    """The tokens of the line after truncation, without its tags."""
    prefix: list[str]
    """Target tokens of the prefix."""
    request: Request
    """The IDs of both; the source is empty for an empty line."""


@dataclass(frozen=True)
class TextSearch:
    """Converts lines to requests of an engine, and hypotheses to translations."""

    source: Side
    target: Side
    max_tokens: int
    """Maximum tokens of a line or prefix, its tags included."""
    load_full: "Callable[[], PyTorchEngine] | None" = None
    """Returns the engine whose attention selects source words for unknown tokens; None does not
    copy words."""

    def search(
        self,
        engine: Engine,
        lines: Sequence[str | Tokenized],
        config: BeamConfig,
        *,
        prefixes: Sequence[str] | None,
        batch_tokens: int,
        probabilities: bool,
        attention: bool,
    ) -> list[Iterator[Translation]]:
        """Return the translations of lines, best first; for the options, see ``Engine.search``.

        Raises:
            ValueError: if the numbers of prefixes and lines differ.
        """
        tasks = self.make_tasks(lines, prefixes)
        hypotheses = engine.search(
            [task.request for task in tasks if task.tokens],
            config,
            batch_tokens=batch_tokens,
            probabilities=probabilities,
            attention=attention,
        )
        return self.write(tasks, hypotheses)

    def cut(self, text: Tokenized) -> list[str]:
        """Return the tokens of a line, truncated to ``max_tokens`` with a warning."""
        tokens = text.tokens[: self.max_tokens - len(text.tags)]
        if len(tokens) < len(text.tokens):
            _log.warning(
                "a line has %d tokens, but only the first %d are translated; write one sentence "
                "per line: %.60s",
                len(text.tokens),
                len(tokens),
                normalize(text.line),
            )
        return tokens

    def make_tasks(
        self, lines: Sequence[str | Tokenized], prefixes: Sequence[str] | None = None
    ) -> list[SourceTask]:
        """Return the tasks of lines whose translations begin with prefixes.

        Raises:
            ValueError: if the numbers of prefixes and lines differ.
        """
        if prefixes is not None and len(prefixes) != len(lines):
            raise ValueError(f"there are {len(lines)} lines but {len(prefixes)} prefixes")
        tasks = []
        for line, beginning in zip(lines, prefixes or [""] * len(lines), strict=True):
            text = self.source.tokenize(line)
            tokens = self.cut(text)
            prefix = self.cut(self.target.tokenize(beginning)) if beginning else []
            tags = [self.source.vocabulary.tags[tag] for tag in text.tags]
            source = [*tags, *self.source.vocabulary.encode(tokens), EOS]
            request = Request(source if tokens else [], self.target.vocabulary.encode(prefix))
            tasks.append(SourceTask(text, tokens, prefix, request))
        return tasks

    def write(
        self, tasks: Sequence[SourceTask], hypotheses: Iterable[Iterable[Hypothesis]]
    ) -> list[Iterator[Translation]]:
        """Return the translations of tasks, given the hypotheses of nonempty tasks.

        They are written when they are read, because most callers read only the best.
        """
        results = iter(hypotheses)
        found = [next(results) if task.tokens else () for task in tasks]
        if self.load_full is None:
            return [*map(self._write, tasks, found)]
        listed = [[*own] for own in found]
        pairs = [(task, each) for task, own in zip(tasks, listed, strict=True) for each in own]
        tokens = [self._list_tokens(*pair) for pair in pairs]
        copy_unknown(pairs, tokens, self.source, self.load_full)
        copied = iter(tokens)
        return [*map(self._write, tasks, listed, ([next(copied) for _ in own] for own in listed))]

    def _list_tokens(self, task: SourceTask, hypothesis: Hypothesis) -> list[str]:
        tokens = self.target.vocabulary.decode(hypothesis.tokens)
        return [*task.prefix, *tokens[len(task.prefix) :]]

    def _write(
        self, task: SourceTask, found: Iterable[Hypothesis], copied: Sequence[list[str]] = ()
    ) -> Iterator[Translation]:
        if not task.tokens:
            yield EMPTY_TRANSLATION
        for rank, each in enumerate(found):
            words = copied[rank] if copied else self._list_tokens(task, each)
            attention = each.attention
            yield Translation(
                text=self.target.join(words),
                score=each.score,
                tokens=tuple(words),
                token_probabilities=tuple(map(math.exp, each.token_log_probs)),
                ids=each.tokens,
                source_tokens=tuple(task.tokens),
                attention=None if attention is None else drop_tags(attention, task.text),
            )


def drop_tags(attention: "NDArray[np.float32]", text: Tokenized) -> "NDArray[np.float32]":
    """Return attention weights without the columns of a text's tags; rows keep their sums."""
    if not text.tags:
        return attention
    import numpy as np  # slow to import, and only attention needs it

    words = attention[:, len(text.tags) :]
    sums = words.sum(axis=1, keepdims=True)
    total = attention.sum(axis=1, keepdims=True)
    return words * np.divide(total, sums, where=sums > 0, out=np.zeros_like(sums))


def copy_unknown(
    pairs: Sequence[tuple[SourceTask, Hypothesis]],
    tokens: Sequence[list[str]],
    source: Side,
    load_full: "Callable[[], PyTorchEngine]",
) -> None:
    """Replace unknown tokens in place by the source words with the highest attention.

    Args:
        pairs: lines with their hypotheses.
        tokens: tokens of the hypotheses, changed in place.
        source: the source side.
        load_full: returns the engine that computes missing attention.
    """
    unknown = [
        (*pair, words)
        for pair, words in zip(pairs, tokens, strict=True)
        if UNK in pair[1].tokens[len(pair[0].prefix) :]
    ]
    matrices: Sequence[NDArray[np.float32] | None] | None
    matrices = [hypothesis.attention for _, hypothesis, _ in unknown]
    if any(weights is None for weights in matrices):
        matrices = load_full().attend(
            [task.request.source for task, *_ in unknown], [each.tokens for _, each, _ in unknown]
        )
    assert matrices is not None  # without attention, the search forbids unknown tokens
    for weights, (task, hypothesis, words) in zip(matrices, unknown, strict=True):
        assert weights is not None
        surfaces = source.surfaces(task.text.line)[: len(task.tokens)]
        closest = drop_tags(weights, task.text)[:, : len(surfaces)].argmax(axis=1).tolist()
        for position in range(len(task.prefix), len(hypothesis.tokens)):
            if hypothesis.tokens[position] == UNK:
                words[position] = surfaces[closest[position]]


def add_links(
    lines: Sequence[str], translations: Sequence[Sequence[Translation]], aligner: "Aligner"
) -> list[list[Translation]]:
    """Return the translations with ``links``: the source word of each of their words."""
    pairs = [
        (list_words(line), list_words(each.text))
        for line, several in zip(lines, translations, strict=True)
        for each in several
    ]
    links = iter(aligner.trace(pairs))
    return [[each._replace(links=next(links)) for each in several] for several in translations]
