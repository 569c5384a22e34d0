"""What the evaluation counts and writes; the stage as a whole is in integration."""

import pytest

from nmt_core.decoding.translator import NOTHING, Translation
from nmt_core.errors import CorpusError
from stages import evaluate
from tests.support.tiny import tiny_translator

CHINESE = ["欧洲议会昨天批准了这项建议。", "理事会主席表示同意。"]


def test_translations_with_tabs_can_be_read_back(tmp_path):
    """One would shift the columns of its line, for us and for whoever scores them again."""
    found = [Translation("a\thypothesis", -0.5, (), (), ()), Translation("two", -1.0, (), (), ())]
    path = tmp_path / "translations.tsv"
    evaluate.write_translations(path, ["a\tsource", "zwei"], ["a\t reference", "2"], found)

    assert path.read_text(encoding="utf-8").splitlines() == [
        "score\tsource\treference\thypothesis",
        "-0.5000\ta source\ta  reference\ta hypothesis",
        "-1.0000\tzwei\t2\ttwo",
    ]


def test_scores_are_of_the_target_language():
    found = evaluate.scores([CHINESE[0], CHINESE[1][2:]], CHINESE, language="zh", resamples=10)

    assert 50 < found["bleu"] < 100
    assert found["bleu_low"] < found["bleu"] < found["bleu_high"]
    assert "|tok:zh|" in found["bleu_signature"]
    assert found["chrf_signature"].startswith("chrF2|")


def test_an_end_result_that_is_tokenized_is_refused():
    with pytest.raises(CorpusError, match="200 hypotheses end in a detached full stop"):
        evaluate.scores(["It is so ."] * 200, ["It is so."] * 200, language="en", resamples=0)


def test_one_in_a_hundred_scores_is_below_what_is_unsure():
    """Lines without a translation have none."""
    [[one]] = tiny_translator().search(["Hund"])
    found = [NOTHING, *(one._replace(score=-score / 1000) for score in range(1000))]

    assert evaluate.unsure_below(found[::-1]) == evaluate.unsure_below(found) == -0.99
    assert sum(translation.score < -0.99 for translation in found) == 9
    assert evaluate.unsure_below([NOTHING]) is None
