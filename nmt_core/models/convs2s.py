"""The convolutional model of Gehring et al. 2017, and its variant in van der Goten 2018.

Layers are convolutions over time with gated linear units (Dauphin et al. 2017), and every decoder
layer attends to the source. As published, weights are normalised (Salimans and Kingma 2016) and
sums are scaled, so that activations keep their variance. Van der Goten's variant
(``block="article"``) uses batch normalisation instead, pads the encoder on the left only, and
attends without projections.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.models.attention import masked_softmax
from nmt_core.models.embedding import Embedding, OutputLayer, build_word_embedding, tie
from nmt_core.models.layers import CachedValue, Dense, Dropout, Product, build_product, is_search
from nmt_core.models.seq2seq import Memory, Pretrained, Seq2Seq, State
from nmt_core.models.settings import ConvS2SConfig
from nmt_core.text.vocabulary import PAD

SQRT_HALF = 0.5**0.5
"""Factor that keeps the variance of a sum of two terms of equal variance (section 3.1)."""


@dataclass(frozen=True)
class ConvS2SMemory(Memory):
    """The encoded source, the same for every decoder layer."""

    keys: Tensor  # (B, S, D)
    values: Tensor  # (B, S, D)
    blocked: Tensor  # (B, 1, S), True at padding


@dataclass(frozen=True)
class ConvS2SState(State):
    """The previous inputs within reach of the decoder's convolutions."""

    layers: tuple[Tensor, ...]  # per decoder layer, its last k - 1 inputs, (R, k - 1, hidden)
    position: int  # number of target tokens read


class WeightNormLinear(nn.Linear):
    """A dense layer with weight normalisation: lengths and directions are trained separately.

    The initial lengths are those of the drawn weights, so the layer starts as a plain dense layer.
    The lengths scale the product, which is smaller than the weights at a decoder's single step.
    """

    def __init__(self, inputs: int, outputs: int, *, deviation: float) -> None:
        super().__init__(inputs, outputs)
        nn.init.normal_(self.weight, std=deviation)
        nn.init.zeros_(self.bias)
        self.length = nn.Parameter(self.weight.detach().norm(dim=1))
        self._product = CachedValue(build_normalized)

    @override
    def forward(self, x: Float[Tensor, "*N I"]) -> Float[Tensor, "*N O"]:
        """Return length * direction . x + bias."""
        if is_search(self):
            return self._product.get(self.weight, self.length)(x, self.bias)
        return torch.addcmul(
            self.bias, F.linear(x, self.weight), self.length / self.weight.norm(dim=1)
        )


def build_normalized(weight: Float[Tensor, "O I"], length: Float[Tensor, " O"]) -> Product:
    """Return the product by weights that are scaled to the given lengths."""
    return build_product(weight * (length / weight.norm(dim=1))[:, None])


def build_dense(
    config: ConvS2SConfig, inputs: int, outputs: int, *, gated: bool = False
) -> nn.Linear:
    """Return a dense layer that keeps the variance of its input (section 3.5).

    ``gated`` compensates for a following gated linear unit, which divides the variance by 4.
    """
    variance = (4 if gated else 1) * (1 - config.dropout)
    deviation = (variance / inputs) ** 0.5
    if config.block == "published":
        return WeightNormLinear(inputs, outputs, deviation=deviation)
    layer = Dense(inputs, outputs)
    nn.init.normal_(layer.weight, std=deviation)
    nn.init.zeros_(layer.bias)
    return layer


class _GatedConvolution(nn.Module):
    """A convolution over time and a gated linear unit, after dropout in published blocks.

    The convolution is one matrix product, which also serves single decoder steps. In bfloat16 on a
    CPU it takes three quarters of the time of torch's convolution.
    """

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        width = config.hidden_width or config.width
        self.kernel = config.kernel
        self.taps = build_dense(config, config.kernel * width, 2 * width, gated=True)
        drop = config.dropout if config.block == "published" else 0.0
        self.drop = Dropout(drop, variational=config.variational_dropout)

    def forward(self, x: Float[Tensor, "R L D"]) -> Float[Tensor, "R T D"]:
        """Return ``T = L - k + 1`` positions; the caller pads."""
        x = self.drop(x)
        length = x.size(1) - self.kernel + 1
        windows = torch.cat([x[:, first : first + length] for first in range(self.kernel)], dim=2)
        return F.glu(self.taps(windows), dim=2)


