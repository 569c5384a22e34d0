"""Forced decoding: log-likelihoods and attention of given translations, without a search."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from nmt_core.data.batch import collate
from nmt_core.evaluation.pictures import Look
from nmt_core.search.engine import LogLikelihood, batches_by_length
from nmt_core.search.pytorch import MAX_BATCH_LOG_PROBS
from nmt_core.text.side import Tokenized
from nmt_core.text.vocabulary import PAD, UNK
from nmt_core.translation.text_search import drop_tag_column
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator


@torch.inference_mode()
def score_pairs(
    translator: Translator, pairs: Sequence[tuple[str | Tokenized, str | Tokenized]]
) -> list[LogLikelihood]:
    """Return the log-likelihood of each target sentence given its source, its end included.

    A line longer than ``max_source_tokens`` is scored as if it ended there, with a warning. Pairs
    are read in batches of ``batch_tokens`` on either side, padding included.
    """
    read = [_read(translator, *pair) for pair in pairs]
    likelihoods = [LogLikelihood()] * len(pairs)
    lengths = {row: 1 + max(len(pair.source), len(pair.target)) for row, pair in enumerate(read)}
    for rows in batches_by_length(lengths, max_tokens=translator.config.batch_tokens):
        nats = _log_likelihoods(translator, [read[row] for row in rows])
        for row, value in zip(rows, nats, strict=True):
            target = read[row].target
            likelihoods[row] = LogLikelihood(
                value, len(target) + 1, target.count(UNK), read[row].characters
            )
    return likelihoods


class _Pair(NamedTuple):
    source: list[int]
    target: list[int]
    characters: int  # of what is read of the target, and its end


def _read(translator: Translator, source: str | Tokenized, target: str | Tokenized) -> _Pair:
    [task] = translator.text_search.make_tasks([source])
    whole = translator.target.tokenize(target)
    tokens = translator.text_search.cut(whole)
    text = whole.line if len(tokens) == len(whole.tokens) else translator.target.join(tokens)
    numbers = translator.target.vocabulary.encode(tokens)
    return _Pair([*task.request.source[:-1]], numbers, len(text) + 1)


def _log_likelihoods(translator: Translator, pairs: Sequence[_Pair]) -> list[float]:
    """Return the log-likelihood of every target; padding is ignored."""
    model = translator.full.model
    batch = collate([pair[:2] for pair in pairs]).to(next(model.parameters()).device)
    memory = model.encode(batch.source, batch.source_padding)
    hidden, _ = model.decode(batch.target_input, memory, model.start(memory))
    is_token = batch.target_output != PAD
    at_once = max(1, MAX_BATCH_LOG_PROBS // len(translator.target.vocabulary))
    tokens = batch.target_output[is_token].split(at_once)
    rows = zip(hidden[is_token].split(at_once), tokens, strict=True)
    nats = torch.cat([model.log_probs(row).gather(1, wanted[:, None]) for row, wanted in rows])
    return [float(row.sum()) for row in nats.split([len(pair.target) + 1 for pair in pairs])]


END = "</s>"
"""The end of a sentence, which has attention, too."""


def trace_attention(
    translator: Translator, line: str | Tokenized, translation: Translation
) -> Look | None:
    """Return the attention of each token of a line's translation to each source token.

    The last row and the last column belong to the ends of the sentences. None if the model has no
    attention, or the line no tokens.
    """
    [task] = translator.text_search.make_tasks([line])
    text, source = task.text, task.request.source
    computed = translator.full.attend([source], [translation.ids]) if source else None
    if computed is None:
        return None
    weights = computed[0] if text.tag is None else drop_tag_column(computed[0])
    return Look(text.line, [*text.tokens, END], [*translation.tokens, END], weights)
