"""Splitting lines into tokens: properties of every tokenizer with all its settings."""

import json
from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.base.languages import Languages
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.literals.checking import LOOP_TIMES, LOOP_WORDS, find_loop
from nmt_core.text import Characters, Subwords, load_tokenizer
from nmt_core.text.language_codes import pick_code
from nmt_core.text.normalize import normalize
from nmt_core.text.side import Side, Tokenized
from nmt_core.text.spacy_words import SpacyWords
from nmt_core.text.subword_sampling import drop_merges
from nmt_core.text.subwords import SubwordConfig, sample_evenly
from nmt_core.text.tokenizer import Words
from nmt_core.text.vocabulary import SPECIALS, UNK, Vocabulary
from tests.support.subword_pairs import LINES, subwords

# codes of languages


@pytest.mark.parametrize(
    ("codes", "wanted", "index"),
    [
        (["de", "en"], "en", 1),
        (["DE_at", "fr"], "de-AT", 0),
        (["de-AT", "de"], "de", 1),
        (["de", "de-AT"], "de-AT", 1),
        (["de", "de-AT"], "de-CH", 0),
        (["pt-BR"], "pt-PT", None),
        (["zh-Hant-TW", "zh-Hant"], "zh", 1),
        (["de-AT", "de-CH"], "de", 0),
        (["deu", "d"], "de", None),
        (["", " "], "de", None),
        ([" de "], "de", 0),
        ([], "de", None),
    ],
)
def test_the_closest_code_is_picked(codes, wanted, index):
    assert pick_code(codes, wanted) == index


@pytest.mark.parametrize("code", ["de", "deu", "pt-BR", "zh-Hant-TW", "zxx", "de-1996", "en-GB"])
def test_codes_of_languages(code):
    languages = Languages(source=code, target="en")
    assert languages.codes == (code, "en")


HOSTILE = ["de; rm -rf .", "$(id)", "de\n", "../de", "de/../..", "de\0", "de-\u0661\u0662"]
"""Codes that would be dangerous in a command or in a file name."""


@pytest.mark.parametrize(
    "code", ["d", "DE", "de-", "de_AT", "german", "de-A", "de-123456789", "", *HOSTILE]
)
def test_invalid_codes_of_languages_are_refused(code):
    for sides in ({"source": code, "target": "en"}, {"source": "en", "target": code}):
        with pytest.raises(ValidationError, match="must be a language code such as de"):
            Languages(**sides)


# loops


def find_loop_by_trying(words):
    for size in range(1, LOOP_WORDS + 1):
        for start in range(len(words) - LOOP_TIMES * size + 1):
            run = words[start : start + size]
            if words[start : start + LOOP_TIMES * size] == run * LOOP_TIMES:
                return run
    return []


@given(st.lists(st.sampled_from("abc"), max_size=16))
def test_a_loop_is_found_like_by_brute_force(words):
    assert [*find_loop(words)] == find_loop_by_trying(words)


@pytest.mark.parametrize("size", range(1, 6))
def test_three_repetitions_of_four_words_are_a_loop(size):
    run = [*"abcde"[:size]]
    around = ["x", *run, *run, *run, "y"]
    assert [*find_loop(around)] == (run if size <= 4 else [])
    assert [*find_loop(["x", *run, *run, "y"])] == []


# words and characters


@pytest.mark.parametrize(
    ("tokenizer", "tokens"),
    [
        (Words("whitespace"), ["Ja,", "3.5", "x_y", "geht’s!"]),
        (Words("whitespace", lower_case=True), ["ja,", "3.5", "x_y", "geht’s!"]),
        (Words("punctuation"), ["Ja", ",", "3", ".", "5", "x_y", "geht", "’", "s", "!"]),
        (Characters(), [*"Ja,▁3.5▁x_y▁geht’s!"]),
    ],
)
def test_a_line_is_split_by_rule(tokenizer, tokens):
    assert tokenizer.encode(" Ja,\t3.5 x_y  geht’s!\u200b") == tokens
    assert tokenizer.surfaces("Ja, 3.5 x_y geht’s!") == tokens


@given(st.text(max_size=20))
def test_characters_restore_a_line(line):
    tokens = Characters().encode(line)
    assert all(len(token) == 1 for token in tokens)
    assert not any(" " in token for token in tokens)
    assert Characters().decode(tokens) == normalize(line)


def test_words_are_joined_with_a_space_each():
    assert Words("punctuation").decode(["Ja", ",", "gut"]) == "Ja , gut"


# subwords


@given(st.integers(0, 50), st.integers(1, 12))
def test_a_sample_is_even_and_limited(total, most):
    lines = [f"{number}" for number in range(total)]
    step = next(step for step in count(1) if len(range(0, total, step)) <= most)
    assert [*map(int, sample_evenly(lines, total, most))] == [*range(0, total, step)]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_subwords_have_numbers_scores_and_their_kind(kind):
    own = subwords(kind)
    tokens = own.vocabulary.tokens
    assert tokens[:4] == SPECIALS
    assert own.model_type == kind
    scored = own.scored_pieces
    assert {number for number, _ in scored.values()} == {
        number
        for number, token in enumerate(tokens)
        if number >= 4 and not (token.startswith("<0x") and token.endswith(">"))
    }
    assert all(tokens[number] == piece for piece, (number, _) in scored.items())
    for line, _ in LINES:
        assert own.decode(own.encode(line)) == line
        assert own.surfaces(line) == own.encode(line)
    assert own.decode([*own.encode("Hund"), "<unk>", *own.encode("Haus")[-1:]]).startswith(
        "Hund<unk>"
    )


