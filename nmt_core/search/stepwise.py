"""Stepwise decoding, one final token after the other: greedy search and ancestral sampling.

The samples of a sentence depend only on the seed, its tokens and the number of the sample, not on
the other sentences of a batch.

Dimension letters as in ``seq2seq.py``, plus N hypotheses per sentence and a maximum length L.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_core.base.random import make_generator
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.search.engine import Hypothesis, drop_impossible
from nmt_core.search.rules import Constraint, Rules
from nmt_core.search.settings import SamplingConfig, SearchConfig, TokenSampling, Unknown
from nmt_core.text.vocabulary import BOS, EOS, PAD

Choose = Callable[[Float[Tensor, "R V"], Int[Tensor, " B"], int], Int[Tensor, " R"]]
"""Takes the log-probabilities of next tokens, the number of each sentence (``R / B`` rows each) and
the position from 0; returns a token per row."""


@torch.inference_mode()
def decode_stepwise(
    model: Seq2Seq[Any, Any],
    source: Int[Tensor, "B S"],
    source_padding: Bool[Tensor, "B S"],
    rules: Rules,
    choose: Choose,
    *,
    hypotheses: int = 1,
    length_penalty: float = 1.0,
) -> list[list[Hypothesis]]:
    """Translate a batch; return ``hypotheses`` hypotheses per sentence, not sorted by score.

    The model must be in evaluation mode. A sentence leaves the batch when all of
    its hypotheses have ended.
    """
    finished: list[list[Hypothesis]] = [[] for _ in source]
    sentences = torch.arange(len(source), device=source.device)
    memory = model.encode(source, source_padding)
    state = model.start(memory, beam_size=hypotheses)
    tokens = source.new_full((len(source) * hypotheses, 1), BOS)
    steps = torch.empty((len(tokens), 0), device=source.device)
    ended = torch.zeros(len(tokens), dtype=torch.bool, device=source.device)

    for position in range(rules.longest):
        hidden, state = model.decode(tokens[:, -1:], memory, state)
        log_probs = model.log_probs(hidden[:, -1])
        chosen = choose(rules.apply(tokens, log_probs), sentences, position)
        chosen = chosen.masked_fill(ended, PAD)[:, None]
        tokens = torch.cat([tokens, chosen], dim=1)
        steps = torch.cat([steps, log_probs.gather(1, chosen)], dim=1)
        ended = ((chosen == EOS) | (chosen == PAD)).squeeze(1)

        done = ended.view(-1, hypotheses).all(dim=1)
        going = (~done).nonzero().flatten()
        if len(going) == len(done):
            continue
        done_rows = done[:, None].expand(-1, hypotheses).flatten()
        results = _build_hypotheses(tokens[done_rows], steps[done_rows], length_penalty)
        for number, sentence in enumerate(sentences[done].tolist()):
            finished[sentence] = results[number * hypotheses : (number + 1) * hypotheses]
        if not len(going):
            break
        sentences, rules = sentences[going], rules.select(going)
        memory, state = memory.select(going), state.select_sentences(going, hypotheses)
        tokens, steps, ended = tokens[~done_rows], steps[~done_rows], ended[~done_rows]
    return finished


def _build_hypotheses(
    tokens: Int[Tensor, "R t"], steps: Float[Tensor, "R t-1"], length_penalty: float
) -> list[Hypothesis]:
    """Return the hypothesis of each row."""
    log_probs = steps.masked_fill(tokens[:, 1:] == PAD, 0)
    columns = (tokens, log_probs, log_probs.sum(dim=1), (tokens != PAD).sum(dim=1) - 1)
    return [
        Hypothesis(
            tuple(words[1:length]),
            log_prob / length**length_penalty,
            log_prob,
            tuple(terms[:length]),
        )
        for words, terms, log_prob, length in zip(*(c.tolist() for c in columns), strict=True)
    ]


def greedy_search(
    model: Seq2Seq[Any, Any],
    source: Int[Tensor, "B S"],
    source_padding: Bool[Tensor, "B S"],
    max_lengths: Int[Tensor, " B"],
    *,
    unknown: Unknown = "forbid",
    prefix: Int[Tensor, "B P"] | None = None,
) -> list[list[int]]:
    """Translate a batch; return the tokens of every sentence, without BOS and EOS.

    The result is that of a beam search with one beam and fast stopping. The model must be in
    evaluation mode, sources end with EOS, and prefixes are padded with PAD.
    """
    rules = Rules.of(max_lengths, unknown=unknown, prefix=prefix)
    hypotheses = decode_stepwise(model, source, source_padding, rules, pick_most_likely)
    return [list(hypothesis.tokens) for [hypothesis] in hypotheses]


def pick_most_likely(
    log_probs: Float[Tensor, "R V"], _sentences: Int[Tensor, " B"], _position: int
) -> Int[Tensor, " R"]:
    """Return the most likely token of each row."""
    return log_probs.argmax(dim=-1)


MIN_TEMPERATURE = 1e-300
"""Temperatures below this limit count as 0, because the division would overflow."""


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
    """Translate a batch; return ``sampling.samples`` hypotheses per sentence in order of sampling.

    Scores are the model's, regardless of temperature, top k and top p. The model must be in
    evaluation mode, and sources end with EOS.

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

    The noise has 32 bits, so that its product with a sum is always below the sum.
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


def shape_distribution(
    log_probs: Float[Tensor, "R V"], sampling: TokenSampling
) -> Float[Tensor, "R V"]:
    """Return the weights to draw from, in float64, after temperature, top k and top p.

    The weights need not sum to 1.
    """
    if sampling.temperature < MIN_TEMPERATURE:
        best_token = log_probs.argmax(dim=1, keepdim=True)
        return torch.zeros_like(log_probs, dtype=torch.float64).scatter(1, best_token, 1.0)
    probabilities = (log_probs.double() / sampling.temperature).softmax(dim=-1)
    if sampling.top_k is None and sampling.top_p == 1:
        return probabilities
    count = min(sampling.top_k or probabilities.size(1), probabilities.size(1))
    best = probabilities.topk(count, dim=1)
    cumulative = best.values.cumsum(dim=1)
    before = cumulative - best.values
    nucleus = best.values.masked_fill(before >= sampling.top_p * cumulative[:, -1:], 0)
    return torch.zeros_like(probabilities).scatter(1, best.indices, nucleus)


def draw_tokens(weights: Float[Tensor, "R V"], noise: Float[Tensor, " R"]) -> Int[Tensor, " R"]:
    """Return the token of every row that uniform noise in [0, 1) selects."""
    cumulative = weights.cumsum(dim=1)
    point = noise[:, None] * cumulative[:, -1:]
    drawn = torch.searchsorted(cumulative, point, right=True)[:, 0]
    return drawn.clamp(max=weights.size(1) - 1)  # larger only if weights are NaN
