from collections import Counter
from itertools import count

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nmt_core.documents.passage import (
    BREAK,
    InlineTag,
    Passage,
    Sentence,
    TagKind,
    flatten,
    place_tags,
)
from nmt_core.documents.plan import Plan, Segmenter
from nmt_core.text.alignment import UNALIGNED, list_words
from tests.support.echoes import Answer, show_marks

words = st.sampled_from(["one ", "two", " three. ", "Four, ", " ", "", "本", "\n", "five. Six "])
trees = st.recursive(
    st.one_of(words, st.none()), lambda inner: st.lists(inner, max_size=4), max_leaves=12
)


def flatten_tree(tree, numbers):
    if tree is None:
        yield InlineTag(TagKind.EMPTY, next(numbers))
    elif isinstance(tree, str):
        yield tree
    else:
        number = next(numbers)
        yield InlineTag(TagKind.OPEN, number)
        for part in tree:
            yield from flatten_tree(part, numbers)
        yield InlineTag(TagKind.CLOSE, number)


@st.composite
def passages(draw):
    numbers = count()
    items = [
        item for tree in draw(st.lists(trees, max_size=5)) for item in flatten_tree(tree, numbers)
    ]
    return Passage(tuple(items), breaks=draw(st.booleans()))


def chains(items):
    """Return every mark with the pairs it stands in."""
    inside, found = [], Counter()
    for item in items:
        if isinstance(item, str):
            continue
        if item.kind is TagKind.CLOSE:
            assert inside.pop() == item.number
        else:
            found[item, *inside] += 1
            if item.kind is TagKind.OPEN:
                inside.append(item.number)
    assert not inside
    return found


def text_of(items):
    return "".join(item for item in items if isinstance(item, str))


def place(passage, answer):
    plan = Plan([passage], Segmenter("en", str.split))
    [items] = plan.place([answer(line) for line in plan.lines])
    return items


def passage_of(*parts):
    """Return a passage: lists are pairs, None is a point."""
    numbers = count()
    return Passage(tuple(item for part in parts for item in flatten_tree(part, numbers)))


@given(passages())
def test_what_is_translated_to_itself_stays_as_it_was(passage):
    assert place(passage, Answer) == passage.items


@given(passages(), st.text("ab .,本\n<&", max_size=20), st.integers(0, 5))
@settings(max_examples=50)
def test_marks_are_neither_lost_nor_invented_nor_leave_their_pair(passage, text, shift):
    def answer(line):
        source = len(list_words(line))
        links = [(word + shift) % (source + 1) - 1 for word in range(len(list_words(text)))]
        return Answer(text, links)

    items = place(passage, answer)

    assert chains(items) == chains(passage.items)


@given(passages(), st.text("ab .,本\n<&", max_size=20))
@settings(max_examples=50)
def test_the_text_is_what_was_answered(passage, text):
    assume(not passage.breaks)
    plan = Plan([passage], Segmenter("en"))
    before, at = [], 0
    for start, end in plan.spans[0]:
        before += [passage.text[at:start], flatten(text) or passage.text[start:end]]
        at = end

    assert text_of(place(passage, lambda _: Answer(text))) == "".join(before) + passage.text[at:]


@given(passages(), st.text("ab .,本\n", max_size=20))
@settings(max_examples=50)
def test_as_many_lines_end_as_before(passage, text):
    assume(passage.breaks)

    items = place(passage, lambda _: Answer(text))

    assert text_of(items).count(BREAK) == passage.text.count(BREAK)


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        (
            ("One ", ["two ", ["three"]], ", four", None, ". ", ["Five"], " six."),
            "ONE <TWO <THREE>>, FOUR*. <FIVE> SIX.",
        ),
        (([" One two. "], "Three."), "< ONE TWO. >THREE."),
        (("A b. ", ["C d. E f."], " G."), "A B. <C D. E F.> G."),
    ],
)
def test_words_in_capitals_keep_their_marks(parts, shown):
    assert show_marks(place(passage_of(*parts), lambda line: Answer(line.upper()))) == shown


def test_marks_follow_links():
    passage = passage_of("la ", ["maison"], " ", ["rouge"])

    items = place(passage, lambda _: Answer("the red house", [0, 2, 1]))

    assert [item.number for item in items if isinstance(item, InlineTag)] == [1, 1, 0, 0]
    assert show_marks(items) == "the <red> <house>"


