"""A line as an engine is asked for it, and what of its attention belongs to its text."""

import math
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_core.base.errors import ConfigError
from nmt_core.search.engine import FullEngine
from nmt_core.search.hypothesis import Hypothesis
from nmt_core.text.side import Side, Tokenized
from nmt_core.text.vocabulary import UNK
from nmt_core.translation.translation import Translation


class SourceTask(NamedTuple):
    """A line to translate."""

    text: Tokenized
    source: list[int]
    """Numbers of its tag, if it has one, of the tokens that are read, and EOS; none of an empty
    line."""
    prefix: list[str]
    """Tokens of the target language."""

    @property
    def tokens(self) -> list[str]:
        """The tokens that are read, without the tag."""
        return self.text.tokens[: len(self.source) - 1 - (self.text.tag is not None)]

    def leave_tag(self, hypothesis: Hypothesis) -> Hypothesis:
        """Return a hypothesis with the attention to the text of its source alone."""
        looks = hypothesis.attention
        if looks is None:
            return hypothesis
        return hypothesis._replace(attention=leave_tag(looks, self.text.tag))


def check_tag(tag: str, known: Sequence[str]) -> None:
    """Make sure that a model knows a tag.

    Raises:
        ConfigError: naming those that it knows.
    """
    if not known:
        raise ConfigError(
            f"tag {tag!r} cannot be chosen, as no corpus that this model was trained on had a tag; "
            f"leave it out"
        )
    if tag not in known:
        raise ConfigError(f"there is no tag {tag!r}; choose one of {', '.join(known)}, or none")


def leave_tag(looks: NDArray[np.float32], tag: str | None) -> NDArray[np.float32]:
    """Return attention without its first column, if that is of a tag; rows keep their sums."""
    if tag is None:
        return looks
    left = looks[:, 1:]
    sums = left.sum(axis=1, keepdims=True)
    factors = np.divide(
        looks.sum(axis=1, keepdims=True), sums, where=sums > 0, out=np.zeros_like(sums)
    )
    return left * factors


def build_translations(
    tasks: Sequence[SourceTask],
    hypotheses: Sequence[Sequence[Hypothesis]],
    source: Side,
    target: Side,
    full: Callable[[], FullEngine] | None,
) -> list[list[Translation]]:
    """Turn the hypotheses of a batch into text.

    Args:
        tasks: the lines.
        hypotheses: of each line.
        source: the side of the lines.
        target: the side of their translations.
        full: see :func:`copy_unknown`; None copies no words.
    """
    pairs = [
        (task, task.leave_tag(hypothesis))
        for task, several in zip(tasks, hypotheses, strict=True)
        for hypothesis in several
    ]
    decode = target.vocabulary.decode
    tokens = [[*task.prefix, *decode(h.tokens)[len(task.prefix) :]] for task, h in pairs]
    if full:
        copy_unknown(pairs, tokens, source, full)
    written = iter(
        Translation(
            text=target.join(words),
            score=hypothesis.score,
            tokens=tuple(words),
            token_probabilities=tuple(math.exp(log) for log in hypothesis.token_log_probs),
            ids=hypothesis.tokens,
            source_tokens=tuple(task.tokens),
            attention=hypothesis.attention,
        )
        for words, (task, hypothesis) in zip(tokens, pairs, strict=True)
    )
    return [list(islice(written, len(several))) for several in hypotheses]


def copy_unknown(
    pairs: Sequence[tuple[SourceTask, Hypothesis]],
    tokens: Sequence[list[str]],
    source: Side,
    full: Callable[[], FullEngine],
) -> None:
    """Put source words in the place of unknown ones, those that attention looks at most.

    Args:
        pairs: lines with their hypotheses.
        tokens: of the hypotheses, which are changed.
        source: the side of the lines.
        full: returns what looks again, where the search did not say at what each looks.
    """
    wanting = [
        number
        for number, (task, hypothesis) in enumerate(pairs)
        if UNK in hypothesis.tokens[len(task.prefix) :]
    ]
    if not wanting:
        return
    weights = _look([pairs[number] for number in wanting], full)
    for number, looks in zip(wanting, weights, strict=True):
        task, hypothesis = pairs[number]
        words = source.surfaces(task.text.line)[: len(task.tokens)]
        most = looks[:, : len(words)].argmax(axis=1).tolist()
        for position in range(len(task.prefix), len(hypothesis.tokens)):
            if hypothesis.tokens[position] == UNK:
                tokens[number][position] = words[most[position]]


def _look(
    pairs: Sequence[tuple[SourceTask, Hypothesis]], full: Callable[[], FullEngine]
) -> list[NDArray[np.float32]]:
    """Return the attention of hypotheses: the one of the search, or else computed again."""
    seen = [hypothesis.attention for _, hypothesis in pairs if hypothesis.attention is not None]
    if len(seen) == len(pairs):
        return seen
    looks = full().attend(
        [task.source for task, _ in pairs], [hypothesis.tokens for _, hypothesis in pairs]
    )
    assert looks is not None  # for otherwise the search forbids the unknown word
    return [leave_tag(look, task.text.tag) for look, (task, _) in zip(looks, pairs, strict=True)]
