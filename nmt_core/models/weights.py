"""Save and load the weights of a model; tied tensors are stored once."""

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


def untied_state_dict(model: nn.Module) -> dict[str, Tensor]:
    """Return a model's state without copies; a tied tensor occurs once, under its first name."""
    first: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        first.setdefault(id(tensor), (name, tensor.detach()))
    return dict(first.values())


def load_untied_state_dict(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Load the tensors of ``untied_state_dict`` into a model.

    Raises:
        BundleError: if a tensor is missing, unknown or of another shape.
    """
    if differences := _differences(_shapes(untied_state_dict(model)), _shapes(tensors)):
        raise BundleError(
            f"the stored weights do not match the model ({differences}); train it again"
        )
    model.load_state_dict(dict(tensors), strict=False)  # the other names of tied tensors miss


def compare_shapes(build: Callable[[], nn.Module], stored: Shapes) -> str:
    """Return how stored shapes differ from those of the model that ``build`` returns, or "".

    The model is built on the meta device, so settings of a huge model do not exhaust memory.
    ``stored`` has the names of ``untied_state_dict``.
    """
    with torch.device("meta"), _SkipInitialization():
        expected = _shapes(untied_state_dict(build()))
    return _differences(expected, stored)


class _SkipInitialization(TorchFunctionMode):
    """Skip initialisation on the meta device, for which torch would import its compiler.

    The import takes seconds, and tensors on the meta device have no values.
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


def _differences(expected: Shapes, stored: Shapes) -> str:
    missing = [f"{name} is missing" for name in expected if name not in stored]
    unknown = [f"{name} is unknown" for name in stored if name not in expected]
    reshaped = [
        f"{name} has the shape {list(shape)}, not {list(expected[name])}"
        for name, shape in stored.items()
        if name in expected and list(shape) != list(expected[name])
    ]
    return ", ".join([*missing, *unknown, *reshaped][:3])


ModelT = TypeVar("ModelT", bound=nn.Module)


def save_weights(model: nn.Module, path: Path) -> None:
    """Write the state of a model as safetensors."""
    save_file({name: w.cpu().contiguous() for name, w in untied_state_dict(model).items()}, path)


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file.

    Raises:
        BundleError: if the file cannot be read.
    """
    with explain_unreadable(path, SafetensorError):
        return load_file(path)


def restore_model(path: Path, build: Callable[[], ModelT]) -> ModelT:
    """Return the model of ``build`` with the weights of a file, in evaluation mode.

    Raises:
        BundleError: if the file cannot be read, or does not match the model.
    """
    tensors = load_tensors(path)
    if differences := compare_shapes(build, _shapes(tensors)):
        raise BundleError(
            f"{path} does not match its model.json ({differences}); export the model again"
        )
    model = build()
    load_untied_state_dict(model, tensors)
    return model.eval()
