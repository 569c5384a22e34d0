"""Text in, label and probabilities out: a classifier with its words and its labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from nmt_core.data.batch import pad
from nmt_core.data.by_length import batches_by_length
from nmt_core.extensions.classifiers.initial import EncoderClassifier, InitialTokens
from nmt_core.extensions.classifiers.model import BagClassifier, Classifier
from nmt_core.extensions.classifiers.words import HashedWords

AnyClassifier = Classifier | BagClassifier | EncoderClassifier

BATCH_TOKENS = 2**14
"""Padded tokens of texts read at once."""


class Judgement(NamedTuple):
    """The label of a text, with its probability."""

    label: str
    """The most probable one."""
    probabilities: tuple[float, ...]
    """Of every label, in the order of the classifier's."""

    @property
    def probability(self) -> float:
        """Of the label."""
        return max(self.probabilities)


@dataclass(frozen=True)
class TextClassifier:
    """A classifier, its words and its labels; puts the model in evaluation mode."""

    model: AnyClassifier
    words: HashedWords | InitialTokens
    classes: tuple[str, ...]
    initial: Float[Tensor, "V D"]
    """The embeddings before learning."""

    def __post_init__(self) -> None:
        self.model.eval()

    def classify(self, texts: Sequence[str]) -> list[Judgement]:
        """Return the label of every text, with the probabilities of all.

        They do not depend on other texts of a batch, but for the last bits.
        """
        if not texts:
            return []
        logits = predict_logits(self.model, [self.words.encode(text) for text in texts])
        rows = logits.double().softmax(dim=1).tolist()
        return [Judgement(self.classes[row.index(max(row))], tuple(row)) for row in rows]


@torch.inference_mode()
def predict_logits(model: AnyClassifier, texts: Sequence[Sequence[int]]) -> Float[Tensor, "N C"]:
    """Return the logits of every text, on the processor, in batches of similar length."""
    logits = torch.empty(len(texts), model.output.out_features)
    lengths = {row: len(text) for row, text in enumerate(texts)}
    for rows in batches_by_length(lengths, max_tokens=BATCH_TOKENS):
        tokens = pad([texts[row] for row in rows]).to(model.output.weight.device)
        logits[rows] = model(tokens).cpu()
    return logits
