"""Search of texts: lines as requests of an engine, and its hypotheses as translations."""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.search.engine import Engine, Hypothesis, Request
from nmt_core.search.settings import BeamConfig
from nmt_core.text.normalize import normalize
from nmt_core.text.side import Side, Tokenized
from nmt_core.text.vocabulary import EOS, UNK
from nmt_core.text.words import list_words
from nmt_core.translation.translation import EMPTY_TRANSLATION, Translation

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
    """Padded source tokens per batch, which hold ``beam.beam_size`` hypotheses each; a longer line
    is searched alone. Where the vocabulary is large, a batch has fewer lines."""

    max_source_tokens: int = Field(512, ge=1, le=10_000)
    """Tokens of a line, or of a given beginning, that are read; the rest is left out, with a
    warning. It bounds time and memory, and models know little about lines longer than those they
    were trained on."""


class SourceTask(NamedTuple):
    """A line to translate."""

    text: Tokenized
    tokens: list[str]
    """The tokens that are read, without the tag."""
    prefix: list[str]
    """Tokens of the target language."""
    request: Request
    """The numbers of both; its source is empty for an empty line."""


@dataclass(frozen=True)
class TextSearch:
    """Searches for translations of texts: lines are requests of an engine, hypotheses lines."""

    source: Side
    target: Side
    max_tokens: int
    """Tokens of a line or prefix that are read, its tag included."""
    load_full: "Callable[[], PyTorchEngine] | None" = None
    """Returns the engine that finds the source words of unknown tokens; None copies none."""

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
    ) -> list[list[Translation]]:
        """Return translations of lines, best first; the options are those of the engine.

        Raises:
            ValueError: if there are not as many prefixes as lines.
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

    def make_tasks(
        self, lines: Sequence[str | Tokenized], prefixes: Sequence[str] | None = None
    ) -> list[SourceTask]:
        """Return the tasks of lines whose translations begin with prefixes.

        Raises:
            ValueError: if there are not as many prefixes as lines.
        """
        if prefixes is not None and len(prefixes) != len(lines):
            raise ValueError(f"there are {len(lines)} lines but {len(prefixes)} prefixes")
        tasks = []
        for line, beginning in zip(lines, prefixes or [""] * len(lines), strict=True):
            text = self.source.tokenize(line)
            tokens = self.cut(text)
            prefix = self.cut(self.target.tokenize(beginning)) if beginning else []
            tag = [] if text.tag is None else [self.source.vocabulary.tags[text.tag]]
            source = [*tag, *self.source.vocabulary.encode(tokens), EOS]
            request = Request(source if tokens else [], self.target.vocabulary.encode(prefix))
            tasks.append(SourceTask(text, tokens, prefix, request))
        return tasks

    def write(
        self, tasks: Sequence[SourceTask], hypotheses: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Translation]]:
        """Return the translations of tasks from the hypotheses of those that are not empty."""
        own = iter(hypotheses)
        pairs = [
            (task, each._replace(attention=drop_tag_column(each.attention)))
            if task.text.tag and each.attention is not None
            else (task, each)
            for task in tasks
            for each in (next(own) if task.tokens else ())
        ]
        tokens = [
            [*task.prefix, *self.target.vocabulary.decode(each.tokens)[len(task.prefix) :]]
            for task, each in pairs
        ]
        if self.load_full:
            copy_unknown(pairs, tokens, self.source, self.load_full)
        written = (
            Translation(
                text=self.target.join(words),
                score=each.score,
                tokens=tuple(words),
                token_probabilities=tuple(map(math.exp, each.token_log_probs)),
                ids=each.tokens,
                source_tokens=tuple(task.tokens),
                attention=each.attention,
            )
            for words, (task, each) in zip(tokens, pairs, strict=True)
        )
        counts = iter(map(len, hypotheses))
        return [
            [*islice(written, next(counts))] if task.tokens else [EMPTY_TRANSLATION]
            for task in tasks
        ]


def drop_tag_column(attention: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """Return attention without its first column, which is that of a tag; rows keep their sums."""
    import numpy as np  # slow to import, and only attention needs it

    left = attention[:, 1:]
    sums = left.sum(axis=1, keepdims=True)
    whole = attention.sum(axis=1, keepdims=True)
    return left * np.divide(whole, sums, where=sums > 0, out=np.zeros_like(sums))


def copy_unknown(
    pairs: Sequence[tuple[SourceTask, Hypothesis]],
    tokens: Sequence[list[str]],
    source: Side,
    load_full: "Callable[[], PyTorchEngine]",
) -> None:
    """Replace unknown tokens by the source words with most of their attention.

    Args:
        pairs: lines with their hypotheses.
        tokens: of the hypotheses, which are changed.
        source: the side of the lines.
        load_full: returns the engine that computes attention where the search did not.
    """
    unknown = [
        (*pair, words)
        for pair, words in zip(pairs, tokens, strict=True)
        if UNK in pair[1].tokens[len(pair[0].prefix) :]
    ]
    looks = [hypothesis.attention for _, hypothesis, _ in unknown]
    if any(look is None for look in looks):
        computed = load_full().attend(
            [task.request.source for task, *_ in unknown], [each.tokens for _, each, _ in unknown]
        )
        assert computed is not None  # for otherwise the search forbids the unknown word
        looks = [
            look if task.text.tag is None else drop_tag_column(look)
            for look, (task, *_) in zip(computed, unknown, strict=True)
        ]
    for look, (task, hypothesis, words) in zip(looks, unknown, strict=True):
        assert look is not None
        read = source.surfaces(task.text.line)[: len(task.tokens)]
        closest = look[:, : len(read)].argmax(axis=1).tolist()
        for position in range(len(task.prefix), len(hypothesis.tokens)):
            if hypothesis.tokens[position] == UNK:
                words[position] = read[closest[position]]


def add_links(
    lines: Sequence[str], translations: Sequence[Sequence[Translation]], aligner: "Aligner"
) -> list[list[Translation]]:
    """Return translations with the source word of each of their words."""
    pairs = [
        (list_words(line), list_words(each.text))
        for line, several in zip(lines, translations, strict=True)
        for each in several
    ]
    links = iter(aligner.trace(pairs))
    return [[each._replace(links=next(links)) for each in several] for several in translations]
