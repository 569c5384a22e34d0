"""Tensors drawn with a seed."""

import torch


def seeded(shape, seed=0):
    """Draw from N(0, 1), in double precision."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
