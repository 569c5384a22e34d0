"""Confidence is fitted on validation text and measured on test text."""

import pytest

from nmt_core.evaluation.quality import score_chrf
from nmt_core.text.translation import EMPTY_TRANSLATION, Translation
from stages.params import EvaluateParams
from stages.runtime.trained import judge_confidence, select_searched


def say(lines):
    """Return lines as their own translations; questions have lower scores."""
    return [
        Translation(line, -1.6 * ("?" in line) - number % 9 / 7, (), (), (number,))
        if line
        else EMPTY_TRANSLATION
        for number, line in enumerate(lines)
    ]


def judge(references_of_questions, *, unknown=(), **settings):
    lines = [f"Wo ist {n}?" if n % 3 else f"Hier steht {n}." for n in range(300)] + [""] * 5
    references = [references_of_questions if "?" in line else line for line in lines]
    tested = [
        best._replace(unknown_words=unknown) if number % 9 == 1 else best
        for number, best in enumerate(say(["", *lines[:99]]))
    ]
    return judge_confidence(
        EvaluateParams(resamples=20, **settings),
        (lines, references, say(lines)),
        (["", *lines[:99]], ["", *references[:99]], tested),
        language="en",
    )


def test_searched_sentences_keep_their_references():
    found = [
        Translation("eins", -1.0, (), (), (1,)),
        EMPTY_TRANSLATION,
        Translation("x", -1.0, (), (), (2,)),
    ]
    (sources, translations), good = select_searched(
        EvaluateParams(), (["a", "", "c"], ["eins", "", "drei"], found), language="de"
    )
    assert (sources, translations) == (["a", "c"], [found[0], found[2]])
    assert good.tolist() == [True, False]


def test_validation_fits_and_test_measures():
    found = judge("quite another thing")
    model = found.model

    assert (model.sentences, sum(model.validation)) == (300, 300)  # empty lines do not count
    assert (model.reliability.sentences, model.sentences) == (99, 300)
    assert model.reliability.area > 0.99
    assert model.reliability.good == pytest.approx(1 / 3)


def test_unfamiliar_sentences_have_no_confidence():
    found = judge("quite another thing", unknown=("Eule",))
    plain = judge("quite another thing")

    assert found.model.sentences_unknown == 0
    assert found.model.reliability.sentences == 88
    assert plain.model.reliability.sentences == 99


def test_the_threshold_itself_is_good():
    found = [Translation("All is right.", 0.0, (), (), (4,))]
    [score] = score_chrf(["All is right."], ["All right."], language="en")
    params = EvaluateParams(good_chrf=score)
    _, good = select_searched(params, (["Gut."], ["All right."], found), language="en")

    assert good.all()


def test_uniform_quality_is_reported_as_unfit():
    found = judge("Wo ist 7?", good_chrf=10.0)
    assert found.missing
