"""Laws of every kind of language model."""

from itertools import product

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from nmt_core.base.config import build
from nmt_core.base.random import make_generator
from nmt_core.extensions.language_models.model import (
    TextModel,
    line_log_likelihoods,
    stream_log_likelihoods,
)
from nmt_core.extensions.language_models.neural import (
    FeedForwardConfig,
    RecurrentConfig,
    TransformerLanguageConfig,
)
from nmt_core.extensions.language_models.ngram import NGram, NGramConfig, Smoothing
from nmt_core.extensions.language_models.reading import learn_units
from nmt_core.extensions.language_models.training import (
    LearningConfig,
    build_language_model,
    train_language_model,
)
from nmt_core.text.vocabulary import BOS, EOS, PAD
from tests.support.language_models import Log

WORDS = 9
SHAPE = {"width": 8, "embedding_width": 8}
KINDS = {
    "unigram": NGramConfig(order=1),
    "likelihood": NGramConfig(order=2, smoothing=Smoothing(kind="maximum_likelihood")),
    "kneser_ney": NGramConfig(order=4),
    "feed_forward": FeedForwardConfig(order=3, **SHAPE),
    "lstm": RecurrentConfig(**SHAPE),
    "lstm_of_one": RecurrentConfig(layers=1, stateful=False, **SHAPE),
    "one_hot": RecurrentConfig(input="one_hot", layers=1, **SHAPE),
    "tanh": RecurrentConfig(cell="tanh", state_dropout=0.3, **SHAPE),
    "gru": RecurrentConfig(cell="gru", tie=True, **SHAPE),
    "transformer": TransformerLanguageConfig(layers=2, width=8, heads=2, feed_forward_width=16),
    "short_transformer": TransformerLanguageConfig(layers=2, width=8, heads=2, context=4),
    "rotary_transformer": TransformerLanguageConfig(
        layers=2, width=8, heads=2, context=6, positions="rotary"
    ),
}
tokens = torch.tensor([[BOS, 4, 5, 6, 7], [BOS, 6, 4, 3, 8], [BOS, 5, 5, 4, 4]])


def learnt_text():
    draw = make_generator(0, "lines")
    rows = [[BOS, *draw.integers(4, WORDS, 5).tolist(), EOS] for _ in range(60)]
    return np.array([token for row in rows for token in row])


def tiny(name):
    config = KINDS[name]
    if isinstance(config, NGramConfig):
        return NGram.count(config, WORDS, learnt_text()).eval()
    torch.manual_seed(0)
    model = build_language_model(config, WORDS).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model


@pytest.fixture(params=KINDS)
def model(request):
    return tiny(request.param)


def test_stepping_equals_teacher_forcing(model):
    state, steps = model.start(len(tokens)), []
    for token in tokens.unbind(dim=1):
        hidden, state = model.decode(token[:, None], state)
        steps.append(model.log_probs(hidden[:, 0]))

    assert_close(torch.stack(steps, dim=1), model(tokens))


def test_cuts_of_a_text_do_not_matter(model):
    first, state = model.decode(tokens[:, :2], model.start(len(tokens)))
    second, _ = model.decode(tokens[:, 2:], state)

    assert_close(model.log_probs(torch.cat([first, second], dim=1)), model(tokens))


def test_future_is_invisible(model):
    changed = tokens.clone()
    changed[:, 2] = 3

    assert_close(model(changed)[:, :2], model(tokens)[:, :2])


def test_past_matters(model):
    changed = tokens.clone()
    changed[:, 2] = 8
    alike = torch.allclose(model(changed)[:, 2], model(tokens)[:, 2])

    assert alike == (getattr(model.config, "order", 2) == 1)


def test_rows_are_independent(model):
    together = model(tokens)
    for row in range(len(tokens)):
        assert_close(model(tokens[row : row + 1])[0], together[row])


