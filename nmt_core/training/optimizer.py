"""What turns gradients into updates."""

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import nn

from nmt_core.config import Config


class AdamW(Config):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""

    kind: Literal["adamw"] = "adamw"
    """The tag of this choice."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Decay of the gradient's mean."""
    beta2: float = Field(0.98, ge=0, lt=1)
    """Decay of the gradient's square."""
    epsilon: float = Field(1e-9, gt=0)
    """Keeps the division finite."""
    weight_decay: float = Field(0.0, ge=0)
    """Share of a matrix taken off per update and unit of learning rate; biases keep theirs."""


class NesterovSgd(Config):
    """Stochastic gradient descent with Nesterov momentum, the articles' optimizer."""

    kind: Literal["nesterov"] = "nesterov"
    """The tag of this choice."""
    momentum: float = Field(0.9, gt=0, lt=1)
    """Share of the last update that is kept."""


OptimizerConfig = Annotated[AdamW | NesterovSgd, Field(discriminator="kind")]


def build_optimizer(model: nn.Module, config: AdamW | NesterovSgd) -> torch.optim.Optimizer:
    """Return an optimizer over the weights that learn; its rate is set at every step."""
    learning = [weight for weight in model.parameters() if weight.requires_grad]
    if isinstance(config, NesterovSgd):
        return torch.optim.SGD(
            learning, lr=0.0, momentum=config.momentum, nesterov=True, fused=True
        )
    matrices = [weight for weight in learning if weight.dim() > 1]
    vectors = [weight for weight in learning if weight.dim() <= 1]
    return torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": config.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ],
        lr=0.0,
        betas=(config.beta1, config.beta2),
        eps=config.epsilon,
        fused=True,
    )
