"""Links of translations: those of the aligner, or of attention in earlier exports."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.text.aligner.learning import learn_aligner
from nmt_core.text.alignment import find_words, list_words
from nmt_core.translation.linking import META_SPACE, add_links, link_by_attention
from nmt_core.translation.translation import EMPTY_TRANSLATION


def answer_of(text, tokens, rows, *, source_tokens):
    return EMPTY_TRANSLATION._replace(
        text=text,
        tokens=tuple(tokens),
        attention=np.array(rows),
        source_tokens=tuple(source_tokens),
    )


def link(source, answer):
    """Return each word of a translation with the source word of most attention."""
    there, here = list_words(source), list_words(answer.text)
    found = zip(here, link_by_attention(source, answer), strict=True)
    return [(word, there[number]) for word, number in found]


def test_the_aligner_comes_before_attention():
    pairs = [("das haus", "the house"), ("rote haus", "house red"), ("das", "the"), ("rote", "red")]
    answer = answer_of("house red", ["▁house", "▁red"], np.eye(3), source_tokens=["▁rote", "▁haus"])
    plain = answer._replace(attention=None)
    by_aligner, by_attention = (
        [found.links for [found] in add_links(["rote haus"] * 2, [[answer], [plain]], aligner)]
        for aligner in (learn_aligner(pairs * 9), None)
    )

    assert by_aligner == [[1, 0], [1, 0]]
    assert by_attention == [[0, 1], None]


def test_attention_says_what_stands_for_what():
    answer = answer_of(
        "red house",
        ["▁red", "▁ho", "use"],
        [[0, 0.1, 0.9, 0], [0.6, 0.3, 0.1, 0], [0.1, 0.7, 0.2, 0], [0, 0, 0, 1]],
        source_tokens=["▁mai", "son", "▁rouge"],
    )

    assert link("maison rouge", answer) == [("red", "rouge"), ("house", "maison")]


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
    answer = answer_of(" ".join(here), [f"▁{word}" for word in here], rows, source_tokens=tokens)

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
    answer = answer_of(target, tokens, rows, source_tokens=source_tokens)

    links = link_by_attention(source, answer)

    np.testing.assert_allclose(looks[range(len(links)), links], looks.max(axis=1))


@given(st.integers(2, 6), st.integers(0, 5))
def test_of_words_that_are_looked_at_alike_the_nearest_is_taken(count, chosen):
    chosen %= count
    there = [f"quelle{letter}" for letter in "abcdef"[:count]]
    here = [f"target{letter}" for letter in "ghijkl"[:count]]
    rows = [[1 / count] * count + [0.0] for _ in here] + [[0.0] * count + [1.0]]
    read = [f"▁{word}" for word in there]
    answer = answer_of(" ".join(here), [f"▁{word}" for word in here], rows, source_tokens=read)

    found = link(" ".join(there), answer)

    assert found[chosen] == (here[chosen], there[chosen])
