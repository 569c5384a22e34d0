from hypothesis import given
from hypothesis import strategies as st

from nmt_core.documents.alignment import align, carry_cuts, find_words
from tests.support.echoes import Answer

texts = st.text("aé1 ,.'-本カ。\N{COMBINING ACUTE ACCENT}\n")


def words_of(text, cuts=()):
    return [text[start:end] for start, end in find_words(text, cuts)]


def link(source, answer, *, tokens=None, cuts=()):
    """Return for each word of the translation the one it stands for."""
    before = find_words(source, cuts)
    after = find_words(answer.text, carry_cuts(source, cuts, answer.text))
    links = align(source, before, tokens, answer, answer.text, after)
    return [
        (answer.text[slice(*word)], source[slice(*before[number])])
        for word, number in zip(after, links, strict=True)
    ]


@given(texts)
def test_words_are_all_but_white_space(text):
    assert "".join(words_of(text)) == "".join(text.split())


def test_words_are_cut_at_punctuation_and_where_no_spaces_are_written():
    assert words_of("Don't, (e-mail) us!") == ["Don't", ",", "(", "e-mail", ")", "us", "!"]
    assert words_of("東京へ go.") == ["東", "京", "へ", "go", "."]
    assert words_of("हिन्दी में") == ["हिन्दी", "में"]


def test_a_cut_makes_two_words_of_one():
    assert words_of("H2O is", [1, 2, 3]) == ["H", "2", "O", "is"]


def test_attention_says_what_stands_for_what():
    answer = Answer(
        "red house",
        ["▁red", "▁ho", "use"],
        [[0, 0.1, 0.9, 0], [0.6, 0.3, 0.1, 0], [0.1, 0.7, 0.2, 0], [0, 0, 0, 1]],
    )

    assert link("maison rouge", answer, tokens=["▁mai", "son", "▁rouge"]) == [
        ("red", "rouge"),
        ("house", "maison"),
    ]


def test_the_end_of_a_sentence_is_no_word():
    answer = Answer("b a", ["▁b", "▁a"], [[0.1, 0.2, 0.7], [0.2, 0.1, 0.7], [0, 0, 1]])

    assert link("x y", answer, tokens=["▁x", "▁y"]) == [("b", "y"), ("a", "x")]


def test_tokens_that_spell_the_text_in_another_way_are_found_by_their_words():
    answer = Answer("Two one", ["▁⁇", "▁one"], [[0, 0, 1, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 1]])

    assert link("… zwei", answer, tokens=["▁.", "..", "▁zwei"]) == [("Two", "zwei"), ("one", "…")]


@given(texts, texts.filter(str.strip), st.lists(st.sampled_from(["▁a", "é", "▁", "b"]), max_size=5))
def test_whatever_attention_says_a_word_stands_for_one_of_the_source(target, source, tokens):
    rows = [[0.5] * (len(tokens) + 1) for _ in range(len(tokens) + 1)]
    before, after = find_words(source), find_words(target)

    for answer in (Answer(target, tokens, rows), Answer(target, tokens, rows[:1]), Answer(target)):
        links = align(source, before, tokens, answer, target, after)

        assert len(links) == len(after)
        assert all(-1 <= number < len(before) for number in links)


def test_without_attention_words_stand_for_those_at_about_the_same_place():
    assert link("eins zwei drei", Answer("one two three")) == [
        ("one", "eins"),
        ("two", "zwei"),
        ("three", "drei"),
    ]
    assert link("ja nein", Answer("a b c d")) == [
        ("a", "ja"),
        ("b", "ja"),
        ("c", "nein"),
        ("d", "nein"),
    ]


def test_words_that_were_kept_are_cut_as_before_and_their_parts_stand_for_the_same():
    pairs = link("Kaltes H2O ist Wasser", Answer("H2O is cold"), cuts=[8, 9])

    assert pairs[:3] == [("H", "H"), ("2", "2"), ("O", "O")]
