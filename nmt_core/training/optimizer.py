"""What turns gradients into updates."""

import inspect
from typing import TypeVar

import torch
from torch import nn
from torch.optim import Optimizer

from nmt_core.training.settings import AdamW, NesterovSgd

Kind = TypeVar("Kind", bound=Optimizer)


def build_optimizer(model: nn.Module, config: AdamW | NesterovSgd) -> Optimizer:
    """Return an optimizer over the weights that learn; its rate is set at every step."""
    learning = [weight for weight in model.parameters() if weight.requires_grad]
    if isinstance(config, NesterovSgd):
        return _Sgd(learning, lr=0.0, momentum=config.momentum, nesterov=True, fused=True)
    matrices = [weight for weight in learning if weight.dim() > 1]
    vectors = [weight for weight in learning if weight.dim() <= 1]
    return _AdamW(
        [
            {"params": matrices, "weight_decay": config.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ],
        lr=0.0,
        betas=(config.beta1, config.beta2),
        eps=config.epsilon,
        fused=True,
    )


def _without_compiler(kind: type[Kind]) -> type[Kind]:
    """Return a kind of optimizer that may be called without torch's compiler.

    Torch wraps what an optimizer does, for its compiler to leave that alone; to say so, it imports
    the compiler, which takes seconds. Nothing is compiled here.
    """
    names = ("add_param_group", "load_state_dict", "state_dict", "step", "zero_grad")
    plain = {name: inspect.unwrap(getattr(kind, name)) for name in names}
    plain["step"] = torch.no_grad()(plain["step"])
    made: type[Kind] = type(kind.__name__, (kind,), plain)
    return made


_AdamW = _without_compiler(torch.optim.AdamW)
_Sgd = _without_compiler(torch.optim.SGD)
