"""Sentences of a test set: which are shown, and what is marked in them."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from stages.reporting import measures
from stages.reporting.measures import count_training_words, list_corpora, share_errors
from stages.reporting.sentences import (
    MOST_WORDS,
    JudgedSentence,
    choose_best,
    choose_changed,
    choose_random,
    choose_worst,
    compare_sentences,
    judge_sentences,
    link_shown,
    mark_difference,
    mark_source,
)

words = st.lists(st.sampled_from(["a", "b", "<i>", "d"]), max_size=8).map(" ".join)


def sentence(number, score=50.0, gain=0.0, reference="r"):
    return JudgedSentence(number, f"s {number}", reference, "h", score, before="b", gain=gain)


def parse(html):
    return LexborHTMLParser(f"<body>{html}</body>").css_first("body")


def test_sentences_are_chosen_by_score_then_length_then_place():
    some = [sentence(3), sentence(1), sentence(2, reference="long"), sentence(4, score=60.0)]
    assert [s.number for s in choose_worst(some, 9)] == [2, 1, 3, 4]
    assert [s.number for s in choose_best(some, 9)] == [4, 2, 1, 3]
    assert len(choose_best(some, 2)) == len(choose_worst(some, 2)) == 2
    changed = [sentence(1, gain=2.0), sentence(2, gain=-1.0), sentence(3), sentence(4, gain=5.0)]
    changed += [sentence(6, gain=-1.0), sentence(5, gain=-1.0), sentence(7, gain=-3.0)]
    assert [s.number for s in choose_changed(changed, 9, gained=True)] == [4, 1]
    assert [s.number for s in choose_changed(changed, 9, gained=False)] == [7, 2, 5, 6]
    assert [s.number for s in choose_changed(changed, 1, gained=False)] == [7]


def test_a_seed_draws_sentences():
    some = [sentence(number) for number in range(1, 41)]
    drawn = choose_random(some, 5, 1)
    assert drawn == choose_random(some, 5, 1) != choose_random(some, 5, 2)
    assert len(choose_random(some, 99, 1)) == 40


def test_losses_and_gains_against_the_champion():
    references = [f"This is sentence {n}." for n in range(200)]
    old = [line if n % 2 else line[3:] for n, line in enumerate(references)]
    new = ["x" if n % 4 == 1 else line for n, line in enumerate(references)]
    changed = compare_sentences(references, references, old, new, language="en")

    assert len(changed) == 100
    assert all(s.number % 4 == 2 and s.gain < -80 and s.hypothesis == "x" for s in changed[:50])
    assert all(s.gain > 0 and s.before == s.reference[3:] for s in changed[50:])


@given(old=words, new=words)
def test_texts_without_marked_words_are_the_same(old, new):
    first, second = map(parse, mark_difference(old, new))
    assert [first.text(), second.text()] == [old, new]
    assert {node.tag for node in first.css("*")} <= {"body", "del"}
    assert {node.tag for node in second.css("*")} <= {"body", "ins"}
    for node in [*first.css("del"), *second.css("ins")]:
        node.decompose()
    assert first.text().split() == second.text().split()


@pytest.mark.parametrize(
    ("old", "new", "links", "marked"),
    [
        ("a b c", "a x c", (2,), ("a <del>b</del> c", '<span class="w2">a</span> <ins>x</ins> c')),
        ("a", "b", (0,), ("<del>a</del>", '<ins class="w0">b</ins>')),
        ("<b>", "<b>", (-1,), ("&lt;b&gt;", "&lt;b&gt;")),
    ],
)
def test_differences_and_links_are_marked(old, new, links, marked):
    assert mark_difference(old, new, links) == marked


@pytest.mark.parametrize("count", [MOST_WORDS, MOST_WORDS + 1])
def test_words_are_shown_up_to_a_number(count):
    assert mark_source("a b") == '<span class="w0">a</span> <span class="w1">b</span>'
    text = "x " * count
    for shown in (parse(mark_source(text)).text(), *mark_difference(text, text)):
        assert shown.split() == ["x"] * MOST_WORDS + ["…"] * (count > MOST_WORDS)


@pytest.mark.parametrize("aligns", [True, False])
def test_only_shown_sentences_are_linked(aligns):
    some = [sentence(number, score=float(number)) for number in range(1, 60)]
    aligner = SimpleNamespace(trace=lambda pairs: [[len(pairs[0][0][1])]])
    linked = link_shown(some, aligner if aligns else None, seed=1)
    shown = [s for s in linked if s.links]

    assert [s.number for s in linked] == [s.number for s in some]
    assert all(s.links == (len(str(s.number)),) for s in shown)
    if aligns:
        assert {1, 10, 50, 59} <= {s.number for s in shown}
        assert 20 < len(shown) <= 30
    else:
        assert shown == []


def test_errors_are_shared_by_corpus(tmp_path):
    (tmp_path / "corpus.json").write_text('{"corpora": [{"test": 3}, {"test": 1}]}')
    corpora = list_corpora(tmp_path, ["own", "web"])
    references = [("abcdefgh", "other")] * 4
    written = ["abcdefgh"] * 3 + [""]
    sentences = judge_sentences(["eins"] * 4, references, written, language="en")

    assert corpora == {"own": slice(0, 3), "web": slice(3, 4)}
    assert [*list_corpora(tmp_path, ["a name for two"])] == ["corpus 1", "corpus 2"]
    assert list_corpora(tmp_path / "none", ["x"]) == {}
    assert [s.reference for s in sentences] == ["abcdefgh"] * 4
    assert share_errors(sentences, corpora) == {"own": (3, 0.0), "web": (1, 1.0)}
    assert share_errors(sentences[:3], {"own": slice(0, 3)}) == {"own": (3, 0.0)}


@pytest.mark.parametrize(("lines", "counted"), [(0, 0), (5, 5), (6, 3), (11, 4)])
def test_words_are_counted_in_spread_lines(tmp_path, monkeypatch, lines, counted):
    monkeypatch.setattr(measures, "MOST_COUNTED", 5)
    assert count_training_words(tmp_path, ["x"]) == {}
    (tmp_path / "train.source").write_text("x\n" * lines)
    assert count_training_words(tmp_path, ["x y"]) == {"x": counted, "y": 0}
