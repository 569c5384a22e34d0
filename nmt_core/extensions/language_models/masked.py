"""The masked language model (Devlin et al. 2019): which token stands here, given all around it?

It says nothing about what comes next, so no text is scored or written by it; other models start
from what it has learnt.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.extensions.language_models.encoder import TransformerEncoder
from nmt_core.extensions.language_models.model import LanguageModelSettings, Restorable, forbid
from nmt_core.extensions.language_models.units import Units
from nmt_core.models.settings import EncoderConfig
from nmt_core.text.vocabulary import BOS, EOS, PAD, SPECIALS


class MaskedConfig(LanguageModelSettings, EncoderConfig):
    """A masked language model."""

    builds: ClassVar = "nmt_core.extensions.language_models.masked:MaskedLanguageModel"

    kind: Literal["masked"] = "masked"


class MaskedLanguageModel(Restorable):
    """Looks at a whole line; the output shares the embedding, which has a row for the mask, too.

    Args:
        config: the shape.
        words: vocabulary, in tokens, V; the mask is token V.
    """

    def __init__(self, config: MaskedConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.mask = words
        self.encoder = TransformerEncoder(config, words + 1)
        self.output = nn.Linear(config.width, words + 1)
        nn.init.zeros_(self.output.bias)
        self.output.weight = self.encoder.embedding.table.weight

    def read(self, tokens: Int[Tensor, "R T"]) -> Float[Tensor, "R T D"]:
        """Return the hidden vector of every token."""
        return self.encoder(tokens, tokens == PAD)

    def log_probs(self, hidden: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V+1"]:
        """Return the log-probabilities of the token that stands there; reserved ones have none."""
        return forbid(self.output(hidden), [*range(len(SPECIALS)), self.mask]).log_softmax(dim=-1)

    def log_likelihood(
        self, hidden: Float[Tensor, "*N D"], tokens: Int[Tensor, "*N"]
    ) -> Float[Tensor, "*N"]:
        """Return the log-probability of the given tokens."""
        return self.log_probs(hidden).gather(-1, tokens[..., None]).squeeze(-1)

    @override
    def forward(self, tokens: Int[Tensor, "R T"]) -> Float[Tensor, "R T V+1"]:
        """Return the log-probabilities of every token."""
        return self.log_probs(self.read(tokens))


class TokenPrediction(NamedTuple):
    """A token that may stand in a gap."""

    token: str
    probability: float


@dataclass(frozen=True)
class MaskedTextModel:
    """A masked language model and its units; puts the model in evaluation mode."""

    model: MaskedLanguageModel
    units: Units

    def __post_init__(self) -> None:
        self.model.eval()

    @torch.inference_mode()
    def fill(self, parts: Sequence[str], *, count: int) -> list[list[TokenPrediction]]:
        """Return the likeliest tokens of every gap, each alone, likeliest first.

        Args:
            parts: what a line has before, between and after its gaps.
            count: tokens for each gap.
        """
        numbers = [BOS]
        for part in parts:
            numbers += [*self.units.encode_part(part), self.model.mask]
        numbers[-1:] = [] if self.units.document else [EOS]
        tokens = torch.tensor([numbers])
        log_probs = self.model(tokens.to(self.model.output.weight.device)).cpu()
        count = min(count, self.model.mask - len(SPECIALS))
        best = log_probs[tokens == self.model.mask].exp().topk(count)
        return [
            [
                TokenPrediction(token, probability)
                for token, probability in zip(
                    self.units.vocabulary.decode(row.tolist()), chances.tolist(), strict=True
                )
            ]
            for chances, row in zip(best.values, best.indices, strict=True)
        ]
