"""What turns gradients into updates."""

import torch
from torch import nn

from nmt_core.training.settings import AdamW, NesterovSgd


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
