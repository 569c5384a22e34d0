"""The shapes of architectures, as a person sets them; this file imports no torch."""

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
"""Rotary positions rotate their slowest features by one radian in nearly so many positions."""


class Seq2SeqConfig(Config):
    """Settings of every architecture; see ``nmt_core.models.seq2seq.Seq2Seq``."""

    builds: ClassVar[str]
    """Where the model of such settings is: ``module:class``."""

    architecture: str
    """Which architecture this is."""
    width: int = Field(256, ge=1, le=65_536)
    """Features of a word and of what a word is predicted from, D; pretrained vectors must have
    this many dimensions."""
    dropout: float = Field(0.1, ge=0, le=0.99)
    """Probability of dropping a feature, where the architecture drops any."""
    tie: Literal["none", "output", "all"] = "all"
    """Share the target embedding with the output, or with the output and the source embedding."""
    source_start: bool = False
    """Begin the source with the token that the target begins with, beside the end that both have
    (START in van der Goten 2018)."""


class PositionedConfig(Seq2SeqConfig):
    """Settings of architectures that add positional encodings to words."""

    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    """Positional encoding. ``rotary`` rotates queries and keys (Su et al. 2021); only the
    Transformer has it."""
    max_positions: int = Field(1024, ge=1, le=1_000_000)
    """Learned positions only: how many there are, in tokens."""
    position_scale: Literal["fixed", "trained"] = "fixed"
    """Whether each language's sinusoids have a trained scale (gamma in van der Goten 2018)."""
    variational_dropout: bool = False
    """Draw one dropout mask per sentence for all its positions (Gal and Ghahramani 2016;
    van der Goten 2018); false draws one per position."""

    @model_validator(mode="after")
    def _check_positions(self) -> "PositionedConfig":
        if self.positions != "sinusoidal" and self.position_scale == "trained":
            raise ValueError("position_scale 'trained' is for sinusoidal positions; choose 'fixed'")
        return self


class TransformerConfig(PositionedConfig):
    """The shape of a Transformer."""

    builds: ClassVar = "nmt_core.models.transformer:Transformer"

    architecture: Literal["transformer"] = "transformer"
    heads: int = Field(4, ge=1, le=1024)
    """Attention heads, H."""
    head_width: int | None = Field(None, ge=1, le=65_536)
    """Features per head, d; null divides the width evenly over the heads."""
    encoder_layers: int = Field(3, ge=1, le=1000)
    """Layers that read the source."""
    decoder_layers: int = Field(3, ge=1, le=1000)
    """Layers that write the target."""
    feed_forward_width: int = Field(1024, ge=1, le=1_000_000)
    """Features inside the dense block of a layer."""
    attention_dropout: float = Field(0.0, ge=0, le=0.99)
    """Probability of dropping an attention weight."""
    embedding_dropout: float | None = Field(None, ge=0, le=0.99)
    """Probability of dropping a feature of a word at its position; null takes ``dropout``. In
    van der Goten 2018 none is dropped: 0."""
    norm: Literal["pre", "post", "article"] = "pre"
    """Where layers are normalised: before sub-layers, after residuals, or around both (``article``:
    van der Goten 2018)."""
    norm_scale: bool = True
    """Whether normalisation has a trained scale beside its trained shift."""
    projection_bias: bool = True
    """Whether queries, keys and values have a bias."""
    attention_output_bias: bool = True
    """Whether what the heads found is put together with a bias; not in van der Goten 2018."""
    activation: Literal["relu", "gelu", "leaky_relu"] = "relu"
    """Activation inside the dense block."""
    negative_slope: float = Field(0.01, ge=0, le=1)
    """Slope of ``leaky_relu`` below 0: 0.01 as in PyTorch, 0.2 as in TensorFlow, with which
    van der Goten 2018 trained."""
    activate_output: bool = False
    """Apply the activation to the dense block's second layer too (van der Goten 2018)."""
    dense_dropout_masks: Literal["as_elsewhere", "batch"] = "as_elsewhere"
    """Dropout masks of the dense block: drawn as elsewhere, or one for all positions of all
    sentences of a batch (``noise_shape=[1, E]`` in van der Goten 2018)."""
    scale_embeddings: bool = True
    """Multiply embeddings by sqrt(width); false for pretrained vectors, which have their scale."""

    @model_validator(mode="after")
    def _check(self) -> "TransformerConfig":
        if self.head_width is None and self.width % self.heads:
            raise ValueError(
                f"width {self.width} does not split over {self.heads} heads (remainder "
                f"{self.width % self.heads}); choose heads that divide width, or set head_width"
            )
        if self.positions == "rotary" and self.features_per_head % 2:
            raise ValueError(
                f"rotary positions rotate pairs of features, and heads have "
                f"{self.features_per_head}; choose an even head_width, or other positions"
            )
        return self

    @property
    def features_per_head(self) -> int:
        """The features of one head, d."""
        return self.head_width or self.width // self.heads

    @property
    def rotary_width(self) -> int | None:
        """The features of each head that positions rotate; None if they rotate none."""
        return self.features_per_head if self.positions == "rotary" else None