def test_a_pair_for_which_no_word_stands_is_put_around_the_one_at_its_place():
    """All words of the translation stand for the two others."""
    shown = []
    for number, links in enumerate(([1, 1, 2], [0, 0, 2], [0, 1, 1])):
        words = [[word] if number == at else word for at, word in enumerate("abc")]
        passage = passage_of(words[0], " ", words[1], " ", words[2])
        answered = Answer("one two three", links)
        shown.append(show_marks(place(passage, lambda _, found=answered: found)))

    assert shown == ["<one> two three", "one <two> three", "one two <three>"]


def test_a_pair_is_put_around_most_of_the_words_that_stand_for_its_own():
    passage = passage_of("a ", ["b"], " c")

    items = place(passage, lambda _: Answer("v w x y z", [1, 0, 2, 1, 1]))

    assert show_marks(items) == "v w x <y z>"


def test_a_pair_is_put_around_the_one_word_that_stands_for_any_of_its_own():
    """However far away it stands."""
    passage = passage_of("a ", ["b c"], " d")

    items = place(passage, lambda _: Answer("w x y z", [0, 3, 3, 2]))

    assert show_marks(items) == "w x y <z>"


def test_a_pair_holds_its_words_in_whatever_order_they_come():
    passage = passage_of("a ", ["b c"], " d")

    assert show_marks(place(passage, lambda _: Answer("v w x y", [0, 2, 1, 3]))) == "v <w x> y"


def test_unlinked_words_inside_a_pair_belong_to_it():
    passage = passage_of("a ", ["b c"], " d")

    items = place(passage, lambda _: Answer("w x y z", [UNALIGNED, 1, UNALIGNED, 2]))

    assert show_marks(items) == "w <x y z>"


def test_a_pair_for_which_no_word_stands_gets_one_near():
    passage = passage_of("a ", ["b"], " c")

    items = place(passage, lambda _: Answer("x y", [0, 2]))

    assert show_marks(items) in {"<x> y", "x <y>"}


def test_a_point_does_not_enter_a_pair_that_surrounds_its_word():
    passage = passage_of("a", None, " ", ["b"])

    items = place(passage, lambda _: Answer("v w x y z", [1, 1, 0, 1, 1]))

    assert show_marks(items) == "<v w x y z>*"


def test_parts_of_a_word_that_is_kept_keep_their_marks():
    passage = passage_of("Das H", ["2"], "O ist kalt")

    assert show_marks(place(passage, lambda _: Answer("Cold is this H2O"))) == "Cold is this H<2>O"


def test_lines_are_cut_at_about_the_same_parts_and_at_spaces():
    passage = Passage(("one two three\nfour five six\nseven",), breaks=True)

    items = place(passage, lambda _: Answer("eins zwei drei vier fünf sechs sieben"))

    assert text_of(items) == "eins zwei drei\nvier fünf sechs\nsieben"


def test_lines_without_spaces_are_cut_between_words():
    passage = Passage(("one two\nthree four",), breaks=True)

    assert text_of(place(passage, lambda _: Answer("一二三四"))) == "一二\n三四"


def test_many_marks_take_no_time():
    passage = passage_of(*(part for _ in range(2000) for part in (["a"], None, " b ")))

    items = place(passage, lambda line: Answer(f"{line} {line.upper()}"))

    assert chains(items) == chains(passage.items)


def test_a_sentence_that_is_translated_to_nothing_stays():
    [span] = Segmenter("en").find_sentences("One.")
    passage = passage_of(["One."])

    assert place_tags(passage, [Sentence(span, "One.", Answer(" \n"))]) == passage.items


def test_marks_keep_to_their_sentences_where_a_space_comes_between_them():
    passage = passage_of("本。", ["木!"], None, "水。")
    spans = Segmenter("ja").find_sentences(text_of(passage.items))
    sentences = [
        Sentence(span, line, Answer(text))
        for span, line, text in zip(
            spans, ["本。", "木!", "水。"], ["A book.", "Wood!", "Water."], strict=True
        )
    ]

    assert show_marks(place_tags(passage, sentences)) == "A book. <Wood!> *Water."
