"""Averages of a trained model and the one that it started from (Wortsman et al. 2022).

A model between the two keeps most of what the initial model knew and has most of what was learnt
since ("Robust fine-tuning of zero-shot models", section 3).
"""

from collections.abc import Callable, Collection
from typing import Any

import torch

from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.models.weights import load_own_tensors, own_tensors
from nmt_core.text.vocabulary import Vocabulary
from nmt_core.training.chosen_average import ChosenAverage
from nmt_core.training.initial import InitialModel, pair_weights
from nmt_core.training.settings import ModelPart

SHARES = tuple(tenths / 10 for tenths in range(10))
"""Of the initial model, that one is chosen among."""


@torch.no_grad()
def average_with(
    initial: InitialModel,
    model: Seq2Seq[Any, Any],
    vocabularies: tuple[Vocabulary, Vocabulary],
    parts: Collection[ModelPart],
    share: float,
) -> None:
    """Average the weights of a model with those that it started from, in place.

    It becomes ``share * initial + (1 - share) * trained``. What did not start from the initial
    model stays as it is.

    """
    for weight, rows, values in pair_weights(initial, model, vocabularies, parts):
        if weight.is_floating_point():  # others count batches
            weight[rows] = torch.lerp(weight[rows], values.to(weight), share)


def choose_average(
    initial: InitialModel,
    model: Seq2Seq[Any, Any],
    vocabularies: tuple[Vocabulary, Vocabulary],
    parts: Collection[ModelPart],
    *,
    measure: Callable[[], float],
    tolerance: float,
) -> ChosenAverage:
    """Average a model with the one that it started from, in place, by the least share that will do.

    The least of ``SHARES`` will do whose loss is at most ``tolerance`` above the initial model's;
    if none is, the largest. More of the initial model only takes from what was learnt.

    Args:
        initial: the model that it started from.
        model: trained since, with the same tokens; it is left evaluating.
        vocabularies: of its source and of its target.
        parts: all of them.
        measure: returns the loss of ``model`` on validation text, per token, in nats.
        tolerance: in nats.
    """
    trained = {name: weight.clone() for name, weight in own_tensors(model).items()}
    model.eval()

    def measure_average(share: float) -> float:
        load_own_tensors(model, trained)
        average_with(initial, model, vocabularies, parts, share)
        return measure()

    initial_loss = measure_average(1.0)
    for share in SHARES:
        loss = measure_average(share)
        if loss <= initial_loss + tolerance:
            break
    return ChosenAverage(share=share, loss=loss, initial_loss=initial_loss)
