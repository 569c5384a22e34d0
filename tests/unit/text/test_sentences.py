import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.documents.plan import TOKEN_CHARACTERS, Segmenter
from nmt_core.text.sentences import WINDOW, space_sentences, split_sentences
from nmt_core.text.words import Span

characters = st.characters(exclude_categories=["Cs"])
texts = st.one_of(
    st.text(characters),
    st.text("aA. \"'()«»“”。！?\r\n\t\u2028\u3000,;—1\N{COMBINING ACUTE ACCENT}"),
)


def split(text, *, language="en", most=1000):
    spans = split_sentences(text, language, lambda piece: len(piece) <= most)
    return [text[start:end] for start, end in spans]


@given(texts, st.sampled_from(["en", "de", "ja", "am", "hi", "no-such", ""]), st.integers(1, 20))
def test_only_white_space_is_removed(text, language, most):
    spans = split_sentences(text, language, lambda piece: len(piece) <= most)

    at = 0
    for start, end in spans:
        assert not text[at:start].strip()
        assert text[start:end].strip() == text[start:end] != ""
        at = end
    assert not text[at:].strip()


@given(texts, st.integers(1, 20))
def test_every_piece_fits(text, most):
    assert all(len(piece) <= most for piece in split(text, most=most))


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("de", ["Das ist z. B. Dr. Müller.", "Er kam am 3. Mai.", "Wirklich?", "Ja!"]),
        ("de", ["Wir sind im 21. Jahrhundert.", "Es war 1999.", "Nein."]),
        ("de-AT", ["Wir sind im 21. Jahrhundert.", "Nein."]),
        ("fr-CA", ["Je remercie M. Dupont.", "Oui."]),
        ("fr", ["Je remercie M. Dupont et MM. Kok.", "Il est venu.", "Oui."]),
        ("en", ["Mr. Smith came at 5 p.m. today.", "Did he?", "He said so."]),
        ("zh", ["你好。", "今天天气很好！", "是吗？"]),
        ("no-such", ["Hello there.", "This is it."]),
    ],
)
def test_sentences_end_where_they_do_in_their_language(language, sentences):
    between = "" if language == "zh" else "  "

    assert split(between.join(sentences), language=language) == sentences


def test_a_line_end_ends_no_sentence():
    assert split("It runs\nover\r\nlines. And ends.") == ["It runs\nover\r\nlines.", "And ends."]
    assert split("It runs\n\nover lines.") == ["It runs\n\nover lines."]


@pytest.mark.parametrize(
    ("language", "text"), [("am", "A\u2028.«)"), ("ja", "”\rA\u2028.'a'\"\u2028“\t")]
)
def test_white_space_at_which_sentencex_would_panic(language, text):
    assert "".join("".join(split(text, language=language)).split()) == "".join(text.split())


def test_a_long_text_is_split_at_sentences_alone():
    sentence = "This is the same sentence as the one before and after it."
    text = " ".join([sentence] * (3 * WINDOW // len(sentence)))

    assert set(split(text)) == {sentence}


def test_long_sentences_are_split_at_clauses_or_spaces():
    assert split("one two three four; five six, seven", most=25) == [
        "one two three four;",
        "five six, seven",
    ]
    assert split("one two three four, five six seven", most=25) == [
        "one two three four,",
        "five six seven",
    ]
    assert split("one two three four five", most=15) == ["one two three", "four five"]
    assert split("abcdefgh", most=4) == ["abcd", "efgh"]
    assert split("一二三，四五六七", most=5) == ["一二三，", "四五六七"]


def test_a_split_keeps_a_letter_with_its_accents():
    assert split("aaae\N{COMBINING ACUTE ACCENT}aaa", most=5) == [
        "aaae\N{COMBINING ACUTE ACCENT}",
        "aaa",
    ]


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("a b c", True),
        ("a b c d", False),
        ("a" * 3 * TOKEN_CHARACTERS, True),
        ("a" * (3 * TOKEN_CHARACTERS + 1), False),  # without counting its tokens
    ],
)
def test_a_sentence_keeps_within_its_token_limit(text, fits):
    assert Segmenter("en", max_tokens=3).fits(text) is fits


@pytest.mark.parametrize(
    ("source", "between", "target", "written"),
    [
        ("本。木。", Span(2, 2), "Book.", " "),
        ("本!木。", Span(2, 2), "Book.", " "),
        ("本。Wood.", Span(2, 2), "Book.", " "),
        ("本。木。", Span(2, 2), "书。", ""),
        ("本。", Span(0, 0), "", ""),
        ("Book;Wood", Span(5, 5), "Buch;", ""),
        ("本。\n木。", Span(2, 3), "Book.", "\n"),
        ("Book. Wood.", Span(5, 6), "本。", " "),
    ],
)
def test_joined_sentences_get_a_space_if_needed(source, between, target, written):
    assert space_sentences(source, between, target) == written
