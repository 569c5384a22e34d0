"""Sampled subwords are those of the line, with the right probabilities, and reproducible."""

import functools
import itertools
import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import chisquare

from nmt_core.base.errors import ConfigError
from nmt_core.base.random import make_generator
from nmt_core.data.batch import Position, TrainingBatches
from nmt_core.data.drawn_pairs import SampledPairs
from nmt_core.data.settings import BucketBatching, TokenBatching
from nmt_core.text import Characters, Subwords
from nmt_core.text.subword_sampling import SubwordSampler, SubwordSampling
from nmt_core.text.subwords import SubwordConfig
from nmt_core.text.vocabulary import EOS, UNK
from tests.support.subword_pairs import KINDS, LINES, drawn, sampler, subwords, write_lines

DRAWS = 4000
WORD = "placemarket"


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def dataset(kind, tmp_path_factory):
    return write_lines(tmp_path_factory.mktemp("pairs") / "train", kind)


def numbers_of(kind, line):
    own = subwords(KINDS[kind])
    return own.vocabulary.encode(own.encode(line))


def text_of(kind, numbers):
    own = subwords(KINDS[kind])
    return own.decode(own.vocabulary.decode(numbers))


def segmentations(kind, **settings):
    """Return the frequency of each segmentation of the word."""
    own, best = sampler(kind, **settings), numbers_of(kind, WORD)
    drawn = (own.sample(best, make_generator(1, "draw", number)) for number in range(DRAWS))
    tokens = subwords(KINDS[kind]).vocabulary.tokens
    return Counter(tuple(tokens[number] for number in numbers) for numbers in drawn)


def assert_drawn_by(probabilities, counts):
    """Segmentations with fewer than five draws are compared by their sum."""
    assert sum(probabilities.values()) == pytest.approx(1)
    assert counts.keys() <= probabilities.keys()
    common = [found for found, share in probabilities.items() if share * DRAWS >= 5]
    expected = [probabilities[found] * DRAWS for found in common]
    found = [counts[found] for found in common]
    if (rest := DRAWS - sum(expected)) > 1:
        expected.append(rest)
        found.append(DRAWS - sum(found))
    else:
        expected = np.array(expected) * sum(found) / sum(expected)

    assert len(common) > 3
    assert chisquare(found, expected).pvalue > 0.001


def cuts(word):
    """Return all segmentations of the word."""
    for bits in range(2 ** (len(word) - 1)):
        places = [0, *(n + 1 for n in range(len(word) - 1) if bits >> n & 1), len(word)]
        yield tuple(word[one:other] for one, other in pairwise(places))


@pytest.mark.parametrize("alpha", [0.6, 0.2])
def test_unigram_samples_by_a_power_of_the_probability(alpha):
    """It covers all possible segmentations."""
    scores = {piece: score for piece, (_, score) in subwords("unigram").scored_pieces.items()}
    possible = [cut for cut in cuts(f"▁{WORD}") if all(piece in scores for piece in cut)]
    weights = np.exp([alpha * sum(scores[piece] for piece in cut) for cut in possible])

    assert_drawn_by(
        dict(zip(possible, weights / weights.sum(), strict=True)),
        segmentations("unigram", alpha=alpha),
    )


def dropout_probabilities(word, ranks, dropout):
    """Return the probability of each segmentation by the article's algorithm, merge by merge."""

    @functools.cache
    def follow(symbols):
        possible = sorted(
            (ranks[one + other], place)
            for place, (one, other) in enumerate(pairwise(symbols))
            if one + other in ranks
        )
        found = Counter()
        for kept in itertools.product((False, True), repeat=len(possible)):
            share = math.prod(1 - dropout if keeps else dropout for keeps in kept)
            if not any(kept):
                found[symbols] += share
                continue
            _, place = next(itertools.compress(possible, kept))
            merged = symbols[place] + symbols[place + 1]
            after = (*symbols[:place], merged, *symbols[place + 2 :])
            for segmentation, probability in follow(after).items():
                found[segmentation] += share * probability
        return found

    return follow(tuple(word))


@pytest.mark.parametrize("dropout", [0.1, 0.5])
def test_merges_are_dropped_with_their_probability(dropout):
    ranks = {piece: -score for piece, (_, score) in subwords("bpe").scored_pieces.items()}

    assert_drawn_by(
        dropout_probabilities(f"▁{WORD}", ranks, dropout),
        segmentations("bpe_dropout", dropout=dropout),
    )


@given(line=st.text(), seed=st.integers(0, 2**63 - 1))
@example("<s> </s> <unk> <pad> <0x41>", 1)
@example("Der Hund 日本語 \N{GRINNING FACE} 2014", 2**32 - 1)
def test_sampled_pieces_make_the_same_line(kind, line, seed):
    numbers = numbers_of(kind, line)

    drawn = sampler(kind).sample(numbers, make_generator(seed))

    assert text_of(kind, drawn) == text_of(kind, numbers)


