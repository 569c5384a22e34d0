"""The length penalty of beam search that fits a model, chosen by validation text."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from nmt_core.base.config import Config
from nmt_core.text.side import Tokenized
from nmt_core.translation.translator import Translator

STEP = 0.5
"""By how much the length penalty changes from trial to trial."""
HIGHEST = 3.0
"""The highest length penalty that is tried."""
FITTING = 0.02
"""Share by which translations may be shorter or longer than their references without a trial."""


class LengthPenaltyTrial(Config):
    """Result of a search with a length penalty."""

    length_penalty: float
    score: float
    """Higher is better."""
    length_ratio: float
    """Characters of the translations by those of the references."""


def try_length_penalties(
    translator: Translator,
    lines: Sequence[str | Tokenized],
    references: Sequence[str],
    measure: Callable[[Sequence[str]], float],
) -> list[LengthPenaltyTrial]:
    """Try length penalties as long as the translations get better.

    The configured one is tried first; then, in steps, higher ones where translations are too short
    and lower ones where they are too long. If the last step went too far, half of it is tried.

    Args:
        translator: translates the lines.
        lines: source text.
        references: their reference translations.
        measure: returns the score of their translations; higher is better.
    """
    attempt = partial(_try, translator, lines, references, measure)
    trials = [attempt(translator.config.beam.length_penalty)]
    lacking = 1 - trials[0].length_ratio
    if abs(lacking) <= FITTING:
        return trials
    step = STEP if lacking > 0 else -STEP
    while 0 <= (penalty := trials[-1].length_penalty + step) <= HIGHEST:
        trials.append(attempt(penalty))
        if trials[-1].score <= trials[-2].score:
            if lacking * (1 - trials[-1].length_ratio) < 0:
                trials.append(attempt(penalty - step / 2))
            break
    return trials


def _try(
    translator: Translator,
    lines: Sequence[str | Tokenized],
    references: Sequence[str],
    measure: Callable[[Sequence[str]], float],
    penalty: float,
) -> LengthPenaltyTrial:
    texts = set_length_penalty(translator, penalty).translate_sentences(lines)
    ratio = sum(map(len, texts)) / max(1, sum(map(len, references)))
    return LengthPenaltyTrial(length_penalty=penalty, score=measure(texts), length_ratio=ratio)


def set_length_penalty(translator: Translator, penalty: float) -> Translator:
    """Return a translator that searches with a length penalty."""
    beam = translator.config.beam.model_copy(update={"length_penalty": penalty})
    return replace(translator, config=translator.config.model_copy(update={"beam": beam}))
