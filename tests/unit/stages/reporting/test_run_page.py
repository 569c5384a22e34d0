"""The report of a run: what it shows, and that nothing of it is taken for HTML."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from nmt_core.evaluation.slice import SlicedText
from stages.params import EvaluateParams
from stages.reporting.contest_page import compare_sentences, render_contest_page
from stages.reporting.judged import choose_changed, choose_random
from stages.reporting.marked_text import mark_difference, mark_source
from stages.reporting.run_report import (
    count_training_words,
    judge_sentences,
    list_corpora,
    measure_slices,
    share_errors,
)
from tests.support.data_pages import HOSTILE
from tests.support.run_pages import (
    HOSTILE_SENTENCE,
    LANGUAGES,
    MEASURED,
    SENTENCES,
    TRAINING,
    judge,
    render,
)

SHOWN = HOSTILE.replace("\0", "\ufffd").replace("\x1b", "\ufffd")
words = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8).map(" ".join)


def cells(row):
    return [cell.text() for cell in row.css("th, td")]


def table(tree, caption):
    return next(one for one in tree.css("table") if caption in one.css_first("caption").text())


def test_the_first_line_is_the_verdict_and_the_worst_sentences_stand_beside_it():
    tree = LexborHTMLParser(render())
    worst = [one.text() for one in tree.css_first("#verdict").css("ol.worst li")]

    assert tree.css_first("body").text().startswith(judge().summary)
    assert len(worst) == 10
    assert SHOWN in worst[0]
    assert "line 1, chrF 41" in worst[1]


def test_every_section_names_the_command_that_computes_it_again():
    tree = LexborHTMLParser(render())
    for section in tree.css("section"):
        commands = [one.text() for one in section.css("code")]
        assert commands, section.css_first("h2").text()
        for command in commands:
            for name in re.findall(r"--force (\w+)|dvc repro (\w+)$", command):
                assert Path(f"stages/{''.join(name)}.py").exists(), command


def test_hostile_text_is_shown_and_never_obeyed():
    tree = LexborHTMLParser(render())
    plain = LexborHTMLParser(render(sentences=SENTENCES))

    assert {one.tag for one in plain.css("*")} == {one.tag for one in tree.css("*")}
    assert not {"script", "img", "iframe", "link"} & {one.tag for one in tree.css("*")}
    assert [] == [key for one in tree.css("*") for key in one.attributes if key.startswith("on")]
    attributes = [text or "" for one in tree.css("*") for text in one.attributes.values()]
    assert not [text for text in attributes if "//" in text]
    assert not re.search(r"@import|url\(|//", tree.css_first("style").text())


def test_the_same_run_makes_the_same_page():
    assert render() == render()


def test_what_is_not_known_is_said():
    bare = MEASURED | {"behaviour": {}, "slices": {}, "novel": {"sentences": 3} | MEASURED}
    text = LexborHTMLParser(render(bare, download={})).css_first("body").text()

    assert "It was not asked for" in text


@given(old=words, new=words)
def test_without_marked_words_both_texts_are_the_same(old, new):
    first, second = mark_difference(old, new, "en")
    texts = ["".join(one.itertext()) for one in (first, second)]
    left = [[w for w, tag in read(one) if tag not in ("del", "ins")] for one in (first, second)]

    assert texts == [old, new]
    assert left[0] == left[1]
    assert {tag for _, tag in read(first)} <= {"", "del"}
    assert {tag for _, tag in read(second)} <= {"", "ins"}


def read(element):
    """Return the words of an element, each with its tag."""
    found = [(word, "") for word in (element.text or "").split()]
    for child in element:
        found += [(word, child.tag) for word in (child.text or "").split()]
        found += [(word, "") for word in (child.tail or "").split()]
    return found


def test_words_that_belong_together_share_a_class():
    source = mark_source("Das Haus", "de")
    _, target = mark_difference("The home", "The house here", "en", (0, 1, -1))

    assert [(one.text, one.get("class")) for one in source] == [("Das", "w0"), ("Haus", "w1")]
    assert [(one.tag, one.text, one.get("class")) for one in target] == [
        ("span", "The", "w0"),
        ("ins", "house", "w1"),
        ("ins", "here", None),
    ]


def test_a_seed_draws_sentences():
    some = [*SENTENCES, HOSTILE_SENTENCE]

    drawn = choose_random(some, 5, 1)
    assert drawn == choose_random(some, 5, 1) != choose_random(some, 5, 2)
    assert len(choose_random(some, 99, 1)) == 40


def test_losses_and_gains_against_the_champion():
    references = [f"This is sentence {n}." for n in range(200)]
    old = [line if n % 2 else line[3:] for n, line in enumerate(references)]
    new = ["x" if n % 4 == 1 else line for n, line in enumerate(references)]
    changed = compare_sentences(references, references, old, new, language="en")
    losses = choose_changed(changed, 99, gained=False)
    page = render_contest_page(
        {"outcome": "hold", "reason": "so", "lines": [HOSTILE]}, changed, LANGUAGES
    )
    tree = LexborHTMLParser(page)

    assert len(changed) == 100
    assert len(losses) == 50
    assert all(one.number % 4 == 2 and one.gain < -80 for one in losses)
    assert all(one.gain > 0 and one.hypothesis == one.reference for one in changed[50:])
    assert tree.css_first("h1").text() == "hold: so"
    rows = table(tree, "The 50 largest").css("tbody tr")
    assert len(rows) == 50
    assert cells(rows[0])[3:5] == [losses[0].reference, "x"]
    assert "There are none." in render_contest_page(
        {"outcome": "first", "reason": "so", "lines": []}, (), LANGUAGES
    )


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "corpus.json").write_text(
        '{"pairs": {"train": 4}, "corpora": [{"test": 3}, {"test": 1}]}'
    )
    (tmp_path / "train.source").write_text("eins\nzwei\neins\neins\n")
    return tmp_path


def test_errors_are_shared_by_corpus(corpus):
    corpora = list_corpora(corpus, ["own", "web"])
    references = ["abcdefgh"] * 4
    sentences = judge_sentences(["eins"] * 4, references, [*references[:3], ""], language="en")

    assert corpora == {"own": slice(0, 3), "web": slice(3, 4)}
    assert [*list_corpora(corpus, ["a name for two"])] == ["corpus 1", "corpus 2"]
    assert share_errors(sentences, corpora) == {"own": (3, 0.0), "web": (1, 1.0)}
    assert list_corpora(corpus.parent, ["x"]) == {}
    text = SlicedText(
        ["eins", "zwei", "eins", "eins"],
        references,
        ("de", "en"),
        word_counts=count_training_words(corpus, ["eins zwei"]),
    )
    written = [*references[:3], ""]
    found = measure_slices(EvaluateParams(resamples=10), text, references, written, corpora)
    assert found["rare_words"].sentences == 1
    assert found["corpus own"].scores["chrf"][0] == pytest.approx(100)
    assert found["corpus web"].scores["chrf"][0] == 0
    alone = measure_slices(
        EvaluateParams(resamples=0), text, references, references, {"one": slice(0, 4)}
    )
    assert not [name for name in alone if name.startswith("corpus")]


def test_a_training_of_one_validation_has_a_curve(monkeypatch):
    monkeypatch.setitem(TRAINING, "history", TRAINING["history"][-1:])

    assert "polyline" in render()