class EncoderConfig(Config):
    """The shape of pre-norm Transformer layers over one text, as language models use them."""

    layers: int = Field(4, ge=1, le=1000)
    """Transformer layers."""
    width: int = Field(128, ge=1, le=65_536)
    """Features of a token and of what is predicted from, D."""
    heads: int = Field(4, ge=1, le=1024)
    """Attention heads, H, which divide the width evenly."""
    feed_forward_width: int = Field(512, ge=1, le=1_000_000)
    """Features inside the dense block of a layer."""
    dropout: float = Field(0.1, ge=0, le=0.99)
    """Probability of dropping a feature of a token, inside dense blocks and after sub-layers."""
    attention_dropout: float = Field(0.0, ge=0, le=0.99)
    """Probability of dropping an attention weight."""
    positions: Literal["sinusoidal", "rotary"] = "sinusoidal"
    """Positional encoding."""
    context: int = Field(64, ge=4, le=1_000_000)
    """Tokens that are seen at most; training shows no fewer at once."""

    @model_validator(mode="after")
    def _check_layers(self) -> "EncoderConfig":
        self.build_layer_config()
        return self

    def build_layer_config(self) -> TransformerConfig:
        """Return the settings of a Transformer that has such layers."""
        return TransformerConfig(
            width=self.width,
            heads=self.heads,
            encoder_layers=self.layers,
            feed_forward_width=self.feed_forward_width,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
            positions=self.positions,
        )


class ConvS2SConfig(PositionedConfig):
    """The shape of a convolutional model."""

    builds: ClassVar = "nmt_core.models.convs2s:ConvS2S"

    architecture: Literal["convs2s"] = "convs2s"
    block: Literal["published", "article"] = "published"
    """Kind of layer: normalised weights, scaled sums and projected attention as in the paper, or
    batch normalisation and plain attention (van der Goten 2018)."""
    hidden_width: int | None = Field(None, ge=1, le=65_536)
    """Features inside the layers, of published blocks; null takes ``width``."""
    encoder_layers: int = Field(4, ge=1, le=1000)
    """Layers that read the source."""
    decoder_layers: int = Field(4, ge=1, le=1000)
    """Layers that write the target; each attends to the source."""
    kernel: int = Field(3, ge=1, le=1000)
    """Positions that a convolution sees at once, k."""
    positions: Literal["sinusoidal", "learned"] = "learned"
    """Positional encoding."""
    encoder_padding: Literal["symmetric", "left"] = "symmetric"
    """Whether the encoder sees words on both sides, or only before (van der Goten 2018)."""
    word_scale: float = Field(4.0, gt=0, le=1000)
    """Factor of the words' vectors, which are drawn from N(0, 1 / D); 1 for pretrained vectors,
    which have their scale."""

    @model_validator(mode="after")
    def _check(self) -> "ConvS2SConfig":
        if self.encoder_padding == "symmetric" and self.kernel % 2 == 0:
            raise ValueError(
                f"kernel {self.kernel} has no middle for encoder_padding 'symmetric'; choose an "
                f"odd kernel, or 'left'"
            )
        if self.block == "article" and self.hidden_width not in (None, self.width):
            raise ValueError(
                f"hidden_width {self.hidden_width} needs block 'published'; in block "
                f"'article' layers are as wide as words: choose null"
            )
        return self


