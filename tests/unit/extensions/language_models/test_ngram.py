"""N-grams: the textbook's numbers, and a slow implementation of the textbook."""

from collections import Counter, defaultdict

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from nmt_core.extensions.language_models.ngram import (
    NGram,
    NGramConfig,
    Smoothing,
    estimate_discount,
)
from nmt_core.extensions.language_models.reading import UnitConfig, learn_units
from nmt_core.text.vocabulary import BOS, EOS

TOY = "i am from pittsburgh .\ni study at a university .\nmy mother is from utah .\n"
WORDS = 8
LIKELIHOOD = Smoothing(kind="maximum_likelihood")
lines = st.lists(st.lists(st.integers(4, WORDS - 1), max_size=6), min_size=1, max_size=8)
orders = st.integers(1, 4)
few = settings(max_examples=40)


def text_of(lines):
    return np.array([token for line in lines for token in (BOS, *line, EOS)])


def toy(order, smoothing=LIKELIHOOD):
    units = learn_units(UnitConfig(kind="word", min_count=1), TOY)
    config = NGramConfig(order=order, smoothing=smoothing)
    return units, NGram.count(config, len(units.vocabulary), units.encode(TOY))


def probability(units, model, context, word):
    before = torch.tensor([[BOS, *units.vocabulary.encode(context.split())]])
    [number] = units.vocabulary.encode([word])
    return model(before)[0, -1, number].exp().item()


@pytest.mark.parametrize(
    ("context", "word", "expected"),
    [
        ("i", "am", 1 / 2),
        ("i", "study", 1 / 2),
        ("", "i", 2 / 3),
        ("", "my", 1 / 3),
        ("my mother is from", "utah", 1 / 2),
        ("i am", "from", 1.0),
    ],
)
def test_likelihood_is_a_relative_frequency(context, word, expected):
    """The three sentences of the textbook, as bigrams."""
    assert probability(*toy(2), context, word) == pytest.approx(expected)


def test_a_shorter_context_gives_unseen_sentences_probability():
    """No sentence starts with "i am from utah"; all its bigrams were seen."""
    assert probability(*toy(5), "i am from", "utah") == 0.0
    assert probability(*toy(2), "i am from", "utah") == pytest.approx(0.5)


def slow_counts(lines, order):
    """Return counts of k-grams by length; k-grams do not cross the start of a line."""
    counts = defaultdict(Counter)
    for line in lines:
        padded = (BOS, *line, EOS)
        for end in range(1, len(padded)):
            for k in range(1, min(order, end + 1) + 1):
                counts[k][padded[end - k + 1 : end + 1]] += 1
    return counts


def slow_continuations(counts, order):
    """Return after how many tokens each k-gram was seen, unless it is longest or opens a line."""
    continuing = {order: counts[order]}
    for k in range(1, order):
        before = defaultdict(set)
        for gram in counts[k + 1]:
            before[gram[1:]].add(gram[0])
        continuing[k] = {
            gram: count if gram[0] == BOS else len(before[gram])
            for gram, count in counts[k].items()
        }
    return continuing


def slow_kneser_ney(lines, order):
    """Return a function of a context and a token, by the definition, with loops."""
    counts = slow_continuations(slow_counts(lines, order), order)
    discounts = {}
    for k, grams in counts.items():
        once = sum(count == 1 for count in grams.values())
        twice = sum(count == 2 for count in grams.values())
        discounts[k] = once / (once + 2 * twice) if once else 0.5

    def p(context, token):
        if context is None:
            return 1 / (WORDS - 2)
        shorter = p(context[1:] if context else None, token)
        k = len(context) + 1
        after = {gram[-1]: n for gram, n in counts[k].items() if gram[:-1] == context}
        if not after:
            return shorter
        total = sum(after.values())
        left = sum(min(n, discounts[k]) for n in after.values()) / total
        return max(after.get(token, 0) - discounts[k], 0) / total + left * shorter

    return p


@few
@given(lines, orders, st.lists(st.integers(3, WORDS - 1), max_size=4))
def test_kneser_ney_is_the_textbooks(lines, order, read):
    model = NGram.count(NGramConfig(order=order), WORDS, text_of(lines))
    slow = slow_kneser_ney(lines, order)
    before = (BOS, *read)
    got = model(torch.tensor([before]))[0, -1].exp()
    context = before[max(0, len(before) - order + 1) :]

    for token in range(EOS, WORDS):
        assert got[token].item() == pytest.approx(slow(context, token), abs=1e-12)


@pytest.mark.parametrize("smoothing", [LIKELIHOOD, Smoothing()])
@few
@given(lines, orders, st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=6))
def test_probabilities_sum_to_one_after_any_context(smoothing, lines, order, read):
    config = NGramConfig(order=order, smoothing=smoothing)
    total = NGram.count(config, WORDS, text_of(lines))(torch.tensor([read])).exp().sum(-1)

    assert_close(total, torch.ones_like(total))


@pytest.mark.parametrize("smoothing", [LIKELIHOOD, Smoothing()])
@few
@given(lines, orders)
def test_one_lookup_equals_the_full_distribution(smoothing, lines, order):
    text = text_of(lines)
    model = NGram.count(NGramConfig(order=order, smoothing=smoothing), WORDS, text)
    tokens = torch.from_numpy(text)[None]
    hidden, _ = model.decode(tokens, model.start(1))
    for word in range(WORDS):
        wanted = torch.full_like(tokens, word)

        assert_close(model.log_likelihood(hidden, wanted), model.log_probs(hidden)[..., word])


def test_discounts_follow_the_counts_of_counts():
    assert estimate_discount(torch.tensor([1, 1, 1, 2, 5, 0])) == 3 / 5
    assert estimate_discount(torch.tensor([2, 4])) == 0.5


def test_an_empty_text_is_refused():
    with pytest.raises(ValueError, match="the text is empty"):
        NGram.count(NGramConfig(), WORDS, np.array([BOS]))
