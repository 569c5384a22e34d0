"""What a text is worth, against the figures of Vahid 2017, "Evaluation of Accuracy"."""

import math

import pytest

from nmt_core.extensions.language_models.text_model import TextModel
from nmt_core.extensions.language_models.training import mean_loss
from nmt_core.extensions.language_models.units import Units, Words, WordUnit
from nmt_core.search.score import LogLikelihood
from tests.support.table_model import END, Table, TableLanguageModel

LINES = ["i am from pittsburg", "i study at a university", "my mother is from utah"]
PROBABILITIES = [2.1e-6, 1.1e-8, 2.0e-9]
DECIMAL = [-5.67, -7.96, -8.70]
"""Their logarithms to the base of 10 as the slides print them, of which the first is cut off."""

WORDS, ENDS = 4 + 5 + 5, 3


def sentence_model():
    """Holds each line as likely as the slides do; its end has what its words leave of that."""
    rows = {(): {"i": 0.3, "my": 0.3}}
    for line, probability in zip(LINES, PROBABILITIES, strict=True):
        words = line.split()
        for place in range(1, len(words)):
            rows.setdefault(tuple(words[:place]), {})[words[place]] = 0.02
        rows[tuple(words)] = {END: probability / (0.3 * 0.02 ** (len(words) - 1))}
    table = Table(rows, otherwise={})
    return TextModel(
        TableLanguageModel(table), Units(WordUnit(), Words("whitespace"), table.vocabulary)
    )


@pytest.fixture(scope="module")
def scores():
    return sentence_model().score(LINES)


def test_log_likelihoods_are_those_of_the_slides(scores):
    """The slides use the base of 10, our scores nats."""
    decimal = [score.log_likelihood / math.log(10) for score in scores]

    assert decimal == pytest.approx(DECIMAL, abs=0.01)
    assert [math.exp(score.log_likelihood) for score in scores] == pytest.approx(PROBABILITIES)


def test_the_log_likelihood_of_a_text_is_the_sum_of_its_lines(scores):
    total = LogLikelihood()
    for score in scores:
        total = total.plus(score)

    assert total.log_likelihood / math.log(10) == pytest.approx(-22.33, abs=0.01)
    assert math.exp(total.log_likelihood) == pytest.approx(4.62e-23)
    assert (total.tokens, total.unknown) == (WORDS + ENDS, 0)


def test_perplexity_is_the_root_of_the_likelihood_by_length(scores):
    """Ends count, for a line's probability holds that of its end (T + 1 factors).

    The slides divide by words alone, which makes 39.4 of our 20.6. Their exponential of a
    logarithm to the base of 10 would make 4.9, and is a slip.
    """
    total = scores[0].plus(scores[1]).plus(scores[2])
    by_words = total._replace(tokens=WORDS)

    assert total.perplexity == pytest.approx(4.62e-23 ** (-1 / (WORDS + ENDS)))
    assert total.perplexity == pytest.approx(20.6, abs=0.05)
    assert by_words.perplexity == pytest.approx(39.4, abs=0.05)


def test_a_validation_sees_the_same(scores):
    """The loss that training shows is the logarithm of that perplexity."""
    text = sentence_model()
    tokens = text.units.encode("\n".join(LINES))
    loss = mean_loss(text.model, tokens, document=False)

    assert math.exp(loss) == pytest.approx(4.62e-23 ** (-1 / (WORDS + ENDS)))


def test_a_text_of_a_word_is_validated_as_any_other():
    """And one of no word, which says nothing, is worth nothing."""
    text = sentence_model()
    tokens = text.units.encode("i")[:2]  # BOS and the word

    assert mean_loss(text.model, tokens, document=True) == pytest.approx(-math.log(0.3))
    assert mean_loss(text.model, tokens[:1], document=True) == 0
