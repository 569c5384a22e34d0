"""Conversion of a Transformer to a CTranslate2 model.

Models that CTranslate2 does not support are rejected with the reason. Only the export imports this
file, which needs neither torch nor memory besides the weights.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2.converters.utils import fuse_linear
from ctranslate2.specs import common_spec, transformer_spec
from numpy.typing import NDArray

from nmt_core.base import files
from nmt_core.models.settings import ROTARY_BASE, Seq2SeqConfig, TransformerConfig
from nmt_core.search.engine import SHORTLIST, InexpressibleError, Precision
from nmt_core.text.aligner.learning import Shortlist
from nmt_core.text.vocabulary import BOS, EOS, SPECIALS, UNK, Vocabulary

ACTIVATIONS = {"relu": common_spec.Activation.RELU, "gelu": common_spec.Activation.GELU}

Weights = Mapping[str, NDArray[np.float32]]
"""Weights by the names of the model's state dict; tied weights have several names."""


def explain_inexpressible(config: Seq2SeqConfig) -> str | None:
    """Return why CTranslate2 does not support a model, in a few words; None if it does."""
    if not isinstance(config, TransformerConfig):
        return "it is not a Transformer"
    refusals = {
        f"norm {config.norm!r}": config.norm == "article",
        f"activation {config.activation!r}": config.activation not in ACTIVATIONS,
        "activate_output": config.activate_output,
        "source_start": config.source_start,
        "heads x head_width other than width": (
            config.head_width not in (None, config.width / config.heads)
        ),
    }
    return next((reason for reason, applies in refusals.items() if applies), None)


class Converter:
    """Copies the weights of a model into a CTranslate2 specification, ``spec``."""

    def __init__(self, config: TransformerConfig, weights: Weights) -> None:
        self.weights = weights
        shape: dict[str, Any] = {
            "pre_norm": config.norm == "pre",
            "activation": ACTIVATIONS[config.activation],
            "rotary_dim": config.features_per_head if config.positions == "rotary" else None,
            "rotary_interleave": False,
            "rotary_base": ROTARY_BASE,
        }
        self.spec = transformer_spec.TransformerSpec(
            transformer_spec.TransformerEncoderSpec(config.encoder_layers, config.heads, **shape),
            transformer_spec.TransformerDecoderSpec(
                config.decoder_layers,
                config.heads,
                **shape,
                alignment_layer=max(0, config.decoder_layers - 2),  # as Transformer.attention
                alignment_heads=0,  # the mean of all heads
            ),
        )
        self.before = config.norm == "pre"

    def convert(self, config: TransformerConfig, positions: int) -> None:
        """Copy all weights, with the encodings of the first ``positions`` positions."""
        encoder, decoder = self.spec.encoder, self.spec.decoder
        for number, layer in enumerate(encoder.layer):
            self._convert_encoder_layer(layer, f"encoder.{number}")
        for number, layer in enumerate(decoder.layer):
            self._convert_decoder_layer(layer, f"decoder.{number}")
        if self.before:
            self._norm(encoder.layer_norm, "encoder_norm")
            self._norm(decoder.layer_norm, "decoder_norm")
        for side, spec, table in (
            ("source", encoder, encoder.embeddings[0]),
            ("target", decoder, decoder.embeddings),
        ):
            table.weight = self.weights[f"{side}_embedding.table.weight"]
            spec.scale_embeddings = config.scale_embeddings
            if hasattr(spec, "position_encodings"):
                spec.position_encodings.encodings = self._positions(side, config, positions)
        self._linear(decoder.projection, "output")

    def _convert_encoder_layer(
        self, spec: transformer_spec.TransformerEncoderLayerSpec, name: str
    ) -> None:
        attention = spec.self_attention
        self._norm(attention.layer_norm, self._norm_name(name, "attend"))
        self._fused(attention.linear[0], f"{name}.attention", "query", "key", "value")
        self._linear(attention.linear[1], f"{name}.attention.output")
        self._feed_forward(spec.ffn, name)

    def _convert_decoder_layer(
        self, spec: transformer_spec.TransformerDecoderLayerSpec, name: str
    ) -> None:
        own, source = spec.self_attention, spec.attention
        self._norm(own.layer_norm, self._norm_name(name, "attend_self"))
        self._fused(own.linear[0], f"{name}.self_attention", "query", "key", "value")
        self._linear(own.linear[1], f"{name}.self_attention.output")
        self._norm(source.layer_norm, self._norm_name(name, "attend_source"))
        self._linear(source.linear[0], f"{name}.cross_attention.query")
        self._fused(source.linear[1], f"{name}.cross_attention", "key", "value")
        self._linear(source.linear[2], f"{name}.cross_attention.output")
        self._feed_forward(spec.ffn, name)

    def _feed_forward(self, spec: transformer_spec.FeedForwardSpec, name: str) -> None:
        self._norm(spec.layer_norm, self._norm_name(name, "transform"))
        self._linear(spec.linear_0, f"{name}.feed_forward.inner")
        self._linear(spec.linear_1, f"{name}.feed_forward.outer")

    def _norm_name(self, layer: str, sublayer: str) -> str:
        return f"{layer}.{sublayer}.{'before' if self.before else 'after'}"

    def _linear(self, spec: common_spec.LinearSpec, name: str) -> None:
        spec.weight = self.weights[f"{name}.weight"]
        if f"{name}.bias" in self.weights:
            spec.bias = self.weights[f"{name}.bias"]

    def _fused(self, spec: common_spec.LinearSpec, name: str, *projections: str) -> None:
        """Write several dense layers with the same input as one layer."""
        layers = []
        for projection in projections:
            layers.append(common_spec.LinearSpec())
            self._linear(layers[-1], f"{name}.{projection}")
        fuse_linear(spec, layers)

    def _norm(self, spec: common_spec.LayerNormSpec, name: str) -> None:
        spec.gamma = self.weights[f"{name}.weight"]
        spec.beta = self.weights[f"{name}.bias"]

    def _positions(self, side: str, config: TransformerConfig, count: int) -> NDArray[np.float32]:
        """Return the positional encodings, (count, D)."""
        name = f"{side}_embedding.positions"
        if config.positions == "learned":  # later positions share the last vector
            table = self.weights[f"{name}.table.weight"]
            return table[np.minimum(np.arange(count), len(table) - 1)]
        if config.positions == "rotary":  # the encoder adds encodings in any case
            return np.zeros((count, config.width), dtype=np.float32)
        signal = compute_sinusoids(count, config.width)
        return signal * self.weights.get(f"{name}.scale", np.float32(1))