class NormalizedSum(nn.Module):
    """The residual connection of van der Goten 2018: dropout, a sum and batch normalisation.

    Statistics exclude padding. Running statistics average about ten batches, fewer than in
    TensorFlow, because weights change fast while the learning rate is high.
    """

    MOMENTUM = 0.9
    EPSILON = 1e-3
    mean: Tensor
    variance: Tensor

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(config.width))
        self.shift = nn.Parameter(torch.zeros(config.width))
        self.register_buffer("mean", torch.zeros(config.width))
        self.register_buffer("variance", torch.ones(config.width))
        self.drop = Dropout(config.dropout, variational=config.variational_dropout)

    def forward(
        self, x: Float[Tensor, "R T D"], y: Float[Tensor, "R T D"], padding: Bool[Tensor, "R T"]
    ) -> Float[Tensor, "R T D"]:
        """Return the normalised sum of ``x`` and ``y``."""
        x = x + self.drop(y)
        mean, variance = self._measured(x, padding) if self.training else (self.mean, self.variance)
        scale = self.scale * (variance + self.EPSILON).rsqrt()
        return torch.addcmul(self.shift - mean * scale, x, scale)

    def _measured(self, x: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        is_token = (~padding).to(x.dtype)[:, :, None]
        count = is_token.sum().clamp(min=1)
        mean = (x * is_token).sum(dim=(0, 1)) / count
        variance = ((x - mean).square() * is_token).sum(dim=(0, 1)) / count
        self.mean.lerp_(mean.detach(), 1 - self.MOMENTUM)
        self.variance.lerp_(variance.detach(), 1 - self.MOMENTUM)
        return mean, variance


AttentionResult = tuple[Tensor, Tensor]
"""The context of attention (R, T, features), and its weights (R, T, S)."""


def attend(queries: Float[Tensor, "R T D"], memory: ConvS2SMemory) -> AttentionResult:
    """Return one weighted sum of values per query; all hypotheses of a sentence share its keys."""
    rows, length, width = queries.shape
    query = queries.reshape(memory.keys.size(0), -1, width)
    weights = masked_softmax(query @ memory.keys.transpose(1, 2), memory.blocked)
    context = weights @ memory.values
    return context.view(rows, length, width), weights.view(rows, length, -1)


def add_residual(
    norm: NormalizedSum | None,
    x: Float[Tensor, "R T D"],
    y: Float[Tensor, "R T D"],
    padding: Tensor,
) -> Float[Tensor, "R T D"]:
    """Return the sum of ``x`` and ``y``, normalised or scaled to keep the variance."""
    return (x + y) * SQRT_HALF if norm is None else norm(x, y, padding)


class ConvolutionEncoderLayer(nn.Module):
    """A convolution over the words on both sides, or only over those before."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        self.convolution = _GatedConvolution(config)
        self.sum = None if config.block == "published" else NormalizedSum(config)
        before = config.kernel - 1
        self.after = before // 2 if config.encoder_padding == "symmetric" else 0
        self.before = before - self.after

    def forward(
        self, x: Float[Tensor, "B S D"], padding: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B S D"]:
        """Return the features of every position; padding is read as zeros."""
        padded = F.pad(x.masked_fill(padding[:, :, None], 0.0), (0, 0, self.before, self.after))
        return add_residual(self.sum, x, self.convolution(padded), padding)


class ConvolutionDecoderLayer(nn.Module):
    """A convolution over the previous target, then attention to the source."""

    def __init__(self, config: ConvS2SConfig) -> None:
        super().__init__()
        published = config.block == "published"
        self.convolution = _GatedConvolution(config)
        hidden = config.hidden_width or config.width
        self.attention = None
        if published:
            query = build_dense(config, hidden, config.width)
            output = build_dense(config, config.width, hidden)
            self.attention = nn.ModuleDict({"query": query, "output": output})
        self.sum = None if published else NormalizedSum(config)
        self.past = config.kernel - 1, hidden
        """Shape of the previous inputs: positions, and features of each."""

    def forward(
        self,
        x: Float[Tensor, "R T D"],
        words: Tensor,
        padding: Tensor,
        memory: ConvS2SMemory,
        past: Tensor,
    ) -> tuple[AttentionResult, Tensor]:
        """Read (R, T, hidden) after ``past``; return features, attention weights and new past."""
        inputs = torch.cat([past.to(x.dtype), x], dim=1)
        y, weights = self.attend(self.convolution(inputs), words, memory)
        present = inputs[:, inputs.size(1) - self.past[0] :]
        return (add_residual(self.sum, x, y, padding), weights), present

    def attend(self, y: Tensor, words: Tensor, memory: ConvS2SMemory) -> AttentionResult:
        """Return the context of each position; published blocks add ``y`` (section 3.3)."""
        if self.attention is None:
            return attend(y, memory)
        context, weights = attend((self.attention["query"](y) + words) * SQRT_HALF, memory)
        return (self.attention["output"](context) + y) * SQRT_HALF, weights


class ConvS2S(Seq2Seq[ConvS2SMemory, ConvS2SState]):
    """Convolutional sequence to sequence learning.

    Raises:
        ValueError: if ``tie`` does not allow vocabularies of different sizes or pretrained vectors.
    """

    def __init__(
        self,
        config: ConvS2SConfig,
        *,
        source_size: int,
        target_size: int,
        pretrained: Pretrained | None = None,
    ) -> None:
        super().__init__()
        self.published = config.block == "published"
        self.source_start = config.source_start
        drop = config.dropout if self.published else 0.0
        self.drop = Dropout(drop, variational=config.variational_dropout)
        source = build_word_embedding(config, source_size, pretrained, "source")
        self.source_embedding = Embedding(config, source, scale=config.word_scale)
        target = build_word_embedding(config, target_size, pretrained, "target")
        self.target_embedding = Embedding(config, target, scale=config.word_scale)
        self.encoder_input, self.encoder_output = build_projections(config)
        self.decoder_input, self.decoder_output = build_projections(config)
        self.encoder = nn.ModuleList(
            ConvolutionEncoderLayer(config) for _ in range(config.encoder_layers)
        )
        layers = nn.ModuleList(
            ConvolutionDecoderLayer(config) for _ in range(config.decoder_layers)
        )
        self.decoder = cast("Sequence[ConvolutionDecoderLayer]", layers)
        self.output = OutputLayer(config, target_size)
        nn.init.xavier_uniform_(self.output.weight)
        if self.output.bias is not None:
            nn.init.zeros_(self.output.bias)
        tie(config, source, target, self.output)

    @override
    def encode(
        self, source: Int[Tensor, "B S"], source_padding: Bool[Tensor, "B S"]
    ) -> ConvS2SMemory:
        source, source_padding = self.prepend_source_start(source, source_padding)
        words = self.drop(self.source_embedding(source))
        x = self.encoder_input(words)
        for layer in self.encoder:
            x = layer(x, source_padding)
        keys = self.encoder_output(x)
        values = keys + words
        if self.published:
            if keys.requires_grad:
                # scale the gradients that 2 paths of each decoder layer add up (section 3.4)
                share = 1 / (2 * len(self.decoder))
                keys.register_hook(lambda gradient: gradient * share)
            # an average over S positions divides the variance by S (section 3.4)
            lengths = (~source_padding).sum(dim=1)[:, None, None]
            values = values * SQRT_HALF * lengths.to(values.dtype).sqrt()
        return ConvS2SMemory(keys, values, source_padding[:, None])

    @override
    def start(self, memory: ConvS2SMemory, beam_size: int = 1) -> ConvS2SState:
        rows = memory.keys.size(0) * beam_size
        return ConvS2SState(
            tuple(memory.keys.new_zeros(rows, *layer.past) for layer in self.decoder), position=0
        )

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], memory: ConvS2SMemory, state: ConvS2SState
    ) -> tuple[Float[Tensor, "R T D"], ConvS2SState]:
        x, present, _ = self._read(tokens, memory, state)
        return self.drop(self.decoder_output(x)), ConvS2SState(
            present, state.position + tokens.size(1)
        )

    @override
    def attention(
        self, tokens: Int[Tensor, "B T"], memory: ConvS2SMemory
    ) -> Float[Tensor, "B T S"]:
        """Return the mean attention of all layers, because which layer aligns best is random."""
        *_, weights = self._read(tokens, memory, self.start(memory))
        return self.drop_source_start(torch.stack(weights).mean(dim=0))

    def _read(
        self, tokens: Tensor, memory: ConvS2SMemory, state: ConvS2SState
    ) -> tuple[Tensor, tuple[Tensor, ...], list[Tensor]]:
        """Return the last layer's output, and the new past and attention weights of each layer."""
        padding = tokens == PAD
        words = self.drop(self.target_embedding(tokens, state.position))
        x = self.decoder_input(words)
        present, weights = [], []
        for layer, past in zip(self.decoder, state.layers, strict=True):
            (x, layer_weights), layer_present = layer(x, words, padding, memory, past)
            present.append(layer_present)
            weights.append(layer_weights)
        return x, tuple(present), weights


def build_projections(config: ConvS2SConfig) -> tuple[nn.Module, nn.Module]:
    """Return the projections from word width to hidden width and back."""
    hidden = config.hidden_width or config.width
    if hidden == config.width:
        return nn.Identity(), nn.Identity()
    return build_dense(config, config.width, hidden), build_dense(config, hidden, config.width)
