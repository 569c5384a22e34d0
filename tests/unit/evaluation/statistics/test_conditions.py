"""A challenger that keeps fewer numbers, or translates other case worse, is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.random import make_generator
from nmt_core.evaluation.statistics.conditions import compare_literals
from nmt_core.evaluation.statistics.gate import Candidate, GateConfig, judge, judge_effects

GATE = GateConfig(metrics=["bleu"], resamples=100, trials=200)
SOURCES = [f"Im Jahr {1000 + number} kamen viele Leute hierher." for number in range(100)]
REFERENCES = [f"In the year {1000 + number} many people came here." for number in range(100)]
RECASED = dict(enumerate(REFERENCES[:60]))

both = st.lists(st.tuples(st.booleans(), st.booleans()))


def decide(champion, challenger, order=range(100)):
    """Judge two systems, whose translations are given for some lines."""
    systems = []
    for lines in (champion, challenger):
        hypotheses = [lines.get(number, REFERENCES[number]) for number in order]
        texts = ([side[number] for number in order] for side in (SOURCES, REFERENCES))
        systems.append(Candidate("it", *texts, hypotheses))
    return judge(*systems, GATE, languages=("de", "en"))


def lose(*numbers):
    """Translate some lines without their digits, and as many words."""
    return dict.fromkeys(numbers, "In the year MDX many people came here.")


def test_a_challenger_that_loses_numbers_is_refused_by_name():
    verdict = decide({}, lose(*range(9)))

    assert verdict.outcome == "reject"
    literals, case = verdict.conditions
    assert (literals.sentences, literals.champion, literals.challenger) == (100, 100.0, 91.0)
    assert literals.worse == 2**-9
    assert (case.sentences, literals.lost, case.lost) == (0, 0, 0)  # which slices alone have
    assert type(verdict).model_validate_json(verdict.model_dump_json()) == verdict


def test_better_scores_are_no_excuse():
    """Numbers are lost where the champion has nothing else right."""
    ruined = {number: f"{1000 + number} x" for number in range(100)}
    verdict = decide(ruined, lose(*range(9)))

    assert verdict.effects[0].gain > 10
    assert (verdict.outcome, verdict.refused_by) == ("reject", ("literals",))
    assert verdict.reason.startswith(verdict.conditions[0].loss)
    assert decide(ruined, {}).outcome == "promote"
    assert decide(ruined, {}).refused_by == ()


def test_all_that_refuse_are_named():
    """The first in the order of the tests gives the reason."""
    good = {number: line.upper() for number, line in RECASED.items()}
    bad = dict.fromkeys(RECASED, "IM JAHR")
    worse = Candidate("it", SOURCES, REFERENCES, ["In the year."] * 100, bad)
    verdict = judge(with_case(good), worse, GATE, languages=("de", "en"))

    assert verdict.refused_by == ("bleu", "literals", "case")
    assert verdict.reason.startswith("BLEU is")


def test_who_keeps_more_or_as_many_is_not_refused():
    for champion, challenger in (({}, {}), (lose(1), lose(2)), (lose(*range(9)), {})):
        assert decide(champion, challenger).refused_by == ()


def test_no_more_is_demanded_than_the_references_do():
    verdict = judge(
        *[Candidate("it", SOURCES, ["Many came."] * 100, ["Many came."] * 100)] * 2,
        GATE,
        languages=("de", "en"),
    )
    assert [condition.sentences for condition in verdict.conditions] == [0, 0]
    assert verdict.outcome == "hold"


@given(pairs=both, draw=st.randoms())
def test_the_order_of_lines_does_not_matter_and_equals_pass(pairs, draw):
    condition = compare_literals([one for one, _ in pairs], [other for _, other in pairs])
    shuffled = draw.sample(pairs, len(pairs))
    assert condition == compare_literals([a for a, _ in shuffled], [b for _, b in shuffled])
    assert condition.sentences == len(pairs)
    same = compare_literals([one for one, _ in pairs], [one for one, _ in pairs])
    assert same.worse == 1.0


@given(pairs=both)
def test_what_one_has_lost_the_other_has_won(pairs):
    """Both probabilities share the middle; neither can be small at once."""
    ahead = compare_literals([one for one, _ in pairs], [other for _, other in pairs])
    behind = compare_literals([other for _, other in pairs], [one for one, _ in pairs])
    assert ahead.worse + behind.worse >= 1.0 - 1e-9
    assert (ahead.worse < 0.5) <= (ahead.champion > ahead.challenger)


def refuse_share(loses, *, lines=153, tests=4, trials=400, alike=0.0):
    """Return how often a loss is found, where the champion loses a share, too."""
    draw = make_generator(1, "power", int(loses * 1000))
    refused = 0
    for _ in range(trials):
        champion = draw.random(lines) >= alike
        challenger = draw.random(lines) >= loses
        worse = compare_literals(champion.tolist(), challenger.tolist()).worse
        refused += worse * tests <= GateConfig().significance
    return refused / trials


@pytest.mark.parametrize(("loses", "least", "most"), [(0.1, 0.97, 1.0), (0.05, 0.5, 0.75)])
def test_the_power_is_as_the_handbook_says(loses, least, most):
    """Of 153 sentences, with two metrics and two conditions."""
    assert least <= refuse_share(loses) <= most


def test_of_equal_systems_no_more_are_refused_than_promised():
    assert refuse_share(0.05, tests=1, alike=0.05) <= GateConfig().significance + 0.01


def with_case(lines):
    return Candidate("it", SOURCES, REFERENCES, REFERENCES, lines)


def test_other_case_translated_worse_is_refused_whatever_its_own_case():
    good = {number: line.upper() for number, line in RECASED.items()}
    bad = dict.fromkeys(RECASED, "IM JAHR")
    worse = judge(with_case(good), with_case(bad), GATE, languages=("de", "en"))
    same = judge(with_case(good), with_case(RECASED), GATE, languages=("de", "en"))
    better = judge(with_case(bad), with_case(good), GATE, languages=("de", "en"))

    assert (worse.outcome, worse.refused_by) == ("reject", ("case",))
    assert worse.conditions[1].sentences == 60
    assert worse.conditions[1].champion == pytest.approx(100.0)
    assert same.conditions[1].worse == 1.0
    assert same.refused_by == better.refused_by == ()


def test_conditions_of_which_nothing_is_known_cost_no_power():
    verdict = decide({}, lose(*range(9)))
    literals, case = verdict.conditions
    alone = judge_effects(verdict.effects, GATE, [literals])
    assert judge_effects(verdict.effects, GATE, [literals, case]) == alone
    tested = replace_sentences(case, 10)
    corrected = judge_effects(verdict.effects, GATE, [literals, tested])
    assert "for 2 tests" in alone[1]
    assert "for 3 tests" in corrected[1]


def replace_sentences(condition, sentences):
    return condition.model_copy(update={"sentences": sentences})
