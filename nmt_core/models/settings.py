"""Settings of the architectures; this file imports no torch."""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from nmt_core.base import config
from nmt_core.base.config import Config, OpenUnion
from nmt_core.base.registry import Registry

if TYPE_CHECKING:
    from nmt_core.models.seq2seq import Pretrained, Seq2Seq


CellKind = Literal["lstm", "gru", "tanh"]
AttentionKind = Literal["none", "dot", "general", "concat", "additive"]

ROTARY_BASE = 10_000
"""Base of rotary positions: the slowest features turn one radian in about this many positions."""


class Seq2SeqConfig(Config):
    """Settings of every architecture; see ``nmt_core.models.seq2seq.Seq2Seq``."""

    builds: ClassVar[str]
    """The model's class, as ``module:class``."""

    architecture: str
    """Selects the architecture."""
    width: int = Field(256, ge=1, le=65_536)
    """Model width, D: features of embeddings and of the output layer's input; pretrained vectors
    must have this many dimensions."""
    dropout: float = Field(0.1, ge=0, le=0.99)
    """Dropout probability."""
    tie: Literal["none", "output", "all"] = "all"
    """Tie the target embedding to the output layer, or to the output layer and the source
    embedding."""
    source_start: bool = False
    """Begin the source with BOS, as the target (START in van der Goten 2018)."""


class PositionedConfig(Seq2SeqConfig):
    """Settings of architectures that add positional encodings to words."""

    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    """Positional encoding. ``rotary`` rotates queries and keys (Su et al. 2021) and requires the
    Transformer."""
    max_positions: int = Field(1024, ge=1, le=1_000_000)
    """Number of learned positions, in tokens."""
    position_scale: Literal["fixed", "trained"] = "fixed"
    """Whether the sinusoids of each language have a trained scale (gamma in van der Goten 2018)."""
    variational_dropout: bool = False
    """Draw one dropout mask per sentence for all its positions (Gal and Ghahramani 2016;
    van der Goten 2018); false draws one per position."""

    @model_validator(mode="after")
    def _check_positions(self) -> "PositionedConfig":
        if self.positions != "sinusoidal" and self.position_scale == "trained":
            raise ValueError(
                "position_scale 'trained' requires sinusoidal positions; set it to 'fixed'"
            )
        return self


class TransformerConfig(PositionedConfig):
    """Settings of a Transformer."""

    builds: ClassVar = "nmt_core.models.transformer:Transformer"

    architecture: Literal["transformer"] = "transformer"
    heads: int = Field(4, ge=1, le=1024)
    """Attention heads, H."""
    head_width: int | None = Field(None, ge=1, le=65_536)
    """Features per head, d; null is width / heads."""
    encoder_layers: int = Field(3, ge=1, le=1000)
    """Number of encoder layers."""
    decoder_layers: int = Field(3, ge=1, le=1000)
    """Number of decoder layers."""
    feed_forward_width: int = Field(1024, ge=1, le=1_000_000)
    """Hidden features of the feed-forward block."""
    attention_dropout: float = Field(0.0, ge=0, le=0.99)
    """Dropout probability of attention weights."""
    embedding_dropout: float | None = Field(None, ge=0, le=0.99)
    """Dropout probability of embeddings with positions; null is ``dropout``. Van der Goten 2018
    has 0."""
    norm: Literal["pre", "post", "article"] = "pre"
    """Layer normalisation before sub-layers, after residuals, or both (``article``: van der Goten
    2018)."""
    norm_scale: bool = True
    """Whether layer normalisation has a trained scale in addition to its trained shift."""
    projection_bias: bool = True
    """Whether the projections of queries, keys and values have a bias."""
    attention_output_bias: bool = True
    """Whether the output projection of attention has a bias; false in van der Goten 2018."""
    activation: Literal["relu", "gelu", "leaky_relu"] = "relu"
    """Activation of the feed-forward block."""
    negative_slope: float = Field(0.01, ge=0, le=1)
    """Slope of ``leaky_relu`` below 0: 0.01 in PyTorch, 0.2 in TensorFlow and in van der Goten
    2018."""
    activate_output: bool = False
    """Apply the activation also after the second layer of the feed-forward block (van der Goten
    2018)."""
    dense_dropout_masks: Literal["as_elsewhere", "batch"] = "as_elsewhere"
    """Dropout masks of the feed-forward block: as in other blocks, or one mask for all positions of
    a batch (``noise_shape=[1, E]`` in van der Goten 2018)."""
    scale_embeddings: bool = True
    """Multiply embeddings by sqrt(width); use false for pretrained vectors."""

    @model_validator(mode="after")
    def _check(self) -> "TransformerConfig":
        if self.head_width is None and self.width % self.heads:
            raise ValueError(
                f"width {self.width} is not divisible by {self.heads} heads; "
                f"choose heads that divide width, or set head_width"
            )
        if self.positions == "rotary" and self.features_per_head % 2:
            raise ValueError(
                f"rotary positions require an even head_width, got {self.features_per_head}"
            )
        return self

    @property
    def features_per_head(self) -> int:
        """Number of features of a head, d."""
        return self.head_width or self.width // self.heads

    @property
    def rotary_width(self) -> int | None:
        """Number of features per head that rotary positions rotate; None for other positions."""
        return self.features_per_head if self.positions == "rotary" else None