def test_selecting_commutes_with_stepping(model):
    rows = torch.tensor([2, 0, 0, 1])
    _, state = model.decode(tokens[:, :2], model.start(len(tokens)))
    after, _ = model.decode(tokens[:, 2:3], state)
    before, _ = model.decode(tokens[rows, 2:3], state.select(rows))

    assert_close(model.log_probs(before), model.log_probs(after)[rows])


def test_log_probabilities_are_a_distribution(model):
    p = model(tokens).exp()

    assert_close(p.sum(dim=-1), torch.ones(tokens.shape, dtype=p.dtype))
    assert (p[..., [PAD, BOS]] == 0).all()


def test_scores_do_not_depend_on_chunks(model, monkeypatch):
    """Chunks of a stream and batches of lines are internal to the program."""
    rows = [row.tolist()[:length] for row, length in zip(tokens, (5, 2, 4), strict=True)]
    stream = [token for row in rows for token in row]
    whole, each = stream_log_likelihoods(model, stream), line_log_likelihoods(model, rows)
    for name, value in (("CHUNK_TOKENS", 2), ("BATCH_TOKENS", 1), ("ROWS_PER_SOFTMAX", 3)):
        monkeypatch.setattr(f"nmt_core.extensions.language_models.model.{name}", value)

    np.testing.assert_allclose(stream_log_likelihoods(model, stream), whole)
    for one, other in zip(line_log_likelihoods(model, rows), each, strict=True):
        np.testing.assert_allclose(one, other)


def test_lines_are_scored_alone_unless_stateful(model):
    rows = [row.tolist() for row in tokens]
    together = np.concatenate(line_log_likelihoods(model, rows))
    alone = np.concatenate([stream_log_likelihoods(model, row) for row in rows])

    assert np.allclose(together, alone) == (not model.is_stateful)


def learn(folder, lines, model, **training):
    config = build(
        LearningConfig,
        {
            "model": model,
            "unit": {"kind": "word", "split": "whitespace", "min_count": 1},
            "training": training,
        },
        at="learn",
    )
    units = learn_units(config.unit, "\n".join(lines))
    text = units.encode("\n".join(lines))
    learnt, _ = train_language_model(
        config,
        units,
        training=text,
        validation=text[:200],
        checkpoints=folder,
        display=lambda _: Log(),
    )
    return TextModel(learnt, units)


@torch.inference_mode()
def log_odds(model, begin, yes, no):
    """Return the difference of log-probabilities of two words after a prefix, in nats."""
    numbers = model.units.vocabulary.encode([*begin.split(), yes, no])
    following = model.model(torch.tensor([[BOS, *numbers[:-2]]]))[0, -1]
    return (following[numbers[-2]] - following[numbers[-1]]).item()


# --- combinations

PEOPLE, CATTLE = ("farmers", "bakers", "teachers"), ("cows", "horses", "goats")
EATING, GROWING = ("eat", "chew", "consume"), ("grow", "plant", "cut")
CLAUSES = [
    (subject, verb, "steak" if subject in PEOPLE and verb in EATING else "hay")
    for subject, verb in product(PEOPLE + CATTLE, EATING + GROWING)
    if subject in PEOPLE or verb in EATING
]
UNHEARD = [clause for clause in CLAUSES if clause[:2] in {("bakers", "chew"), ("goats", "chew")}]
"""Unseen sentences, whose words occur in the same positions as similar words."""

NEVER = [(subject, verb) for subject in CATTLE for verb in GROWING]
"""Cattle grow nothing: neither steak nor hay."""


def clauses():
    """Lines in which both kinds of food are equally frequent after "eat", "chew" and "consume"."""
    said = [" ".join(clause) for clause in CLAUSES if clause not in UNHEARD]
    idle = [f"{subject} {verb} nothing" for subject, verb in NEVER]
    return 4 * (said + idle)


def ranks_right(model, clause):
    subject, verb, food = clause
    other = "hay" if food == "steak" else "steak"
    return log_odds(model, f"{subject} {verb}", food, other) > 1


