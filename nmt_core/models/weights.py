"""The weights of a model as they are stored: each tensor once."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from typing_extensions import override

from nmt_core.base.errors import BundleError
from nmt_core.base.seal import explain_unreadable

Shapes = Mapping[str, Sequence[int]]


def own_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return the state of a model, a tied tensor once, under its first name; nothing is copied."""
    first: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        first.setdefault(id(tensor), (name, tensor.detach()))
    return dict(first.values())


def load_own_tensors(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Load the tensors of ``own_tensors``, with all tied names.

    Raises:
        BundleError: if any other tensor is missing, unknown or of another shape.
    """
    if wrong := _differences(_shapes(own_tensors(model)), _shapes(tensors)):
        raise BundleError(
            f"the stored weights are not those of this model ({wrong}); train it again"
        )
    model.load_state_dict(dict(tensors), strict=False)  # of tied names, all but the first lack


def compare_shapes(build: Callable[[], nn.Module], stored: Shapes) -> str:
    """Say how stored tensors differ from those of the model that ``build`` makes; empty if not.

    The model is built without memory for its weights, so settings that ask for more than was
    stored cost nothing. Stored shapes have the names that ``own_tensors`` gives.
    """
    with torch.device("meta"), _Unfilled():
        wanted = _shapes(own_tensors(build()))
    return _differences(wanted, stored)


class _Unfilled(TorchFunctionMode):
    """Leaves tensors without memory as they are, where torch would first import its compiler.

    That takes seconds, to find out what nothing written to such a tensor could tell.
    """

    @override
    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        if getattr(function, "__module__", "") == nn.init.__name__:
            return named["tensor"] if "tensor" in named else args[0]
        if function is Tensor.norm:
            return args[0].sum(named["dim"])
        return function(*args, **named)


def _shapes(tensors: Mapping[str, Tensor]) -> Shapes:
    return {name: tensor.shape for name, tensor in tensors.items()}


def _differences(wanted: Shapes, stored: Shapes) -> str:
    lacking = [f"{name} is missing" for name in wanted if name not in stored]
    strange = [f"{name} is unknown" for name in stored if name not in wanted]
    reshaped = [
        f"{name} has the shape {list(shape)}, not {list(wanted[name])}"
        for name, shape in stored.items()
        if name in wanted and list(shape) != list(wanted[name])
    ]
    return ", ".join([*lacking, *strange, *reshaped][:3])


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


def restore_model(path: Path, build: Callable[[], ModelT]) -> ModelT:
    """Return a model with the weights that were saved, in evaluation mode.

    Raises:
        BundleError: if they cannot be read, or do not fit what ``build`` makes.
    """
    tensors = load_tensors(path)
    if wrong := compare_shapes(build, {name: tensor.shape for name, tensor in tensors.items()}):
        raise BundleError(f"{path} does not fit its model.json ({wrong}); export the model again")
    model = build()
    load_own_tensors(model, tensors)
    return model.eval()
