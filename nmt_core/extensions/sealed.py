"""Weights of a sealed folder."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from nmt_core.base.errors import BundleError
from nmt_core.base.seal import explain_unreadable
from nmt_core.models.weights import compare_shapes, load_own_tensors, own_tensors

ModelT = TypeVar("ModelT", bound=nn.Module)


def save_weights(model: nn.Module, path: Path) -> None:
    """Write the weights of a model, or its counts."""
    save_file({name: w.cpu().contiguous() for name, w in own_tensors(model).items()}, path)


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a file.

    Raises:
        BundleError: if they cannot be read.
    """
    with explain_unreadable(path, SafetensorError):
        return load_file(path)


def restore_model(build: Callable[[], ModelT], tensors: Mapping[str, Tensor]) -> ModelT:
    """Return a model with the weights that were saved, in evaluation mode.

    Raises:
        BundleError: if the tensors do not fit the settings.
    """
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    if wrong := compare_shapes(build, shapes):
        raise BundleError(f"the tensors do not fit the settings of the model: {wrong}")
    model = build()
    load_own_tensors(model, tensors)
    return model.eval()
