"""Tensors drawn with a seed, and weights of torch's modules."""

import torch


def seeded(shape, seed=0):
    """Draw from N(0, 1), in double precision."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@torch.no_grad()
def copy_attention(theirs, ours):
    """Give our attention the weights of torch's."""
    weights, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
    for name, weight, bias in zip(("query", "key", "value"), weights, biases, strict=True):
        getattr(ours, name).weight.copy_(weight)
        getattr(ours, name).bias.copy_(bias)
    ours.output.load_state_dict(theirs.out_proj.state_dict())
