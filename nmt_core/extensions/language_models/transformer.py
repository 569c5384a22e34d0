"""The Transformer language model, with causal layers (Radford et al. 2018).

Of a longer text it sees the last tokens, at least half a context of them: where a context is full,
its newer half is read again as the beginning of the next one, after BOS, as training windows begin.
So what it predicts depends on a token's place in the text, and never on how the text is cut up.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.extensions.language_models.encoder import TransformerEncoder
from nmt_core.extensions.language_models.model import (
    LanguageModelSettings,
    NeuralLanguageModel,
    Past,
)
from nmt_core.models.attention import KeyValue
from nmt_core.models.settings import EncoderConfig
from nmt_core.text.vocabulary import BOS


class TransformerLanguageConfig(LanguageModelSettings, EncoderConfig):
    """A Transformer language model."""

    builds: ClassVar = "nmt_core.extensions.language_models.transformer:TransformerLanguageModel"

    kind: Literal["transformer"] = "transformer"


@dataclass(frozen=True)
class Context(Past):
    """Keys and values of the n tokens read."""

    tokens: Tensor  # (R, n)
    layers: tuple[KeyValue, ...]  # keys and values of every layer, (R, H, n, d) each


class TransformerLanguageModel(NeuralLanguageModel[Context]):
    """Looks at all of a context at once; the output shares the embedding (Press and Wolf 2017).

    Args:
        config: the shape.
        words: vocabulary, in tokens, V.
    """

    def __init__(self, config: TransformerLanguageConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.encoder = TransformerEncoder(config, words)
        self.output = nn.Linear(config.width, words)
        nn.init.zeros_(self.output.bias)
        self.output.weight = self.encoder.embedding.table.weight

    @override
    def start(self, rows: int) -> Context:
        nothing = torch.zeros(rows, 0, dtype=torch.long, device=self.device)
        return Context(nothing, self.encoder.start(rows))

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], state: Context
    ) -> tuple[Float[Tensor, "R T D"], Context]:
        parts = []
        while tokens.size(1):
            if state.tokens.size(1) == self.config.context:
                state = self._begin_anew(state)
            room = self.config.context - state.tokens.size(1)
            part, state = self._read(tokens[:, :room], state)
            parts.append(part)
            tokens = tokens[:, room:]
        return torch.cat(parts, dim=1), state

    @override
    def project(self, hidden: Float[Tensor, "*N D"]) -> Float[Tensor, "*N V"]:
        return self.output(hidden)

    def _begin_anew(self, state: Context) -> Context:
        """Return a context of BOS and the newer half of a full one."""
        begin = torch.full_like(state.tokens[:, :1], BOS)
        newer = state.tokens[:, -(self.config.context // 2) :]
        _, anew = self._read(torch.cat([begin, newer], dim=1), self.start(len(newer)))
        return anew

    def _read(self, tokens: Tensor, state: Context) -> tuple[Tensor, Context]:
        hidden, layers = self.encoder.go_on(tokens, state.layers)
        return hidden, Context(torch.cat([state.tokens, tokens], dim=1), layers)