def test_digits_symbols_and_unknown_characters_are_pieces():
    symbols = ALL_SYMBOLS[:2]
    lines = [line for line, _ in LINES] + ["Seite 1234 von 99"]
    own = Subwords.train(lines, SubwordConfig(vocab_size=330), symbols=symbols)
    assert len(own.vocabulary) == 332
    assert own.encode("1234")[-4:] == [*"1234"]
    assert own.encode("5067")[-4:] == [*"5067"]
    assert {*symbols} <= {*own.encode("x" + "".join(symbols))}
    assert not {*symbols} & {*own.scored_pieces}
    assert own.encode("中")[-3:] == [f"<0x{byte:02X}>" for byte in "中".encode()]
    assert own.decode(own.encode("中 2")) == "中 2"


def test_a_too_small_text_is_reported_with_remedy():
    with pytest.raises(ConfigError, match=r"^9000 pieces cannot be learnt .*vocab_size or use"):
        Subwords.train(["ein Haus"], SubwordConfig(vocab_size=9000))


def test_too_small_a_vocabulary_is_reported_with_remedy():
    letters = " ".join(map(chr, range(0x4E00, 0x4E40)))
    with pytest.raises(ConfigError, match=r"^300 pieces .*required_chars.*; raise tokenize"):
        Subwords.train([letters], SubwordConfig(vocab_size=300, character_coverage=1.0))


def test_tokenizers_are_loaded_from_their_folders(tmp_path):
    for number, own in enumerate(
        [subwords("bpe"), Characters(), SpacyWords("de"), SpacyWords("de", numbers="drop")]
    ):
        folder = tmp_path / str(number)
        own.save(folder)
        loaded = load_tokenizer(folder)
        assert type(loaded) is type(own)
        assert loaded.encode("der Hund, 5") == own.encode("der Hund, 5")
    (tmp_path / "0/sentencepiece.model").write_bytes(b"")
    with pytest.raises(BundleError, match="contains an empty tokenizer; run the tokenize stage"):
        load_tokenizer(tmp_path / "0")


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '"x"', "{"])
def test_a_folder_without_a_tokenizer_is_reported(tmp_path, text):
    if text is not None:
        (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(BundleError, match=r"contains no tokenizer .*run the tokenize stage again"):
        load_tokenizer(tmp_path)


def test_an_unknown_kind_is_reported(tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps({"kind": "syllables"}))
    with pytest.raises(BundleError, match="unknown kind 'syllables'; export it again"):
        load_tokenizer(tmp_path)


PIECES = {"a": (0, -9.0), "b": (1, -9.0), "ab": (2, -1.0), "ba": (3, -2.0), "aba": (4, -3.0)}
"""Numbers and scores; the best merge comes first."""


@pytest.mark.parametrize(
    ("dropout", "word", "chance", "numbers"),
    [
        (0.0, "ab", 1.0, (2,)),
        (0.0, "bab", 1.0, (1, 2)),
        (0.0, "aba", 1.0, (4,)),
        (0.0, "abab", 1.0, (2, 2)),
        (0.0, "a", 1.0, (0,)),
        (0.5, "bab", 0.9, (1, 2)),
        (0.5, "bab", 0.51, (1, 2)),
        (0.5, "bab", 0.49, (3, 1)),
        (0.5, "bab", 0.26, (3, 1)),
        (0.5, "bab", 0.24, (1, 0, 1)),
    ],
)
def test_merges_are_omitted_with_their_probability(dropout, word, chance, numbers):
    """Of the two merges of bab, ab is the better: below one half it is omitted."""
    assert drop_merges(word, iter([chance, *[1.0] * 9]), PIECES, dropout) == numbers


# sides and their tables


def test_a_side_reads_a_line_with_its_tag():
    plain = Vocabulary([*SPECIALS, "für", "dich"])
    side = Side(Words("whitespace"), plain.with_tags(["own", "news"]), ("own",))
    read = side.tokenize("fu\u0308r  dich")
    assert read == Tokenized("fu\u0308r  dich", ["für", "dich"], ("own",))
    other = Tokenized("x", ["dich", "und"])
    assert side.tokenize(other) is other
    assert side.tokens(other) == ["dich", "und"]
    assert side.ids(other) == [5, UNK]
    assert side.surfaces("fu\u0308r dich") == ["für", "dich"]
    assert side.join(["fu\u0308r", " ", "dich "]) == "für dich"
    assert side.text([4, 6, 5]) == "für dich"


@given(
    st.dictionaries(st.text("ab", min_size=1, max_size=3), st.integers(1, 5), max_size=9),
    st.integers(1, 5),
    st.none() | st.integers(0, 5),
    st.lists(st.text("abX", min_size=1, max_size=2), max_size=2, unique=True),
)
def test_a_vocabulary_has_frequent_tokens_and_all_symbols(counts, least, most, symbols):
    made = Vocabulary.most_frequent(
        counts | {"<s>": 9}, max_size=most, min_count=least, symbols=symbols
    )
    ranked = sorted((-count, token) for token, count in counts.items() if count >= least)
    chosen = [token for _, token in ranked if token not in symbols]
    assert made.tokens == (*SPECIALS, *islice(chosen, most), *symbols)
    assert len(made) == len(made.tokens)
    assert made.decode(range(len(made))) == [*made.tokens[UNK:]]
