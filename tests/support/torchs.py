"""Modules of torch that get the weights of our modules."""

import torch


@torch.no_grad()
def copy_attention(theirs, ours):
    """Give our attention the weights of torch's."""
    weights, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
    for name, weight, bias in zip(("query", "key", "value"), weights, biases, strict=True):
        getattr(ours, name).weight.copy_(weight)
        getattr(ours, name).bias.copy_(bias)
    ours.output.load_state_dict(theirs.out_proj.state_dict())