@pytest.fixture(scope="module")
def feed_forward(tmp_path_factory):
    return learn(
        tmp_path_factory.mktemp("clauses"),
        clauses(),
        {"kind": "feed_forward", "order": 3, "embedding_width": 8, "width": 16, "dropout": 0.0},
        epochs=12,
        rows=8,
        schedule={"kind": "warmup_decay", "learning_rate": 0.02},
    )


def test_neural_ngram_ranks_unseen_sentences(feed_forward):
    """It was trained on other people and other cattle, which chew the same food."""
    assert len(UNHEARD) == 2
    assert all(ranks_right(feed_forward, clause) for clause in UNHEARD)


def test_neural_ngram_knows_who_grows_nothing(feed_forward):
    for subject, verb in NEVER:
        for food in ("steak", "hay"):
            assert log_odds(feed_forward, f"{subject} {verb}", "nothing", food) > 1


def test_bigrams_do_not_distinguish_subjects(tmp_path):
    """The words after "eat" do not depend on its subject; for one subject the ranking is wrong."""
    model = learn(tmp_path, clauses(), {"kind": "ngram", "order": 2})

    for verb in EATING:
        odds = {log_odds(model, f"{who} {verb}", "steak", "hay") for who in PEOPLE + CATTLE}
        assert len(odds) == 1


# --- long distances

LSTM = {"kind": "rnn", "layers": 1, "embedding_width": 32, "width": 64, "stateful": False}
WINDOW = {"kind": "feed_forward", "order": 5, "embedding_width": 32, "width": 170}
"""The number of weights is the LSTM's, and the context is four words."""

PHRASES = ("very much trust or", "so little hope and", "any kind of faith nor", "much of the old")


def draw_phrases(draw, least):
    return " ".join(draw.choice(PHRASES, draw.integers(least, 4)))


def confidence(draw, least):
    """Return a prefix of "he does not have ... confidence in himself", and the line."""
    he, she = draw.permutation([("he", "himself"), ("she", "herself")]).tolist()
    begin = f"{he[0]} does not have {draw_phrases(draw, least)} confidence in"
    return [(begin, he[1], she[1])], f"{begin} {he[1]}"


def abdication(draw, least):
    """Return prefixes of news about a monarch and an heir, each a man or a woman, and the line."""
    now, _ = draw.permutation([("king", "his", "her"), ("queen", "her", "his")]).tolist()
    heir, not_heir = draw.permutation([("son", "king"), ("daughter", "queen")]).tolist()
    begin = f"the spanish {now[0]} abdicated {draw_phrases(draw, least)} in favour of"
    middle = f"{begin} {now[1]} {heir[0]} who has {draw_phrases(draw, least)} and will be the new"
    return [(begin, now[1], now[2]), (middle, heir[1], not_heir[1])], f"{middle} {heir[1]}"


def share_right(model, questions):
    return sum(log_odds(model, *question) > 0 for question in questions) / len(questions)


@pytest.mark.slow
@pytest.mark.parametrize("write", [confidence, abdication])
def test_recurrent_model_remembers_beyond_a_window(tmp_path, write):
    """Test lines have at least eight words in between; training lines may have fewer."""
    draw = make_generator(1, "train")
    lines = [write(draw, least=0)[1] for _ in range(1500)]
    draw = make_generator(1, "test")
    asked = list(zip(*(write(draw, least=2)[0] for _ in range(300)), strict=True))
    found, sizes = {}, {}
    for name, shape in {"lstm": LSTM, "window": WINDOW}.items():
        model = learn(
            tmp_path / name,
            lines,
            {**shape, "dropout": 0.0},
            epochs=12,
            rows=16,
            schedule={"kind": "warmup_decay", "learning_rate": 0.01},
        )
        sizes[name] = sum(weight.numel() for weight in model.model.parameters())
        found[name] = [share_right(model, questions) for questions in asked]

    assert sizes["window"] == pytest.approx(sizes["lstm"], rel=0.1)
    assert min(found["lstm"]) >= 0.95
    assert all(0.4 <= share <= 0.6 for share in found["window"])
