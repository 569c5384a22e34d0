import pytest
import torch
import torch.nn.functional as F

from nmt_core.data.batch import collate
from nmt_core.evaluation.quality import (
    compute_length_ratio,
    compute_unknown_rate,
    count_failures,
    count_kept_literals,
)
from nmt_core.text.vocabulary import UNK
from nmt_core.training.loss import measure_predictions
from tests.support.presets import tiny_model

NONE = dict.fromkeys(("empty", "copied", "looping", "too_long", "detached_full_stop"), 0)


@pytest.mark.parametrize(
    ("source", "hypothesis", "reference", "kinds"),
    [
        ("Die Eule liest.", "The owl reads.", "An owl reads.", []),
        ("Die Eule liest.", "", "The owl reads.", ["empty"]),
        ("Die Eule liest.", "  ", "The owl reads.", ["empty"]),
        ("", "", "", []),
        (" ", "", "The owl.", []),
        ("Berlin", "Berlin", "Berlin", []),
        ("Die Eule", "Die Eule ", "The owl", ["copied"]),
        ("Ja, ja", "yes yes yes", "yes", ["looping"]),
        ("Ja ja ja", "yes yes yes", "yes yes yes", []),
        ("Eule", " ".join("abcdefghijklmn"), "one two three four", []),
        ("Eule", " ".join("abcdefghijklmno"), "one two three four", ["too_long"]),
        ("Die Eule.", "The owl .", "The owl.", ["detached_full_stop"]),
        ("Die Eule .", "The owl .", "The owl .", []),
        ("Eule", "well " * 15, "one two three four", ["looping", "too_long"]),
    ],
)
def test_output_that_is_no_translation_is_counted(source, hypothesis, reference, kinds):
    expected = NONE | dict.fromkeys(kinds, 1)
    assert expected == count_failures([source], [hypothesis], [reference])


def test_failures_are_counted_in_the_languages_words():
    failures = count_failures(
        ["a", "b", "c", "d", "e"],
        ["好的好的好的", "我们都知道在保护自然与增长之间找到平衡有多么困难", "很好", "", ""],
        ["好", "我们都知道", "很好", "x", "y"],
        cut=list,
    )

    assert failures == NONE | {"empty": 2, "looping": 1, "too_long": 1}


@pytest.mark.parametrize(
    ("hypotheses", "references", "cut", "ratio"),
    [
        (["one two three", "four"], ["one", "two three four five six seven"], str.split, 4 / 7),
        (["one two"], [""], str.split, 2),
        ([], [], str.split, 0),
        (["我们都", "很好"], ["我们", "很好好"], list, 1),
        (["我们都知道"], ["我们"], list, 5 / 2),
    ],
)
def test_length_ratio_is_of_all_words(hypotheses, references, cut, ratio):
    assert compute_length_ratio(hypotheses, references, cut=cut) == ratio


@pytest.mark.parametrize(("lines", "rate"), [([[4, UNK], [], [4, UNK, UNK]], 3 / 5), ([], 0)])
def test_unknown_rate_is_per_token(lines, rate):
    assert compute_unknown_rate(lines) == rate


def summed_by_torch(model, pair):
    """Return the cross entropy of a pair's target, and how many of its tokens are the likeliest."""
    batch = collate([pair])
    logits = model(batch.source, batch.source_padding, batch.target_input)[0]
    [target] = batch.target_output
    loss = F.cross_entropy(logits, target, reduction="sum").item()
    return loss, sum((logits.argmax(dim=1) == target).tolist())


def test_predictions_are_measured_in_any_batches():
    """Sentences of few tokens weigh less; EOS counts, padding does not.

    So small a model with tied embeddings predicts the last word again.
    """
    pairs = [([4, 5, 6], [4, 5]), ([8], [6, 5, 5, 5, 8, 8]), ([4, 4, 5], [])]
    model = tiny_model("transformer").eval()
    together = measure_predictions(model, [collate(pairs)])
    apart = measure_predictions(model, [collate(pairs[:1]), collate(pairs[1:])])
    with torch.inference_mode():
        losses, right = zip(*(summed_by_torch(model, pair) for pair in pairs), strict=True)

    assert together == pytest.approx((sum(losses) / 11, 100 * sum(right) / 11), rel=1e-5)
    assert apart == pytest.approx(together, rel=1e-5)
    assert 0 < together[1] < 100


def test_without_sentences_nothing_is_wrong():
    assert measure_predictions(tiny_model("transformer"), []) == (0, 0)


def test_literals_count_where_references_keep_them():
    sources = ["94 Stimmen", "um 5", "kein", "{x} und 7", "1.000,5"]
    references = ["94 votes", "at five", "none", "{x} and 7", "1,000.5"]
    hypotheses = ["94 votes", "at 6", "4", "{x} and", "1.000,5"]
    counted = count_kept_literals(sources, hypotheses, references, ("de", "en"))
    assert (counted.lines, counted.kept) == (4, 2)