@given(line=st.text(), seed=st.integers(0, 2**63 - 1))
@example("<s> </s> <unk> <pad> <0x41>", 1)
def test_best_segmentation_without_randomness(line, seed):
    """Either no merge is dropped, or the power is so high that only equal segmentations compete."""
    draw, bpe, unigram = make_generator(seed), *(numbers_of(kind, line) for kind in KINDS)
    scores = dict(subwords("unigram").scored_pieces.values())
    drawn = sampler("unigram", alpha=100.0).sample(unigram, draw)

    assert sampler("bpe_dropout", dropout=0.0).sample(bpe, draw) == bpe
    assert sum(scores.get(number, 0.0) for number in drawn) == pytest.approx(
        sum(scores.get(number, 0.0) for number in unigram), abs=0.2
    )


def test_unknown_token_stays_in_place():
    text = [side for pair in LINES for side in pair] * 5
    small = SubwordConfig().model_copy(update={"vocab_size": 120, "byte_fallback": False})
    own = Subwords.train(text, small)
    numbers = own.vocabulary.encode(own.encode("Garten 日本 Garten"))

    config = SubwordSampling(kind="bpe_dropout", dropout=0.99)
    drawn = SubwordSampler(config, own).sample(numbers, make_generator(1))

    assert numbers.count(UNK) == 1
    assert drawn.count(UNK) == 1
    assert len(drawn) > len(numbers)


def test_other_names_give_other_draws(tmp_path, kind):
    """Each of seed, epoch, pair and side alone changes the draw."""
    same = write_lines(tmp_path / "same", kind, [("the garden house",) * 2] * 20)
    sample = drawn(same, kind)
    first = [tuple(map(tuple, sample(n, 0))) for n in range(20)]

    assert len({*first}) > 10
    assert any(source != target for source, target in first)
    for other, epoch in ((sample, 1), (drawn(same, kind, seed=6), 0)):
        for side in (0, 1):
            assert sum(tuple(other(n, epoch)[side]) != first[n][side] for n in range(20)) > 5


@pytest.mark.parametrize("side", ["source", "target"])
def test_other_side_may_keep_the_best_segmentation(kind, dataset, side):
    both = drawn(dataset, kind)
    own, sides = both.__self__.source, ("source", "target")
    asked = {name: own if name == side else None for name in sides}
    one = SampledPairs(dataset.draw, **asked, seed=both.__self__.seed).draw
    of = sides.index(side)

    for number in range(len(LINES)):
        assert [*one(number, 0)[1 - of]] == [*dataset[number][1 - of]]
        assert [*one(number, 0)[of]] == [*both(number, 0)[of]]
    assert any([*one(number, 0)[of]] != [*dataset[number][of]] for number in range(len(LINES)))


@pytest.mark.parametrize(
    "config", [TokenBatching(max_tokens=50, pool_batches=3), BucketBatching(batch_size=3)]
)
def test_batches_have_the_sampled_pairs(kind, dataset, config):
    """Each epoch samples every pair once; some batches at a time are formed anew."""
    sample = drawn(dataset, kind)
    seen, open_pairs = Counter(), set()
    together = 1 if isinstance(config, BucketBatching) else config.pool_batches
    both = zip(
        TrainingBatches(dataset, config, 3, sample).start_from(Position()),
        TrainingBatches(dataset, config, 3).start_from(Position()),
        strict=True,
    )
    for share, planned in both:
        epoch = share.after.epoch - (share.after.batch == 0)
        if epoch == 3:
            break
        assert share.after == planned.after
        open_pairs ^= {*share.pairs} ^ {*planned.pairs}
        if not share.after.batch or share.after.batch % together == 0:
            assert not open_pairs
        seen.update((epoch, pair) for pair in share.pairs)
        for row, pair in zip(share.batch.source.tolist(), share.pairs, strict=True):
            source, _ = sample(pair, epoch)

            assert row[: len(source) + 1] == [*source, EOS]
        assert share.target_tokens == share.batch.target_tokens
    assert {*seen.values()} == {1}
    assert len(seen) == 3 * len(LINES)


@pytest.mark.parametrize(
    ("kind", "tokenizer", "got"),
    [
        ("bpe_dropout", "unigram", "'bpe', got unigram"),
        ("unigram", "bpe", "'unigram', got bpe"),
        ("unigram", None, "'unigram', got no subwords"),
    ],
)
def test_unsupported_tokenizer_is_an_error(kind, tokenizer, got):
    own = subwords(tokenizer) if tokenizer else Characters()
    with pytest.raises(ConfigError, match=f"needs a tokenizer of model_type {got}; choose"):
        SubwordSampler(SubwordSampling(kind=kind), own)
