"""The normal form of a line in training and in translation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base import files
from nmt_core.base.jobs import WorkersConfig
from nmt_core.corpora.parallel_text import CorpusReading, Text, cut_rows, read_pairs
from nmt_core.text import Subwords, load_tokenizer
from nmt_core.text.normalize import normalize
from nmt_core.text.side import Side
from nmt_core.text.vocabulary import SPECIALS, Vocabulary
from stages import paths, tokenize
from stages.params import TokenizeParams

DECOMPOSED = "Fu\u0308r Kin\u200bder und\u00a0Bu\ufeffcher\u2028der Scho\u200b\u0308nheit"
COMPOSED = "Für Kinder und Bucher der Schönheit"
KINDS = {
    "sentencepiece": {"subwords": {"vocab_size": 300, "joint": False}},
    "spacy": {"kind": "spacy"},
}


@pytest.mark.parametrize("line", ["½ + ² = ﬁ", "㎏…ª，（）", "É é ß ς", "5 € – „ja“", "日本語"])
def test_different_looking_text_stays_different(line):
    """NFKC would change them to 1⁄2, 2 and fi, and a translation could never write them again."""
    assert normalize(line) == line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (DECOMPOSED, COMPOSED),
        ("Ｄａｓ Ｇｅｓｅｔｚ．是ＡＢ１２", "Das Gesetz.是AB12"),
        ("𝗗𝒂𝓼 𝟙 ｶﾞ", "Das 1 ガ"),
        ("a\x00b\x1bc\x7fd\u200be\ufefff", "abcdef"),
        (
            " a\tb\r\nc\x0bd\x0ce\x1cf\x1dg\x1eh\x1fi\x85j\u2028k\u2029l\u3000m ",
            "a b c d e f g h i j k l m",
        ),
        ("x▁y", "x_y"),
        ("a\u200eb\u202ac\u202ed\u2060e\u2066f\u2069g", "abcdefg"),
        ("Aus\u00adschuss, \u200fא\u202a1\u202c", "Ausschuss, א1"),
        ("می\u200cخواهم 👨\u200d👩\u200d👧", "می\u200cخواهم 👨\u200d👩\u200d👧"),
    ],
)
def test_a_line_has_one_form(line, expected):
    assert normalize(line) == expected


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0")).filter(normalize)
)
def test_corpora_and_translations_read_the_same_line(tmp_path_factory, line):
    """The reader repairs line breaks inside it."""
    folder = tmp_path_factory.mktemp("corpus")
    text = Text(((folder / "a", folder / "b"),))
    for path in text.parts[0]:
        path.write_text(f"x\n{line}\n", encoding="utf-8", newline="")
    [rows] = cut_rows(text, 9, scratch=folder)
    [_, (_, pair)] = read_pairs(rows, drop=(), reading=CorpusReading())

    assert normalize(pair.source) == normalize(line)


def tokenized(folder, kind, line):
    """Tokenize a corpus of one line, repeated; return its tokens and their tokenizer."""
    for side in paths.SIDES:
        for split in paths.SPLITS:
            files.write_lines(folder / "corpus" / f"{split}.{side}", [line] * 20)
    tokenize.run(
        TokenizeParams(**{"kind": kind, **KINDS[kind]}),
        languages=("de", "en"),
        corpus=folder / "corpus",
        tokenizer=folder / "tokenizer",
        tokenized=folder / "tokenized",
        workers=WorkersConfig(),
    )
    [tokens] = {*files.read_lines(folder / "tokenized" / "train.source")}
    return tokens.split(" "), load_tokenizer(folder / "tokenizer" / "source")


@pytest.mark.parametrize("kind", KINDS)
def test_training_and_translation_use_the_same_tokens(tmp_path, kind):
    tokens, tokenizer = tokenized(tmp_path, kind, DECOMPOSED)
    Vocabulary([*SPECIALS, *dict.fromkeys(tokens)]).save(tmp_path / "vocabulary.txt")
    side = Side.load(tmp_path / "tokenizer" / "source", tmp_path / "vocabulary.txt")

    assert side.tokens(DECOMPOSED) == tokenizer.encode(COMPOSED) == tokens
    assert "".join(tokens).replace("▁", "").lower() == COMPOSED.replace(" ", "").lower()


def test_subwords_are_learnt_from_the_normal_form(tmp_path):
    learnt = [
        tokenized(tmp_path / line[:3], "sentencepiece", line)[1] for line in (COMPOSED, DECOMPOSED)
    ]

    assert learnt[0].vocabulary.tokens == learnt[1].vocabulary.tokens


@pytest.mark.parametrize("joint", [True, False])
def test_subwords_are_learnt_from_a_single_line(tmp_path, joint):
    for side in paths.SIDES:
        files.write_lines(tmp_path / f"train.{side}", ["Ein Satz mit 20 Zeichen.", "zwei", "drei"])
    params = TokenizeParams(subwords={"vocab_size": 300, "joint": joint, "max_lines": 1})
    built = tokenize.build_tokenizers(params, languages=("de", "en"), corpus=tmp_path)

    assert all(isinstance(tokenizer, Subwords) for tokenizer in built.values())


def test_each_side_is_split_by_its_language(tmp_path):
    """English splits "can't" into "ca" and "n't"; German does not have this word."""
    line = "We can't meet 20 times."
    params = {"kind": "spacy", "numbers": "drop"}
    for side in paths.SIDES:
        for split in paths.SPLITS:
            files.write_lines(tmp_path / "corpus" / f"{split}.{side}", [line])
    metrics = tokenize.run(
        TokenizeParams(**params),
        languages=("de", "en"),
        corpus=tmp_path / "corpus",
        tokenizer=tmp_path / "tokenizer",
        tokenized=tmp_path / "tokenized",
        workers=WorkersConfig(),
    )
    source, target = (
        [*files.read_lines(tmp_path / "tokenized" / f"test.{s}")] for s in paths.SIDES
    )

    assert (source, target) == (["we meet times ."], ["we ca meet times ."])
    assert (metrics["test_source_tokens"], metrics["test_target_tokens"]) == (4, 5)


def test_fast_path_changes_no_character():
    """The control character, which is removed, forces the thorough path."""
    characters = [chr(number) for number in range(0x2200) if not 0xD800 <= number < 0xE000]
    changed = [c for c in characters if normalize(c) != normalize(f"\x00{c}")]
    pairs = [c for c in characters if normalize(f"e{c} x") != normalize(f"\x00e{c} x")]
    assert (changed, pairs) == ([], [])
