import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.text.words import align_words, carry_cuts, find_words

texts = st.text("aé1 ,.'-本カ。\N{COMBINING ACUTE ACCENT}\n")


def words_of(text, cuts=()):
    return [text[start:end] for start, end in find_words(text, cuts)]


def link(source, target, *, cuts=()):
    """Return the source word of each word of the translation."""
    before = find_words(source, cuts)
    after = find_words(target, carry_cuts(source, cuts, target))
    links = align_words(source, before, None, target, after)
    return [
        (target[slice(*word)], source[slice(*before[number])])
        for word, number in zip(after, links, strict=True)
    ]


@given(texts)
def test_words_are_all_but_white_space(text):
    assert "".join(words_of(text)) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "cuts", "words"),
    [
        ("Don't, (e-mail) us!", [], "Don't , ( e-mail ) us !"),
        ("東京へ go.", [], "東 京 へ go ."),
        ("हिन्दी में", [], "हिन्दी में"),
        ("H2O is", [1, 2, 3], "H 2 O is"),
    ],
)
def test_words_are_split_at_punctuation_and_cuts(text, cuts, words):
    """Also in languages without spaces."""
    assert words_of(text, cuts) == words.split()


@given(st.data(), texts, texts.filter(str.strip))
def test_words_have_the_links_of_their_translation(data, target, source):
    count = len(find_words(source))
    drawn = st.integers(-1, count - 1)
    size = len(find_words(target))
    links = data.draw(st.lists(drawn, min_size=size, max_size=size))
    before, after = find_words(source), find_words(target)

    assert align_words(source, before, links, target, after) == links
    assert align_words(source, before, [*links, 0], target, after) == align_words(
        source, before, None, target, after
    )


def test_parts_of_a_word_have_own_links():
    source, target = "Gesetzentwurf liegt vor", "the draft law lies here"
    before, after = find_words(source, [6]), find_words(target)

    found = align_words(source, before, [0, 0, 0, 1, 2], target, after)

    assert found == [0, 1, 1, 2, 3]


@pytest.mark.parametrize(
    ("source", "answer", "cuts", "pairs"),
    [
        ("eins zwei drei", "one two three", [], "one=eins two=zwei three=drei"),
        ("ja nein", "a b c d", [], "a=ja b=ja c=nein d=nein"),
        ("ab cdefghijklmnop", "x y zzzzzzzzzzzz", [], "x=ab y=ab zzzzzzzzzzzz=cdefghijklmnop"),
        ("Kaltes H2O ist Eis", "H2O is cold", [8, 9], "H=H 2=2 O=O is=Eis cold=Eis"),
    ],
)
def test_without_links_words_match_by_place(source, answer, cuts, pairs):
    """Kept words are split as before, and their parts have the same source."""
    found = link(source, answer, cuts=cuts)

    assert " ".join(f"{target}={word}" for target, word in found) == pairs


def test_repeated_kept_words_match_in_order():
    source = "H2O und H2O"
    before = find_words(source, [1, 2, 9, 10])
    target = "H2O and H2O"
    after = find_words(target, carry_cuts(source, [1, 2, 9, 10], target))

    assert align_words(source, before, None, target, after) == list(range(7))
