"""Scoring translations."""

import pytest
import torch

from nmt_core.text.vocabulary import BOS, EOS, PAD
from nmt_core.translation.likelihood import score_pairs
from nmt_core.translation.translator import Translator
from tests.support.commands import run
from tests.support.tiny import export


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return export(tmp_path_factory.mktemp("models") / "export")


def test_pairs_are_scored_by_a_translator(bundle):
    pairs = [("Das Haus", "the house"), ("Brot", ""), ("", "bread")]
    text = "".join(f"{source}\t{target}\n" for source, target in pairs)
    result = run("score", "--model", bundle, lines=text)
    expected = score_pairs(Translator.load(bundle), pairs)

    assert [f"{score.log_likelihood:.4f}" for score in expected] == [
        line.split("\t")[0] for line in result.stdout.splitlines()
    ]


def test_a_pair_scores_the_log_probabilities_of_its_target(bundle):
    loaded = Translator.load(bundle)
    source, target = (loaded.source.ids(line) for line in ("Das Haus", "the house"))
    read = torch.tensor([[*source, EOS]])
    logits = loaded.full.model(read, read == PAD, torch.tensor([[BOS, *target]]))
    worth = logits.log_softmax(-1)[0].gather(1, torch.tensor([*target, EOS])[:, None])
    [score] = score_pairs(loaded, [("Das Haus", "the house")])

    assert score.log_likelihood == pytest.approx(worth.sum().item(), rel=1e-5)
    assert (score.tokens, score.characters) == (len(target) + 1, 10)


def test_what_cannot_be_scored_is_told(bundle):
    both = ("--model", "a", "--language-model", "b")
    for arguments in (("score",), ("score", *both)):
        assert "say what to score with" in run(*arguments).stderr
    told = run("score", "--model", bundle, lines="a\n").stderr
    assert "line 1 of the input has 1 fields" in told
