"""Ancestral sampling: draw every token from the model's distribution of the next.

What a sentence draws depends on the seed, its own tokens and the number of the sample, and on
nothing else, so no batch, order or neighbour changes it.

Dimension letters as in ``seq2seq.py``, and N samples per sentence, L tokens of the longest.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_core.base.random import make_generator
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.search.constraints import Constraint
from nmt_core.search.greedy import pick_most_likely
from nmt_core.search.hypothesis import Hypothesis, drop_impossible
from nmt_core.search.rules import Rules
from nmt_core.search.settings import SamplingConfig, SearchConfig
from nmt_core.search.stepwise import decode_stepwise
from nmt_core.search.token_sampling import draw_tokens, shape_distribution
from nmt_core.text.vocabulary import PAD


def sample(
    model: Seq2Seq[Any, Any],
    source: Int[Tensor, "B S"],
    source_padding: Bool[Tensor, "B S"],
    sampling: SamplingConfig,
    search: SearchConfig,
    *,
    constraints: tuple[Constraint, ...] = (),
    prefix: Int[Tensor, "B P"] | None = None,
) -> list[list[Hypothesis]]:
    """Translate a batch; return ``sampling.samples`` hypotheses per sentence, as they were drawn.

    Their scores are the model's own, for any temperature and truncation. The
    model must be in evaluation mode.

    Args:
        model: what to sample from.
        source: source sentences, each ended by EOS.
        source_padding: True where ``source`` is padding.
        sampling: how to draw.
        search: what the hypotheses keep to.
        constraints: what they may not hold.
        prefix: how they begin, followed by PAD.

    Raises:
        NmtError: if a sentence has no translation of positive probability.
    """
    rules = Rules.configured(search, source_padding, constraints, prefix)
    noise = _noise(source, sampling, rules.longest)

    def choose(
        log_probs: Float[Tensor, "R V"], sentences: Int[Tensor, " B"], position: int
    ) -> Int[Tensor, " R"]:
        return draw_tokens(
            shape_distribution(log_probs, sampling), noise[sentences, :, position].flatten()
        )

    drawn = decode_stepwise(
        model,
        source,
        source_padding,
        rules,
        choose if sampling.temperature else pick_most_likely,
        hypotheses=sampling.samples,
        length_penalty=search.length_penalty,
    )
    return [drop_impossible(hypotheses) for hypotheses in drawn]


def _noise(
    source: Int[Tensor, "B S"], sampling: SamplingConfig, longest: int
) -> Float[Tensor, "B N L"]:
    """Return uniform noise in [0, 1) for every token of every sample.

    With 32 bits, so that its product with a sum is always below the sum.
    """
    noise = torch.empty((len(source), sampling.samples, longest), dtype=torch.float64)
    for number, row in enumerate(source.tolist()):
        name = " ".join(str(token) for token in row if token != PAD)
        for index in range(sampling.samples):
            bits = make_generator(sampling.seed, "sample", name, index).integers(
                2**32, size=longest
            )
            noise[number, index] = torch.from_numpy(bits) / 2**32
    return noise.to(source.device)
