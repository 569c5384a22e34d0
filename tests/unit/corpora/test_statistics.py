"""Statistics of corpora, against counting by hand."""

from itertools import pairwise

from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from nmt_core.corpora import statistics
from nmt_core.corpora.statistics import measure_corpora, measure_sample

LINES = st.text(st.sampled_from("aB ,日"), max_size=40)
FAST = limits(max_examples=40, deadline=None)


@FAST
@given(st.lists(st.tuples(LINES, LINES), max_size=50))
def test_counts_add_up(pairs):
    source, target = ([pair[side] for pair in pairs] for side in (0, 1))
    measured = measure_sample(source, target)

    assert len(pairs) == measured.sampled
    for side, lines in ((measured.source, source), (measured.target, target)):
        assert len(pairs) == sum(n for _, n in side.languages)
        words = [word for line in lines for word in by_hand(line)]
        assert (len(words), len({*words})) == (side.words, side.distinct)
        assert sum(map(len, lines)) == side.characters
    assert measured == measure_sample(source, target)


def by_hand(line):
    """Words of letters, in lower case; a Chinese character is one."""
    return line.replace("日", " 日 ").replace(",", " ").lower().split()


def test_the_order_of_lines_decides_nothing_but_the_examples():
    lines = ["a b c", "b a c", "c", "日 日"] * 5

    assert measure_sample(lines, lines).source == measure_sample(lines[::-1], lines[::-1]).source


def test_lengths_and_ratios_fall_where_they_belong():
    source, target = ["a"] * 90 + ["a " * 50] * 10, ["a a"] * 90 + ["a " * 50] * 10
    measured = measure_sample(source, target)

    assert (1.0, 1.0, 50.0) == measured.source.lengths
    assert (2.0, 2.0, 50.0) == measured.target.lengths
    assert (1.0, 2.0, 2.0) == measured.ratios


def test_no_lines_have_quantiles_of_zero():
    assert (0.0, 0.0, 0.0) == measure_sample([], []).source.lengths


def test_every_corpus_is_its_range_of_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(statistics, "MAX_PAIRS", 7)
    monkeypatch.setattr(statistics, "MAX_EXAMPLES", 7)
    pairs = {"one": 5, "none": 0, "many": 23, "last": 7}
    names = [name for name, count in pairs.items() for _ in range(count)]
    for side in ("source", "target"):
        lines = [f"{side} {name} {number}\r" for number, name in enumerate(names)]
        text = "".join(f"{line}\n" for line in lines)
        (tmp_path / f"train.{side}").write_text(text, newline="")
    measured = measure_corpora(tmp_path, pairs)

    assert [*pairs] == [*measured]
    for name, count in pairs.items():
        one = measured[name]
        numbers = [int(source.split()[-1]) for source, _ in one.examples]
        own = [number for number, each in enumerate(names) if each == name]
        assert min(count, 7) == one.sampled == len(numbers)
        assert {*numbers} <= {*own}
        gaps = {after - before for before, after in pairwise(sorted(numbers))}
        assert not gaps or max(gaps) - min(gaps) <= 1
        assert not own or max(own) - max(numbers) <= min(gaps)
        assert all(a.replace("source", "target") == b for a, b in one.examples)
        assert all(line.endswith("\r") for pair in one.examples for line in pair)


def test_languages_are_identified_except_of_short_lines():
    german = "Die Sitzung wird morgen um neun Uhr wieder aufgenommen."
    english = "The session will be resumed tomorrow morning."
    measured = measure_sample([german] * 3 + ["Ja."], [english] * 4)

    assert (("de", 3), ("", 1)) == measured.source.languages
    assert (("en", 4),) == measured.target.languages
