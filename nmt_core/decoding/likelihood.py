"""How likely is a given translation? Nothing is searched for."""

from collections.abc import Sequence

import torch

from nmt_core.data.batch import collate
from nmt_core.decoding.translator import Translator
from nmt_core.language_models.scoring import Score
from nmt_core.text.normalize import normalize
from nmt_core.vocabulary import PAD, UNK

PAIRS_AT_ONCE = 32
"""Pairs of similar length that are read together."""


@torch.inference_mode()
def pair_scores(translator: Translator, pairs: Sequence[tuple[str, str]]) -> list[Score]:
    """Return how likely the model holds each target sentence, given its source; end included.

    Args:
        translator: tokenizes and scores.
        pairs: source and target lines.
    """
    tokens = [
        (
            translator.source_vocabulary.encode(translator.source_tokenizer.encode(normalize(one))),
            translator.target_vocabulary.encode(
                translator.target_tokenizer.encode(normalize(other))
            ),
        )
        for one, other in pairs
    ]
    found = [Score()] * len(pairs)
    order = sorted(range(len(pairs)), key=lambda row: len(tokens[row][0]) + len(tokens[row][1]))
    model = translator.model
    for begin in range(0, len(order), PAIRS_AT_ONCE):
        rows = order[begin : begin + PAIRS_AT_ONCE]
        batch = collate([tokens[row] for row in rows])
        batch = batch.to(next(model.parameters()).device)
        memory = model.encode(batch.source, batch.source_padding)
        hidden, _ = model.decode(batch.target_input, memory, model.start(memory))
        wanted = batch.target_output
        nats = model.log_probs(hidden).gather(-1, wanted[..., None]).squeeze(-1)
        nats = nats.masked_fill(wanted == PAD, 0.0).sum(dim=1)
        for row, value in zip(rows, nats.tolist(), strict=True):
            target = tokens[row][1]
            found[row] = Score(
                log_likelihood=value,
                tokens=len(target) + 1,
                unknown=target.count(UNK),
                characters=len(pairs[row][1]) + 1,
            )
    return found
