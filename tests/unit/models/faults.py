"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "a hypothesis that keeps its words when it follows another",
        "nmt_core/models/transformer_state.py",
        "mask=self.mask.gather(2, places)",
        "mask=self.mask",
    ),
    (
        "a cache that grows and forgets",
        "nmt_core/models/transformer_state.py",
        "            cache.values[:, :, :end] = self.values[:, :, :end]\n",
        "            cache.values[:, :, :end] = 0\n",
    ),
    (
        "rows of a state not selected",
        "nmt_core/models/seq2seq.py",
        "lambda tensor: tensor.index_select(0, rows)",
        "lambda tensor: tensor[: len(rows)]",
    ),
    (
        "states of the wrong sentence followed",
        "nmt_core/models/seq2seq.py",
        "rows * (count_rows(self) // len(parents)) + parents",
        "rows + parents",
    ),
    (
        "positions with sine and cosine swapped",
        "nmt_core/models/embedding.py",
        "torch.stack([angle.sin(), angle.cos()], dim=-1)",
        "torch.stack([angle.cos(), angle.sin()], dim=-1)",
    ),
    (
        "a convolution that sees the next word",
        "nmt_core/models/convs2s.py",
        "torch.cat([past.to(x.dtype), x], dim=1)",
        "torch.cat([past.to(x.dtype)[:, 1:], x, x[:, -1:]], dim=1)",
    ),
    (
        "tie output ties the source where sizes agree",
        "nmt_core/models/embedding.py",
        'if config.tie == "all":',
        'if config.tie == "all" or source.num_embeddings == target.num_embeddings:',
    ),
]
