"""Validation scores: of the right lines, in their order, with the language's words."""

import pytest
import torch

from nmt_core.base.compute import Compute
from nmt_core.evaluation import validation
from nmt_core.evaluation.registry import load_metric
from nmt_core.evaluation.validation import score_greedy
from nmt_core.text.side import Side
from nmt_core.text.vocabulary import EOS, PAD, SPECIALS, Vocabulary

WORDS = [
    *("the", "council", "has", "met", "in", "an", "old", "house"),
    *("and", "said", "what", "it", "will", "do", "next", "year"),
]
VOCABULARY = Vocabulary([*SPECIALS, *WORDS])
LINES = [" ".join(WORDS[first:last]) for last in range(16, 4, -1) for first in range(last - 4)]


class Joined:
    """A tokenizer that joins tokens by spaces."""

    def decode(self, tokens):
        return " ".join(tokens)


@pytest.fixture
def seen(monkeypatch):
    """Make a model copy its source; collect the batches that it sees."""
    batches = []

    def copy(model, source, padding, longest):
        assert (source == PAD).equal(padding)
        assert longest.tolist() == (2 * (~padding).sum(dim=1) + 10).tolist()
        batches.append(source.tolist())
        return [[token for token in row if token not in (PAD, EOS)] for row in source.tolist()]

    monkeypatch.setattr(validation, "greedy_search", copy)
    return batches


def score(references=LINES, language="en", **changes):
    given = {
        "metric": load_metric("bleu", language),
        "sources": LINES,
        "source_numbers": [VOCABULARY.encode(line.split()) for line in LINES],
        "references": references,
        "target": Side(Joined(), VOCABULARY),
        "compute": Compute(torch.device("cpu"), torch.float32),
    }
    return score_greedy(None, **given | changes)


@pytest.mark.parametrize("together", [1, 7, 1000])
def test_copying_model_is_right_in_every_line(seen, together, monkeypatch):
    """Lines become shorter and shorter, and are translated from the shortest on."""
    monkeypatch.setattr(validation, "BATCH_SENTENCES", together)
    assert score() == pytest.approx(100)
    assert sum(map(len, seen)) == len(LINES)
    assert max(map(len, seen)) == min(together, len(LINES))


def test_model_is_wrong_where_the_references_differ(seen):
    assert 0 < score(references=LINES[::-1]) < 99


def test_text_without_spaces_has_words_of_its_own(seen):
    hanzi = Vocabulary([*SPECIALS, *"欧洲议会昨天批准了这项建"])
    numbers = hanzi.encode("欧洲议会昨天批准了这项建")
    chinese = {
        "source_numbers": [numbers[:size] for size in range(12, 4, -1)],
        "references": ["欧洲议会昨天批准了这项建"[:size] for size in range(12, 4, -1)],
        "target": Side(type("Glued", (), {"decode": lambda _, tokens: "".join(tokens)})(), hanzi),
    }

    assert score(language="zh", **chinese) == pytest.approx(100)
    assert score(language="en", **chinese) == 0