class ConvS2SConfig(PositionedConfig):
    """Settings of a convolutional model."""

    builds: ClassVar = "nmt_core.models.convs2s:ConvS2S"

    architecture: Literal["convs2s"] = "convs2s"
    block: Literal["published", "article"] = "published"
    """Kind of layer: weight normalisation, scaled sums and projected attention as in the paper, or
    batch normalisation and plain attention (van der Goten 2018)."""
    hidden_width: int | None = Field(None, ge=1, le=65_536)
    """Hidden features of published blocks; null is ``width``."""
    encoder_layers: int = Field(4, ge=1, le=1000)
    """Number of encoder layers."""
    decoder_layers: int = Field(4, ge=1, le=1000)
    """Number of decoder layers; each attends to the source."""
    kernel: int = Field(3, ge=1, le=1000)
    """Kernel size of a convolution, k, in positions."""
    positions: Literal["sinusoidal", "learned"] = "learned"
    """Positional encoding."""
    encoder_padding: Literal["symmetric", "left"] = "symmetric"
    """Whether the encoder reads the words on both sides, or only those before (van der Goten
    2018)."""
    word_scale: float = Field(4.0, gt=0, le=1000)
    """Factor of the embeddings, which are drawn from N(0, 1 / D); use 1 for pretrained vectors."""

    @model_validator(mode="after")
    def _check(self) -> "ConvS2SConfig":
        if self.encoder_padding == "symmetric" and self.kernel % 2 == 0:
            raise ValueError(
                f"encoder_padding 'symmetric' requires an odd kernel, got {self.kernel}"
            )
        if self.block == "article" and self.hidden_width not in (None, self.width):
            raise ValueError(
                f"hidden_width {self.hidden_width} requires block 'published'; set it to null"
            )
        return self


class RnnConfig(Seq2SeqConfig):
    """Settings of a recurrent model."""

    builds: ClassVar = "nmt_core.models.rnn:Rnn"

    architecture: Literal["rnn"] = "rnn"
    cell: CellKind = "lstm"
    """Kind of cell; ``tanh`` has no gate (Elman 1990)."""
    hidden_width: int = Field(512, ge=1, le=65_536)
    """Features of a layer's state, C; each direction of a bidirectional encoder has C / 2."""
    encoder_layers: int = Field(1, ge=1, le=1000)
    """Number of encoder layers; from the second on, layers have residual connections."""
    decoder_layers: int = Field(1, ge=1, le=1000)
    """Number of decoder layers; from the second on, layers have residual connections."""
    direction: Literal["bidirectional", "forward", "reversed"] = "bidirectional"
    """Direction in which the encoder reads the source."""
    attention: AttentionKind = "general"
    """Attention score: Luong's ``dot``, ``general`` and ``concat`` attend after a step, Bahdanau's
    ``additive`` before it."""
    trained_attention_scale: bool = False
    """Multiply the scores of ``dot`` and ``general`` by a trained scale, initially 1 (Géron,
    chapter 16, ``use_scale=True``)."""
    input_feeding: bool = True
    """Feed the attentional vector of a position into the next. This is slower, because training
    then reads the target one position at a time."""
    bridge: Literal["copy", "projection"] = "copy"
    """How a decoder layer's initial state is computed from the last state of the same encoder
    layer, or of the last encoder layer if there are fewer: copied, or by a trained projection and
    tanh."""
    scale_embeddings: bool = True
    """Multiply embeddings by sqrt(width); use false for pretrained vectors."""

    @model_validator(mode="after")
    def _check(self) -> "RnnConfig":
        if self.direction == "bidirectional" and self.hidden_width % 2:
            raise ValueError(
                f"direction 'bidirectional' requires an even hidden_width, got {self.hidden_width}"
            )
        if self.trained_attention_scale and self.attention not in ("dot", "general"):
            raise ValueError(
                f"attention {self.attention!r} has no trained_attention_scale; set that to false"
            )
        if self.attention == "none" and self.input_feeding:
            raise ValueError("input_feeding requires attention; set input_feeding to false")
        return self


ARCHITECTURES: Registry[type[Seq2SeqConfig]] = Registry(
    "an architecture",
    "nmt.architectures",
    {"transformer": TransformerConfig, "convs2s": ConvS2SConfig, "rnn": RnnConfig},
)
"""The settings of each architecture."""

ModelConfig = Annotated[Seq2SeqConfig, OpenUnion(ARCHITECTURES, "architecture")]
"""The settings of any architecture; ``architecture`` is the discriminator."""

REMOVED_SETTINGS: Mapping[str, Any] = {"state_dropout": 0.0}
"""Removed settings of earlier versions, with their defaults."""


def read_model_config(values: Mapping[str, Any]) -> Seq2SeqConfig:
    """Return the settings of a model from the JSON that is saved with its weights.

    Removed settings are ignored if they have their defaults.

    Raises:
        ConfigError: if the architecture is unknown, or a key is unknown, missing or of the wrong
            type.
    """
    kept = {
        name: value for name, value in values.items() if REMOVED_SETTINGS.get(name, ...) != value
    }
    return config.build(ARCHITECTURES.load(str(values.get("architecture"))), kept, at="model")


def build_model(
    model: Seq2SeqConfig,
    *,
    source_size: int,
    target_size: int,
    pretrained: "Pretrained | None" = None,
) -> "Seq2Seq[Any, Any]":
    """Return a new model, initialised by torch's random generator."""
    built: Seq2Seq[Any, Any] = resolve_name(model.builds)(
        model, source_size=source_size, target_size=target_size, pretrained=pretrained
    )
    return built
