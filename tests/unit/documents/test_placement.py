from collections import Counter
from itertools import count

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nmt_core.documents.plan import Plan, Segmenter, flatten
from nmt_core.documents.segments import BREAK, InlineTag, Passage, Role
from nmt_core.text.words import UNALIGNED, list_words
from tests.support.echoes import Answer, show_marks

words = st.sampled_from(["one ", "two", " three. ", "Four, ", " ", "", "本", "\n", "five. Six "])
trees = st.recursive(
    st.one_of(words, st.none()), lambda inner: st.lists(inner, max_size=4), max_leaves=12
)


def flatten_tree(tree, numbers):
    if tree is None:
        yield InlineTag(Role.EMPTY, next(numbers))
    elif isinstance(tree, str):
        yield tree
    else:
        number = next(numbers)
        yield InlineTag(Role.OPEN, number)
        for part in tree:
            yield from flatten_tree(part, numbers)
        yield InlineTag(Role.CLOSE, number)


@st.composite
def passages(draw):
    numbers = count()
    items = [
        item for tree in draw(st.lists(trees, max_size=5)) for item in flatten_tree(tree, numbers)
    ]
    return Passage(tuple(items), breaks=draw(st.booleans()))


def chains(items):
    """Return every mark with the pairs that contain it."""
    inside, found = [], Counter()
    for item in items:
        if isinstance(item, str):
            continue
        if item.kind is Role.CLOSE:
            assert inside.pop() == item.number
        else:
            found[item, *inside] += 1
            if item.kind is Role.OPEN:
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
def test_unchanged_passage_stays(passage):
    assert place(passage, Answer) == passage.items


@given(passages(), st.text("ab .,本\n<&", max_size=20), st.integers(0, 5))
def test_tags_are_kept_in_their_pairs(passage, text, shift):
    def answer(line):
        source = len(list_words(line))
        links = [(word + shift) % (source + 1) - 1 for word in range(len(list_words(text)))]
        return Answer(text, links)

    items = place(passage, answer)

    assert chains(items) == chains(passage.items)


@given(passages(), st.text("ab .,本\n<&", max_size=20))
def test_text_is_the_answer(passage, text):
    assume(not passage.breaks)
    plan = Plan([passage], Segmenter("en"))
    before, at = [], 0
    for start, end in plan.spans[0]:
        before += [passage.text[at:start], flatten(text) or passage.text[start:end]]
        at = end

    assert text_of(place(passage, lambda _: Answer(text))) == "".join(before) + passage.text[at:]


@given(passages(), st.text("ab .,本\n", max_size=20))
def test_number_of_lines_stays(passage, text):
    assume(passage.breaks)

    items = place(passage, lambda _: Answer(text))

    assert text_of(items).count(BREAK) == passage.text.count(BREAK)


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        (("One ", ["two ", ["three"]], ", four", None, ". ", ["Five"], " six."),
         "ONE <TWO <THREE>>, FOUR*. <FIVE> SIX."),
        (([" One two. "], "Three."), "< ONE TWO. >THREE."),
        (("A b. ", ["C d. E f."], " G."), "A B. <C D. E F.> G."),
    ],
)  # fmt: skip
def test_words_in_capitals_keep_their_tags(parts, shown):
    assert show_marks(place(passage_of(*parts), lambda line: Answer(line.upper()))) == shown


@pytest.mark.parametrize(
    ("parts", "text", "links", "shown"),
    [
        (["la ", ["maison"], " ", ["rouge"]], "the red house", [0, 2, 1], "the <red> <house>"),
        # no word is linked: the word at the same place
        ([["a"], " b c"], "one two three", [1, 1, 2], "<one> two three"),
        (["a ", ["b"], " c"], "one two three", [0, 0, 2], "one <two> three"),
        (["a b ", ["c"]], "one two three", [0, 1, 1], "one two <three>"),
        (["a ", ["b"], " c"], "x y", [0, 2], "<x> y"),
        # most of the linked words, or the single one at any distance
        (["a ", ["b"], " c"], "v w x y z", [1, 0, 2, 1, 1], "v w x <y z>"),
        (["a ", ["b c"], " d"], "w x y z", [0, 3, 3, 2], "w x y <z>"),
        (["a ", ["b c"], " d"], "v w x y", [0, 2, 1, 3], "v <w x> y"),
        (["a ", ["b c"], " d"], "w x y z", [UNALIGNED, 1, UNALIGNED, 2], "w <x y z>"),
        # an empty tag does not enter a pair; parts of a word keep their tags
        (["a", None, " ", ["b"]], "v w x y z", [1, 1, 0, 1, 1], "<v w x y z>*"),
        (["Das H", ["2"], "O ist kalt"], "Cold is this H2O", None, "Cold is this H<2>O"),
    ],
)
def test_tags_follow_links(parts, text, links, shown):
    assert show_marks(place(passage_of(*parts), lambda _: Answer(text, links))) == shown


def test_order_of_pairs_follows_links():
    items = place(passage_of(["a"], " ", ["b"]), lambda _: Answer("y x", [1, 0]))

    assert [item.number for item in items if isinstance(item, InlineTag)] == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("text", "translation", "lines"),
    [
        ("one two three\nfour five six\nseven", "eins zwei drei vier fünf sechs sieben",
         "eins zwei drei\nvier fünf sechs\nsieben"),
        ("one two\nthree four", "一二三四", "一二\n三四"),
        ("one two\nthree\nfour", "eins", "eins\n\n"),
    ],
)  # fmt: skip
def test_lines_are_cut_in_proportion(text, translation, lines):
    assert text_of(place(Passage((text,), breaks=True), lambda _: Answer(translation))) == lines


def test_many_tags_take_no_time():
    passage = passage_of(*(part for _ in range(2000) for part in (["a"], None, " b ")))

    items = place(passage, lambda line: Answer(f"{line} {line.upper()}"))

    assert chains(items) == chains(passage.items)


def test_empty_translation_is_ignored():
    passage = passage_of(["One."])

    assert place(passage, lambda _: Answer(" \n")) == passage.items


def test_space_between_sentences_moves_tags():
    passage = passage_of("本。", ["木!"], None, "水。")
    answers = [Answer(text) for text in ("A book.", "Wood!", "Water.")]
    [items] = Plan([passage], Segmenter("ja")).place(answers)

    assert show_marks(items) == "A book. <Wood!> *Water."
