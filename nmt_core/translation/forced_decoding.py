"""Forced decoding: log-likelihoods and attention of given translations, without a search."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from nmt_core.data.batch import collate
from nmt_core.evaluation.pictures import Look
from nmt_core.search.engine import LogLikelihood, batches_by_length
from nmt_core.search.pytorch import MAX_BATCH_LOG_PROBS
from nmt_core.text.side import Tokenized
from nmt_core.text.translation import Translation
from nmt_core.text.vocabulary import PAD, UNK
from nmt_core.translation.text_search import drop_tags
from nmt_core.translation.translator import Translator


@torch.inference_mode()
def score_pairs(
    translator: Translator, pairs: Sequence[tuple[str | Tokenized, str | Tokenized]]
) -> list[LogLikelihood]:
    """Return the log-likelihood of each target sentence given its source, EOS included.

    Lines longer than ``max_source_tokens`` are truncated with a warning.
    """
    encoded = [_encode(translator, *pair) for pair in pairs]
    likelihoods = [LogLikelihood()] * len(pairs)
    lengths = {row: 1 + max(len(pair.source), len(pair.target)) for row, pair in enumerate(encoded)}
    for rows in batches_by_length(lengths, max_tokens=translator.config.batch_tokens):
        nats = _log_likelihoods(translator, [encoded[row] for row in rows])
        for row, value in zip(rows, nats, strict=True):
            target = encoded[row].target
            likelihoods[row] = LogLikelihood(
                value, len(target) + 1, target.count(UNK), encoded[row].characters
            )
    return likelihoods


class _Pair(NamedTuple):
    source: list[int]
    target: list[int]
    characters: int  # number of target characters, line end included


def _encode(translator: Translator, source: str | Tokenized, target: str | Tokenized) -> _Pair:
    [task] = translator.text_search.make_tasks([source])
    whole = translator.target.tokenize(target)
    tokens = translator.text_search.cut(whole)
    text = whole.line if len(tokens) == len(whole.tokens) else translator.target.join(tokens)
    numbers = translator.target.vocabulary.encode(tokens)
    return _Pair([*task.request.source[:-1]], numbers, len(text) + 1)


def _log_likelihoods(translator: Translator, pairs: Sequence[_Pair]) -> list[float]:
    """Return the log-likelihood of every target, in nats."""
    model = translator.full.model
    batch = collate([pair[:2] for pair in pairs]).to(next(model.parameters()).device)
    memory = model.encode(batch.source, batch.source_padding)
    hidden, _ = model.decode(batch.target_input, memory, model.start(memory))
    is_token = batch.target_output != PAD
    chunk = max(1, MAX_BATCH_LOG_PROBS // len(translator.target.vocabulary))
    tokens = batch.target_output[is_token].split(chunk)
    rows = zip(hidden[is_token].split(chunk), tokens, strict=True)
    nats = torch.cat([model.log_probs(row).gather(1, labels[:, None]) for row, labels in rows])
    return [float(row.sum()) for row in nats.split([len(pair.target) + 1 for pair in pairs])]


END = "</s>"
"""The label of EOS in attention maps."""


def trace_attention(
    translator: Translator, line: str | Tokenized, translation: Translation
) -> Look | None:
    """Return the attention of each token of a translation to each source token.

    The last row and the last column belong to EOS. Returns None if the model has no attention, or
    the line has no tokens.
    """
    [task] = translator.text_search.make_tasks([line])
    text, source = task.text, task.request.source
    computed = translator.full.attend([source], [translation.ids]) if source else None
    if computed is None:
        return None
    weights = drop_tags(computed[0], text)
    return Look(text.line, [*text.tokens, END], [*translation.tokens, END], weights)
