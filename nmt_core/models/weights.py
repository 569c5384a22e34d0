"""The weights of a model as they are stored: each tensor once."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn


def own_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return the state of a model, a tied tensor once, under its first name; nothing is copied.

    ``model.load_state_dict(tensors, strict=False)`` brings all of it back.
    """
    first: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        first.setdefault(id(tensor), (name, tensor.detach()))
    return dict(first.values())


def misfits(build: Callable[[], nn.Module], stored: Mapping[str, Sequence[int]]) -> str:
    """Say how stored tensors differ from those of the model that ``build`` makes; empty if not.

    The model is built without memory for its weights, so settings that ask for more than was
    stored cost nothing.

    Args:
        build: makes the model.
        stored: the shape of each stored tensor, by the name that :func:`own_tensors` gives it.
    """
    with torch.device("meta"):
        wanted = {name: list(tensor.shape) for name, tensor in own_tensors(build()).items()}
    lacking = [f"{name} is missing" for name in wanted if name not in stored]
    strange = [f"{name} is unknown" for name in stored if name not in wanted]
    reshaped = [
        f"{name} has the shape {list(shape)}, not {wanted[name]}"
        for name, shape in stored.items()
        if name in wanted and list(shape) != wanted[name]
    ]
    return ", ".join([*lacking, *strange, *reshaped][:3])
