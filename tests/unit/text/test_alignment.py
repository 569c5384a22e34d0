import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.text.alignment import META_SPACE, align_words, carry_cuts, find_words
from tests.support.echoes import Answer

texts = st.text("aé1 ,.'-本カ。\N{COMBINING ACUTE ACCENT}\n")


def words_of(text, cuts=()):
    return [text[start:end] for start, end in find_words(text, cuts)]


def link(source, answer, *, cuts=()):
    """Return for each word of the translation the one it stands for."""
    before = find_words(source, cuts)
    after = find_words(answer.text, carry_cuts(source, cuts, answer.text))
    links = align_words(source, before, answer, answer.text, after)
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
        source_tokens=["▁mai", "son", "▁rouge"],
    )

    assert link("maison rouge", answer) == [("red", "rouge"), ("house", "maison")]


@given(texts, texts.filter(str.strip), st.lists(st.sampled_from(["▁a", "é", "▁", "b"]), max_size=5))
def test_whatever_attention_says_a_word_stands_for_one_of_the_source(target, source, tokens):
    rows = [[0.5] * (len(tokens) + 1) for _ in range(len(tokens) + 1)]
    before, after = find_words(source), find_words(target)

    for answer in (Answer(target, tokens, rows), Answer(target, tokens, rows[:1]), Answer(target)):
        read = answer._replace(source_tokens=tokens)
        links = align_words(source, before, read, target, after)

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


@given(st.permutations(range(6)), st.lists(st.booleans(), min_size=6, max_size=6))
def test_a_word_stands_for_that_at_which_its_tokens_look_most(order, whole):
    """Also where tokens are parts of words and most of a word's tokens decide."""
    there = [f"quelle{letter}" for letter in "abcdef"]
    here = [f"target{letter}" for letter in "ghijkl"]
    source = [
        (f"▁{word}",) if one else ("▁quelle", word[6:])
        for word, one in zip(there, whole, strict=True)
    ]
    tokens = [part for parts in source for part in parts]
    of_word = [number for number, parts in enumerate(source) for _ in parts]
    rows = [[float(of_word[n] == link) for n in range(len(tokens))] + [0.0] for link in order]
    rows.append([0.0] * len(tokens) + [1.0])
    answer = Answer(" ".join(here), [f"▁{word}" for word in here], rows, source_tokens=tokens)

    found = link(" ".join(there), answer)

    assert found == [(word, there[number]) for word, number in zip(here, order, strict=True)]


def draw_tokens(chance):
    """Return a text, its tokens, and which part of each token (column) spells each word (row).

    Words and signs share tokens, as in SentencePiece, and have several.
    """
    text, tokens, of_token = "", [], {}
    for _ in range(chance.randint(1, 4)):
        for number, letter in enumerate(chance.choices("ab,.", k=chance.randint(1, 6))):
            if not number or chance.random() < 0.4:
                tokens.append("" if number else META_SPACE)
            of_token[len(text)] = len(tokens) - 1
            tokens[-1] += letter
            text += letter
        text += " "
    words = find_words(text)
    parts = np.zeros((len(words), len(tokens)))
    for number, word in enumerate(words):
        for place in range(*word):
            parts[number, of_token[place]] += 1
    return text, tokens, parts / parts.sum(axis=0)


@given(st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_letters_have_equal_parts_in_what_their_token_looks_at(chance):
    """And in how it is looked at; a word stands for that at which its letters look most."""
    (source, source_tokens, there), (target, tokens, here) = (draw_tokens(chance) for _ in range(2))
    rows = np.array([[chance.random() ** 9 for _ in (*source_tokens, "")] for _ in (*tokens, "")])
    looks = here @ rows[:-1, :-1] @ there.T
    answer = Answer(target, tokens, rows, source_tokens=source_tokens)

    links = align_words(source, find_words(source), answer, target, find_words(target))

    np.testing.assert_allclose(looks[range(len(links)), links], looks.max(axis=1))


@given(st.integers(2, 6), st.integers(0, 5))
def test_of_words_that_are_looked_at_alike_the_nearest_is_taken(count, chosen):
    chosen %= count
    there = [f"quelle{letter}" for letter in "abcdef"[:count]]
    here = [f"target{letter}" for letter in "ghijkl"[:count]]
    rows = [[1 / count] * count + [0.0] for _ in here] + [[0.0] * count + [1.0]]
    read = [f"▁{word}" for word in there]
    answer = Answer(" ".join(here), [f"▁{word}" for word in here], rows, source_tokens=read)

    found = link(" ".join(there), answer)

    assert found[chosen] == (here[chosen], there[chosen])


def test_the_second_of_two_words_that_were_kept_stands_for_the_second():
    source = "H2O und H2O"
    before = find_words(source, [1, 2, 9, 10])
    answer = Answer("H2O and H2O")
    after = find_words(answer.text, carry_cuts(source, [1, 2, 9, 10], answer.text))

    assert align_words(source, before, answer, answer.text, after) == list(range(7))


def test_words_at_about_the_same_place_are_told_by_their_middles():
    assert link("ab cdefghijklmnop", Answer("x y zzzzzzzzzzzzzzzz")) == [
        ("x", "ab"),
        ("y", "ab"),
        ("zzzzzzzzzzzzzzzz", "cdefghijklmnop"),
    ]
