"""Laws of sampling, on every architecture."""

from collections import Counter
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.search.rules import compute_length_limits
from nmt_core.search.settings import SamplingConfig, SearchConfig
from nmt_core.search.stepwise import draw_tokens, greedy_search, sample, shape_distribution
from nmt_core.text.vocabulary import BOS, EOS, PAD, UNK
from tests.support.toy_model import Toy

source = torch.tensor([[4, 5, 6, 7, 2], [8, 5, 2, 0, 0], [4, 2, 0, 0, 0]])
padding = source == PAD
prefix = torch.tensor([[PAD, PAD], [4, PAD], [UNK, 5]])
SHORT = SearchConfig(max_length_factor=0, max_length_offset=6)


def drawn(model, source=source, search=SHORT, prefix=None, **sampling):
    found = sample(model, source, source == PAD, SamplingConfig(**sampling), search, prefix=prefix)
    return [[hypothesis.tokens for hypothesis in line] for line in found]


def teacher_forced(model, row, tokens):
    target = torch.tensor([[BOS, *tokens, EOS]])
    with torch.no_grad():
        logits = model(source[row : row + 1], padding[row : row + 1], target[:, :-1])
    return logits.log_softmax(-1).gather(2, target[:, 1:, None])[0, :, 0]


def test_sampling_without_a_choice_is_greedy(model):
    simple = greedy_search(
        model, source, padding, compute_length_limits(padding, SHORT), prefix=prefix
    )
    for sampling in ({"temperature": 0.0}, {"temperature": 1e-6}, {"top_k": 1}):
        found = drawn(model, prefix=prefix, samples=2, **sampling)

        assert [[tuple(tokens)] * 2 for tokens in simple] == found


def test_scores_are_the_models_own(model):
    """This holds for any temperature, truncation and prefix."""
    penalty = 0.6
    search = SearchConfig(max_length_factor=0, max_length_offset=6, length_penalty=penalty)
    sampling = SamplingConfig(samples=3, temperature=2.0, top_k=4, top_p=0.9)
    for row, line in enumerate(sample(model, source, padding, sampling, search, prefix=prefix)):
        for tokens, score, log_prob, token_log_probs, _ in line:
            expected = teacher_forced(model, row, tokens)

            assert expected.tolist() == pytest.approx(token_log_probs)
            assert expected.sum().item() == pytest.approx(log_prob)
            assert score == pytest.approx(log_prob / (len(tokens) + 1) ** penalty)


def test_neighbours_padding_and_other_samples_do_not_matter(model):
    """The draws of a sentence depend on the seed, its own words and the number of the sample."""
    together = drawn(model, samples=3)
    wider = F.pad(source.flip(0), (0, 2), value=PAD)

    assert together[::-1] == drawn(model, wider, samples=3)
    assert [line[:1] for line in together] == drawn(model, samples=1)
    assert together[1:2] == drawn(model, source[1:2, :3], samples=3)


def test_another_seed_draws_other_samples(model):
    draws = [drawn(model, samples=4, seed=seed) for seed in (1, 2, 1)]

    assert draws[0] == draws[2] != draws[1]


def test_samples_start_with_their_prefix(model):
    for line, begun in zip(
        drawn(model, samples=4, prefix=prefix), [(), (4,), (UNK, 5)], strict=True
    ):
        assert all(tokens[: len(begun)] == begun for tokens in line)


def distribution(model, longest, sampling):
    """Return the probability of every translation of the first sentence, by enumeration."""
    probability = {}
    for length in range(longest):
        for tokens in product(range(UNK + 1, 7), repeat=length):
            target = torch.tensor([[BOS, *tokens]])
            with torch.no_grad():
                log_probs = model(source[:1], padding[:1], target)[0].log_softmax(-1)
            log_probs[:, [PAD, BOS, UNK]] = -torch.inf
            weights = shape_distribution(log_probs, sampling)
            weights = weights / weights.sum(dim=1, keepdim=True)
            if length == longest - 1:
                weights[-1] = 1.0  # the end is forced
            terms = weights.gather(1, torch.tensor([*tokens, EOS])[:, None])
            probability[tokens] = terms.prod().item()
    return probability


