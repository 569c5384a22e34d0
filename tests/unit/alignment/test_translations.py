"""Frequent translations of words: those of an invented language are found again."""

import numpy as np

from nmt_core.alignment.translations import learn_translations, strip_signs

SOURCE = [f"wort{letter}" for letter in "abcdefghijklmnop"]
TARGET = {word: word[::-1] for word in SOURCE}


def test_words_are_found_in_the_case_in_which_they_are_written_and_rare_ones_are_not():
    draw = np.random.default_rng(1)
    pairs = []
    for _ in range(200):
        words = draw.permutation(SOURCE)[: draw.integers(2, 6)].tolist()
        target = [TARGET[word] for word in words]
        pairs.append((f"{words[0].title()} {' '.join(words[1:])}.", f"{' '.join(target)} !"))
    pairs += [("selten ab", "rare by")] * 2 + [("dreimal", "thrice")] * 3 + [("", "x")]

    found = learn_translations(pairs)

    assert {word: [TARGET[word]] for word in SOURCE}.items() <= found.items()
    assert found["Worta"] == ["atrow"]
    assert found["dreimal"] == ["thrice"]
    assert not {"selten", "ab", "", "."} & {*found}


def test_text_without_pairs_has_none():
    assert learn_translations([]) == {}
    assert learn_translations([("", ""), (" ", "x")]) == {}


def test_signs_around_a_word_go_and_words_with_others_within_count_for_nothing():
    assert [strip_signs(word) for word in ("„Haus“,", "...", "l'eau", "A4", "é")] == [
        "Haus",
        "",
        "",
        "",
        "é",
    ]
