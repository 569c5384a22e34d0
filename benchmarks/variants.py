"""Ways to compute the loss of an update that may be faster on a GPU, for benchmarks.gpu.

Each has the loss and the gradients of ``compute_loss``, apart from the draws of dropout.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.training import LABEL_SMOOTHING, LossOf, Model, compute_loss
from nmt_core.data.batch import Batch
from nmt_core.models.layers import Dropout
from nmt_core.text.vocabulary import BOS, EOS, PAD
from nmt_core.training.loss import decode_targets, smoothed_cross_entropy


def pad_shape(batch: Batch, multiple: int, max_tokens: int) -> Batch:
    """Return the batch with lengths padded to a multiple, and rows filled up to ``max_tokens``.

    Added rows have an empty source and no label. A multiple of 1 changes nothing.
    """
    if multiple == 1:
        return batch
    sides = batch.source, batch.target_input, batch.target_output
    widths = [-(-side.size(1) // multiple) * multiple for side in sides]
    rows = max(batch.rows, -(-(max_tokens // max(widths)) // 8) * 8)
    source, inputs, labels = (
        F.pad(side, (0, width - side.size(1), 0, rows - batch.rows), value=PAD)
        for side, width in zip(sides, widths, strict=True)
    )
    source[batch.rows :, 0], inputs[batch.rows :, 0] = EOS, BOS
    places = (labels != PAD).flatten().nonzero().squeeze(1)
    return Batch(source, source == PAD, inputs, labels, places)


def compute_masked_loss(
    model: Model, batch: Batch, cross_entropy: Any = smoothed_cross_entropy
) -> Tensor:
    """Compute logits at padding, too, so that no shape depends on the number of tokens."""
    labels = batch.target_output.flatten()
    everywhere = torch.arange(len(labels), device=labels.device)
    hidden, _ = decode_targets(model, replace(batch, target_places=everywhere))
    losses, _ = cross_entropy(model.project(hidden), labels, LABEL_SMOOTHING)
    is_token = labels != PAD
    return (losses * is_token).sum() / is_token.sum()


def use_native_dropout(model: nn.Module) -> None:
    """Replace dropout by PyTorch's, one kernel on a GPU, which torch.compile can read."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, Dropout):
                setattr(module, name, nn.Dropout(child.probability))


class Variant(NamedTuple):
    """A way to compute the loss of an update."""

    loss: Callable[[Model, Batch], Tensor] = compute_loss
    multiple: int = 1
    """Lengths are padded to multiples of this number."""
    options: dict[str, Any] | None = None
    """Options of torch.compile; None compiles nothing."""
    by_layer: bool = False
    """Compile each layer instead of the whole loss. The layers of a side share one program."""
    native_dropout: bool = True

    def build(self, model: Model) -> LossOf:
        """Return the loss as a function of the batch; this may change the modules of the model."""
        if self.native_dropout:
            use_native_dropout(model)
        if self.options is None:
            return partial(self.loss, model)
        options = {"fullgraph": True, **self.options}
        if not self.by_layer:
            return torch.compile(partial(self.loss, model), **options)
        for side in (model.get_submodule("encoder"), model.get_submodule("decoder")):
            for layer in side.children():
                layer.compile(**options)
        cross_entropy = torch.compile(smoothed_cross_entropy, **options)
        return partial(compute_masked_loss, model, cross_entropy=cross_entropy)


DYNAMIC: dict[str, Any] = {"dynamic": True}
GRAPHS = DYNAMIC | {"mode": "reduce-overhead"}
VARIANTS = {
    "float32": Variant(native_dropout=False),
    "eager": Variant(native_dropout=False),
    "dropout": Variant(),
    "padded": Variant(compute_masked_loss, 8),
    "layers": Variant(compute_masked_loss, 8, DYNAMIC, by_layer=True),
    "static": Variant(compute_masked_loss, 16, {"dynamic": False}, by_layer=True),
    "graphs": Variant(compute_masked_loss, 16, GRAPHS, by_layer=True),
    "whole": Variant(options=DYNAMIC),
    "whole-graphs": Variant(compute_masked_loss, 16, GRAPHS),
}
"""Those after ``eager`` use PyTorch's dropout. All but ``float32`` train in bfloat16."""