@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 0.5}, {"temperature": 2.0}, {"top_k": 2}, {"top_p": 0.7}],
    ids=str,
)
def test_translations_are_as_frequent_as_probable(options):
    """It is a chi-square test over all translations; improbable ones are combined."""
    samples, longest = 2000, 3
    model = Toy(3, spread=4.0)
    search = SearchConfig(max_length_factor=0, max_length_offset=longest)
    expected = distribution(model, longest, SamplingConfig(**options))
    found = Counter()
    for seed in range(samples // 1000):
        [line] = drawn(model, source[:1], search, samples=1000, seed=seed, **options)
        found.update(line)
    frequent = [tokens for tokens, p in expected.items() if p * samples >= 5]
    pairs = [(found[tokens], expected[tokens] * samples) for tokens in frequent]
    rest = samples - sum(count for count, _ in pairs), samples - sum(mean for _, mean in pairs)
    pairs += [rest] if rest[1] > 1 else []
    chi_square = sum((count - mean) ** 2 / mean for count, mean in pairs)
    degrees = len(pairs) - 1

    assert sum(expected.values()) == pytest.approx(1.0)
    assert all(expected[tokens] > 0 for tokens in found)
    assert chi_square < degrees + 3.5 * (2 * degrees) ** 0.5


logits = st.lists(st.floats(-8, 8), min_size=3, max_size=9)


@given(logits, st.floats(0.2, 3.0), st.integers(1, 9) | st.none(), st.floats(0.01, 1.0))
def test_truncation_keeps_the_fewest_sufficient_tokens(logits, temperature, top_k, top_p):
    """Kept tokens are more probable than others, reach p together, and not without the last one."""
    log_probs = torch.tensor([logits], dtype=torch.float64).log_softmax(-1)
    sampling = SamplingConfig(temperature=temperature, top_k=top_k, top_p=top_p)
    kept = shape_distribution(log_probs, sampling)[0]
    tempered = (log_probs[0] / temperature).softmax(-1)
    chosen = tempered.topk(min(top_k or len(logits), len(logits))).values
    chosen = chosen / chosen.sum()
    count = int((kept > 0).sum())

    assert torch.equal(kept[kept > 0], tempered[kept > 0])
    assert tempered[kept > 0].min() >= tempered[kept == 0].max() if count < len(kept) else True
    assert chosen[:count].sum() >= top_p - 1e-9
    assert chosen[: count - 1].sum() < top_p + 1e-9


@given(logits, st.integers(0, 2**32 - 1))
def test_noise_selects_by_the_cumulative_weight(logits, bits):
    weights = torch.tensor(logits, dtype=torch.float64).clamp(min=0)
    weights[0] += 1e-3  # at least one is possible
    place = bits / 2**32 * weights.cumsum(0)[-1].item()
    expected = next(n for n, total in enumerate(weights.cumsum(0).tolist()) if total > place)

    assert (
        draw_tokens(weights[None], torch.tensor([bits / 2**32], dtype=torch.float64)).item()
        == expected
    )
    assert weights[expected] > 0


def test_unknown_word_is_sampled_only_if_allowed():
    write = SHORT.model_copy(update={"unknown": "write"})

    assert not any(UNK in tokens for line in drawn(Toy(), samples=50) for tokens in line)
    assert any(UNK in tokens for line in drawn(Toy(), search=write, samples=50) for tokens in line)


def test_samples_end_at_their_limits():
    search = SearchConfig(max_length_factor=2, max_length_offset=1)
    found = drawn(Toy(end=-50.0), search=search, samples=5)

    assert [[10] * 5, [6] * 5, [4] * 5] == [[len(tokens) for tokens in line] for line in found]