def compute_sinusoids(positions: int, width: int) -> NDArray[np.float32]:
    """Return sine on even and cosine on odd features (Vaswani et al. 2017, section 3.5)."""
    even = np.arange(0, width, 2)
    angle = np.arange(positions)[:, None] * np.exp(even * (-np.log(10_000) / width))
    signal = np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(positions, -1)
    return signal[:, :width].astype(np.float32)


def write_ctranslate2(
    folder: Path,
    precision: Precision,
    *,
    model: Any,
    config: Seq2SeqConfig,
    vocabularies: tuple[Vocabulary, Vocabulary],
    positions: int,
    shortlist: Shortlist | None = None,
) -> None:
    """Write a Transformer as a CTranslate2 model.

    ``positions`` is the maximum length on either side, in tokens.

    Raises:
        InexpressibleError: if CTranslate2 does not support the model.
    """
    if (reason := explain_inexpressible(config)) or not isinstance(config, TransformerConfig):
        raise InexpressibleError(reason)
    # copies, because the specification quantises in place
    state = model.state_dict()
    weights = {name: weight.float().cpu().numpy().copy() for name, weight in state.items()}
    converter = Converter(config, weights)
    converter.convert(config, positions)
    spec = converter.spec
    spec.register_source_vocabulary(list(vocabularies[0].tokens))
    spec.register_target_vocabulary(list(vocabularies[1].tokens))
    spec.config.add_source_bos = False
    spec.config.add_source_eos = False  # requests end with EOS
    spec.config.decoder_start_token = SPECIALS[BOS]
    spec.config.bos_token = SPECIALS[BOS]
    spec.config.eos_token = SPECIALS[EOS]
    spec.config.unk_token = SPECIALS[UNK]
    spec.validate()
    spec.optimize(quantization="int8" if precision == "int8" else None)
    folder.mkdir(parents=True)
    spec.save(str(folder))
    if shortlist:
        write_shortlist(folder / SHORTLIST, shortlist, *vocabularies)


def write_shortlist(
    path: Path, shortlist: Shortlist, source: Vocabulary, target: Vocabulary
) -> None:
    """Write a shortlist for CTranslate2: per line a source token, a tab and target tokens.

    The first line has no source token; its target tokens are allowed for every source.
    """
    lists = [("", shortlist.always)]
    lists += [(source.tokens[key], ids) for key, ids in sorted(shortlist.translations.items())]
    files.write_lines(
        path,
        (f"{token}\t{' '.join(target.tokens[number] for number in ids)}" for token, ids in lists),
    )
