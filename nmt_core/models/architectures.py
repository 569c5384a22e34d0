"""Architectures: each a file, a member of ``settings.ModelConfig`` and a line here."""

from collections.abc import Callable
from typing import Any

from nmt_core.models.convs2s import ConvS2S
from nmt_core.models.rnn import Rnn
from nmt_core.models.seq2seq import Pretrained, Seq2Seq
from nmt_core.models.settings import ConvS2SConfig, RnnConfig, Seq2SeqConfig, TransformerConfig
from nmt_core.models.transformer import Transformer

ARCHITECTURES: dict[type[Seq2SeqConfig], Callable[..., Seq2Seq[Any, Any]]] = {
    TransformerConfig: Transformer,
    ConvS2SConfig: ConvS2S,
    RnnConfig: Rnn,
}


def build_model(
    model: Seq2SeqConfig,
    *,
    source_size: int,
    target_size: int,
    pretrained: Pretrained | None = None,
) -> Seq2Seq[Any, Any]:
    """Return a freshly initialised model; torch's generator decides its weights."""
    architecture = ARCHITECTURES[type(model)]
    return architecture(
        model, source_size=source_size, target_size=target_size, pretrained=pretrained
    )