class RnnConfig(Seq2SeqConfig):
    """The shape of a recurrent model."""

    builds: ClassVar = "nmt_core.models.rnn:Rnn"

    architecture: Literal["rnn"] = "rnn"
    cell: CellKind = "lstm"
    """Kind of cell; ``tanh`` has no gate (Elman 1990)."""
    hidden_width: int = Field(512, ge=1, le=65_536)
    """Features of a layer's state, C; two directions share them evenly."""
    encoder_layers: int = Field(1, ge=1, le=1000)
    """Layers that read the source; from the second on, each adds to what it reads."""
    decoder_layers: int = Field(1, ge=1, le=1000)
    """Layers that write the target; from the second on, each adds to what it reads."""
    direction: Literal["bidirectional", "forward", "reversed"] = "bidirectional"
    """How the source is read: from both ends, or from one."""
    attention: AttentionKind = "general"
    """How a target position scores a source position: Luong's three ways, after a step, or
    Bahdanau's, before it."""
    trained_attention_scale: bool = False
    """Multiply the scores of ``dot`` and ``general`` by a trained number, 1 at first (Géron,
    chapter 16, ``use_scale=True``)."""
    input_feeding: bool = True
    """Feed the attentional vector of a position into the next; the target is then trained one
    position after another, which is slower."""
    bridge: Literal["copy", "projection"] = "copy"
    """How the decoder's first state is made of the encoder's last, layer by layer: as it is, or by
    a trained projection and tanh. Decoder layers that the encoder has no equal of begin from the
    encoder's last layer."""
    scale_embeddings: bool = True
    """Multiply embeddings by sqrt(width); false for pretrained vectors, which have their scale."""

    @model_validator(mode="after")
    def _check(self) -> "RnnConfig":
        if self.direction == "bidirectional" and self.hidden_width % 2:
            raise ValueError(
                f"hidden_width {self.hidden_width} does not split over two directions; choose an "
                f"even one, or direction 'forward'"
            )
        if self.trained_attention_scale and self.attention not in ("dot", "general"):
            raise ValueError(
                f"trained_attention_scale multiplies products, which attention {self.attention!r} "
                f"does not compute; choose dot or general"
            )
        if self.attention == "none" and self.input_feeding:
            raise ValueError(
                "input_feeding feeds what attention gave; set it to false, or choose an attention"
            )
        return self


ARCHITECTURES: Registry[type[Seq2SeqConfig]] = Registry(
    "an architecture",
    "nmt.architectures",
    {"transformer": TransformerConfig, "convs2s": ConvS2SConfig, "rnn": RnnConfig},
)
"""The settings of each architecture."""

ModelConfig = Annotated[Seq2SeqConfig, OpenUnion(ARCHITECTURES, "architecture")]
"""The settings of any architecture, told apart by ``architecture``."""

REMOVED: Mapping[str, Any] = {"state_dropout": 0.0}
"""Defaults of settings that earlier versions saved, by their names."""


def read_model_config(values: Mapping[str, Any]) -> Seq2SeqConfig:
    """Build the settings of a model from JSON, as saved beside its weights.

    Settings that earlier versions had are ignored at their defaults.

    Raises:
        ConfigError: if there is no such architecture, or a key is unknown, missing or of the wrong
            type.
    """
    kept = {name: value for name, value in values.items() if REMOVED.get(name, ...) != value}
    return config.build(ARCHITECTURES.load(str(values.get("architecture"))), kept, at="model")


def build_model(
    model: Seq2SeqConfig,
    *,
    source_size: int,
    target_size: int,
    pretrained: "Pretrained | None" = None,
) -> "Seq2Seq[Any, Any]":
    """Return a freshly initialised model; torch's generator decides its weights."""
    built: Seq2Seq[Any, Any] = resolve_name(model.builds)(
        model, source_size=source_size, target_size=target_size, pretrained=pretrained
    )
    return built
