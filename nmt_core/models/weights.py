"""The weights of a model as they are stored: each tensor once."""

from torch import Tensor, nn


def own_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return the state of a model, a tied tensor once, under its first name; nothing is copied.

    ``model.load_state_dict(tensors, strict=False)`` brings all of it back.
    """
    first: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        first.setdefault(id(tensor), (name, tensor.detach()))
    return dict(first.values())
