"""Corpora are filtered, compared and joined to splits without leaks."""

import tracemalloc
import unicodedata
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base import files
from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.jobs import WorkersConfig
from nmt_core.corpora.cleaning import count_kept, count_removed, join_corpora
from nmt_core.corpora.filtering import FilterRules, filter_corpus
from nmt_core.corpora.filters import FilterConfig, count_letters, find_fault, make_comparison_key
from nmt_core.corpora.near_duplicates import SentenceIndex, cut_words
from nmt_core.corpora.parallel_text import UNUSABLE, Pair, Text
from nmt_core.corpora.splitting import NearDuplicateConfig, SplitConfig
from nmt_core.text.normalize import normalize

HALVES = SplitConfig(validation_per_10000=2500, test_per_10000=2500)
LOOSE = FilterConfig(max_length_ratio=1000.0)
NOTHING_NEAR = NearDuplicateConfig(distance=0.0)
SPLITS = ("train", "validation", "test")

lines = st.one_of(
    st.sampled_from(["Ja.", "ja", "JA !", "Nein", "nein.", "...", "Ko\u0308ln", "Köln"]),
    st.text(
        st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), min_size=1, max_size=6
    ),
).filter(str.strip)
corpora = st.lists(st.builds(Pair, lines, lines), min_size=1, max_size=40)


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    def clean(texts, *, filters=LOOSE, split=HALVES, near=NOTHING_NEAR):
        folder, scratch, given = (tmp_path_factory.mktemp("clean") for _ in range(3))
        filtered, near_pairs = clean_corpora(
            {"own": {name: write(given, name, pairs) for name, pairs in texts.items()}},
            folder,
            scratch,
            filters=filters,
            split=split,
            near=near,
            workers=WorkersConfig(chunk_lines=3),
        )
        assert not list(scratch.iterdir())
        assert {path.name for path in folder.iterdir()} == {
            f"{name}.{side}" for name in SPLITS for side in ("source", "target")
        }
        return filtered, near_pairs, {name: read(folder, name) for name in SPLITS}

    return clean


def clean_corpora(
    corpora, folder, scratch, *, filters=LOOSE, split=HALVES, near=NOTHING_NEAR, workers=None
):
    """Filter each corpus and join them; return the filtered corpora and near duplicates."""
    workers = workers or WorkersConfig(processes=1)
    off = frozenset(SPLITS[1:]).difference(*corpora.values())
    filtered = {}
    for name, texts in corpora.items():
        place = folder.with_name(f"{folder.name}-{name}")
        place.mkdir()
        rules = FilterRules(filters, split, off)
        filtered[name] = filter_corpus(texts, place, scratch=scratch, rules=rules, workers=workers)
        filtered[name].keep_duplicates = not filters.remove_duplicates
    return filtered, join_corpora(
        filtered, folder, scratch=scratch, split=split, near_duplicates=near, workers=workers
    )


def write(folder, name, pairs):
    paths = tuple(folder / f"{name}.{side}" for side in ("source", "target"))
    for path, lines in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
    return Text((paths,))


def read(folder, name):
    sides = [files.read_lines(folder / f"{name}.{side}") for side in ("source", "target")]
    return [Pair(*pair) for pair in zip(*sides, strict=True)]


def keys(pairs, side):
    return {make_comparison_key(getattr(pair, side)) for pair in pairs}


def clean_or_nothing(clean, texts, **options):
    try:
        return clean(texts, **options)
    except CorpusError:
        return None


@given(
    train=corpora, validation=corpora, test=corpora, split_off=st.sets(st.sampled_from(SPLITS[1:]))
)
@settings(max_examples=15)
def test_no_sentence_is_in_two_splits(clean, train, validation, test, split_off):
    """Neither side of a test pair is in validation or train, nor one of validation in train."""
    texts = {"train": train, "validation": validation, "test": test}
    texts = {name: pairs for name, pairs in texts.items() if name not in split_off}
    done = clean_or_nothing(clean, texts)
    if done is None:
        return
    filtered, _, kept = done
    for side in ("source", "target"):
        for one, other in combinations(SPLITS, 2):
            assert not keys(kept[one], side) & keys(kept[other], side)
    removed = sum(count_removed(filtered, name).total() for name in SPLITS)
    assert sum(map(len, texts.values())) == sum(count_kept(filtered).values()) + removed
    assert {name: len(pairs) for name, pairs in kept.items()} == count_kept(filtered)
    assert "test" in split_off or kept["test"] == test


@given(corpus=corpora, more=corpora)
@settings(max_examples=15)
def test_pairs_never_move_between_splits(clean, corpus, more):
    """A pair leaves train or validation if a new test sentence equals it; it never moves."""
    before = clean_or_nothing(clean, {"train": corpus})
    after = clean_or_nothing(clean, {"train": corpus + more})
    if before is None or after is None:
        return
    assert set(before[-1]["test"]) <= set(after[-1]["test"])
    for name in SPLITS:
        for other in set(SPLITS) - {name}:
            assert not set(before[-1][name]) & set(after[-1][other])


keyed = st.text(
    st.sampled_from(
        "aΑα=Iı⊊ \u0301\u0308\u0338\u0345\u00ad\u200b\u200d\ufe0f\ufeff\x00\x1c\x1f\t.▁_"
    ),
    max_size=8,
)


@given(keyed | st.text(max_size=8))
def test_lines_that_normalize_alike_have_one_key(line):
    key = make_comparison_key(line)
    assert key == make_comparison_key(normalize(line)) == make_comparison_key(key)


@given(keyed | st.text(max_size=8))
def test_words_are_those_of_the_key(line):
    """Sentences that are equal as a whole are near in words, too."""
    words = unicodedata.normalize("NFC", "".join(cut_words(normalize(line))))

    assert not words or words == make_comparison_key(line)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Straße", "STRASSE", True),
        ("λόγος", "ΛΌΓΟΣ", True),
        ("5 €", "5", True),
        ("❤️ dich", "❤ dich", True),
        ("Gar\u00adten", "Garten", True),
        *((line, "Köln", True) for line in (
            "Ko\u0308ln", "Ko\u200b\u0308ln", "Ko\ufeff\x01\u0308ln")),
        *((line, "Guten Tag.", True) for line in (
            "guten tag", " „Guten  Tag“ ", "Guten\u00a0Tag…", "Guten\u200bTag", "Guten\x1fTag",
            "Gu\x01ten Tag €", " „GUTEN\x1f\u200b  Tag“ €")),
        ("17 Uhr", "18 Uhr", False),
        ("...", "?", False),
        ("का", "की", False),
        ("Köln", "Koln", False),
    ],
)  # fmt: skip
def test_case_symbols_and_composition_do_not_count(one, other, equal):
    """Neither do characters that a model never sees, even between a letter and its accent."""
    assert (make_comparison_key(one) == make_comparison_key(other)) is equal


SAME = [Pair(f"{number} " * 20, f"{number} " * 20) for number in range(7)]
HELD_OUT = {"validation": [Pair("c", "d"), Pair("a", "e")], "test": [Pair("a", "b")]}
OTHERS = {"validation": [Pair("c", "d")], "test": [Pair("ja " * 500, "y")]}
"""Test sets are never filtered, even if their pairs are odd."""


@pytest.mark.parametrize(
    ("given", "train", "left", "reasons"),
    [
        (HELD_OUT, [("a", "x"), ("y", "b"), ("c", "z"), ("q", "r"), ("a", "x")], [3],
         {"also_in_test": 3, "also_in_validation": 1}),
        # a pair of validation that is in test does not remove its translation from train
        (HELD_OUT, [("q", "e")], [0], {}),
        (OTHERS, [(" „C\x1f\u200b “ €", "Hi"), ("Gute Nacht", "Good night")], [1],
         {"also_in_validation": 1}),
        (OTHERS, [("Ja.", "Yes."), ("ja", "yes!"), ("Ja.", "Yeah.")], [0, 2], {"duplicate": 1}),
        (OTHERS, [("a", "b"), *SAME, ("x", "y " * 200)], [0],
         {"untranslated": 7, "too_many_words": 1}),
    ],
)  # fmt: skip
def test_removed_pairs_are_counted_by_reason(clean, given, train, left, reasons):
    """The first of equal pairs stays."""
    filtered, _, kept = clean({"train": train} | given)

    assert count_removed(filtered, "train") == reasons
    assert kept["train"] == [train[row] for row in left]
    assert kept["validation"] == given["validation"][:1]
    assert kept["test"] == given["test"]
    also = {"also_in_test": 1} if given is HELD_OUT else {}
    assert count_removed(filtered, "validation") == also


def test_duplicates_stay_if_set(clean):
    train = [Pair("Ja.", "Yes."), Pair("ja", "yes!"), Pair("Ja.", "Yeah.")]
    filters = FilterConfig(remove_duplicates=False)
    assert train == clean({"train": train} | OTHERS, filters=filters)[-1]["train"]


def test_held_out_pairs_are_never_repeated(clean):
    """Filters have no influence: a repeated sentence in a test set would count twice."""
    pairs = [Pair(f"Satz {n}", f"Sentence {n}") for n in range(40)]
    again = [Pair(f"Satz {n}!", f"SENTENCE {n}") for n in range(40)]
    filters = FilterConfig(remove_duplicates=False)
    filtered, _, kept = clean({"train": pairs + again}, filters=filters)

    for name in ("validation", "test"):
        assert kept[name]
        assert set(kept[name]) <= set(pairs)
        assert count_removed(filtered, name) == {"duplicate": len(kept[name])}
    assert len(kept["train"]) == 2 * len(set(kept["train"]) & set(pairs))


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (Pair("Guten Tag.", "Hello."), None),
        (Pair("Ja.", "Yes, of course I will."), None),
        (Pair("word " * 150, "Wort " * 150), None),
        (Pair("word " * 151, "Wort " * 150), "too_many_words"),
        (Pair("x" * 500, "y" * 1001), "too_many_characters"),
        (Pair("ja", "y" * 60), None),
        (Pair("ja", "y" * 61), "length_ratio"),
        (Pair("y" * 121, "x" * 40), "length_ratio"),
        (Pair("2014", "2014"), None),
        (Pair("Das steht auf Deutsch da.", "das steht auf Deutsch da"), "untranslated"),
    ],
)
def test_removed_pairs_have_a_reason(pair, expected):
    assert expected == find_fault(pair, FilterConfig())
    assert find_fault(Pair("Guten Tag.", "Hello."), FilterConfig(min_words=2)) == "too_few_words"


@pytest.mark.parametrize(
    ("line", "letters"),
    [("Grüße, мир! ไทย", 15), ("漢字", 6), ("かなカナ", 8), ("한국어요", 8), ("𠀀", 3)],
)
def test_letters_of_a_line(line, letters):
    assert count_letters(line) == letters


LONG = (
    "We all know how difficult it is to find a balance between the protection of nature and growth."
)


@pytest.mark.parametrize(
    "line",
    [
        "我们都知道，在保护自然与增长之间找到平衡有多么困难。",
        "自然保護と成長のバランスを取ることがいかに難しいか、私たちは皆知っています。",
        "우리는 모두 자연 보호와 성장 사이의 균형을 찾는 것이 얼마나 어려운지 알고 있습니다.",
        "เราทุกคนรู้ดีว่าการหาสมดุลระหว่างการปกป้องธรรมชาติและการเติบโตนั้นยากเพียงใด",
        "Мы все знаем, как трудно найти равновесие между охраной природы и ростом.",
    ],
)
def test_lengths_are_compared_in_any_script(line):
    config = FilterConfig(max_length_ratio=1.5)

    assert find_fault(Pair(LONG, line), config) is None
    assert find_fault(Pair(line, LONG), config) is None
    assert find_fault(Pair(LONG * 3, line), FilterConfig(max_length_ratio=2.0)) == "length_ratio"


@pytest.mark.parametrize(
    ("contents", "drop", "reasons"),
    [
        ([b""], (), ["for train ", "empty"]),
        ([b"\n \n\n"], UNUSABLE, ["for train ", "empty_side 3"]),
        ([b"a\n"], (), ["test is empty", "raise split.test_per_10000"]),
        ([b"ja\r" * 50_000], UNUSABLE, ["for train ", "line_too_long 1"]),
        ([b"a\n", b"b\n"], (), ["validation is empty", "raise split.validation_per_10000"]),
        ([b"a\n", b"b\n", b"\n"], UNUSABLE, ["for validation ", "empty_side 1"]),
        ([b"a\n", b"\n", b"c\n"], UNUSABLE, ["for test ", "empty_side 1"]),
    ],
)
def test_empty_split_is_refused_with_its_reason(tmp_path, contents, drop, reasons):
    """Given are train, test and validation, in this order; others are split off."""
    texts = {}
    for split, content in zip(("train", "test", "validation"), contents, strict=False):
        paths = (tmp_path / f"{split}.de", tmp_path / f"{split}.en")
        for path in paths:
            path.write_bytes(content)
        texts[split] = Text((paths,), drop)
    with pytest.raises(CorpusError) as caught:
        clean_corpora({"own": texts}, tmp_path, tmp_path, split=SplitConfig())
    assert all(reason in str(caught.value) for reason in reasons)


def test_contradicting_limits_are_refused():
    with pytest.raises(ConfigError, match="min_words 9 is above max_words 8"):
        build(FilterConfig, {"min_words": 9, "max_words": 8}, at="at")


def test_memory_holds_no_text_and_no_endless_line(tmp_path):
    """Memory contains two digests of eight bytes per pair, and the current chunk of one process."""
    source, target = paths = (tmp_path / "a.de", tmp_path / "a.en")
    for path in paths:
        with path.open("w") as file:
            file.writelines(f"{number} {'ja ' * 1500}\n" for number in range(100))
    with source.open("a") as file, target.open("a") as other:
        file.writelines("nein " * 1000 for _ in range(4000))
        other.write("endless\n")

    tracemalloc.start()
    filtered, _ = clean_corpora(
        {"own": {"train": Text((paths,), UNUSABLE)}},
        tmp_path,
        tmp_path,
        filters=FilterConfig(max_words=5000, max_characters=5000, remove_untranslated=False),
    )
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert sum(count_kept(filtered).values()) == 100
    assert filtered["own"].readings["train"].dropped == {"line_too_long": 1}
    assert most_bytes < source.stat().st_size / 4


PLANTED = {
    "train": [
        Pair("Das ist ein Satz über Vögel und Bäume.", "Something else altogether, of course."),
        Pair("Nichts davon steht irgendwo.", "This is another sentence about birds and bees."),
        Pair("Ein ganz anderer Satz ohne Bezug.", "A wholly different sentence."),
        Pair("Das ist ein Satz über VÖGEL und Fische!", "None of it stands anywhere."),
    ],
    "validation": [
        Pair("Wir warten noch auf den Bus.", "This is one sentence about birds and bees.")
    ],
    "test": [
        Pair("Das ist ein Satz über Vögel und Fische.", "Here are words that concern fish."),
        Pair("Etwas Neues.", "Something new."),
    ],
}


def test_near_duplicates_are_removed_and_counted(clean):
    filtered, near, pairs = clean(PLANTED, near=NearDuplicateConfig(distance=0.25))

    assert [2, 0, 1] == near.counts.tolist()
    assert [0, 1, 3] == near.rows.tolist()
    assert count_removed(filtered, "train") == {"also_in_test": 1, "near_duplicate": 2}
    assert pairs["train"] == [PLANTED["train"][2]]


@given(train=corpora, test=corpora)
@settings(max_examples=15)
def test_train_keeps_no_near_duplicates(clean, train, test):
    near = NearDuplicateConfig(distance=0.4)
    done = clean_or_nothing(clean, {"train": train, "validation": test, "test": test}, near=near)
    if done is None:
        return
    pairs = done[-1]
    for side in ("source", "target"):
        index = SentenceIndex([getattr(pair, side) for pair in pairs["test"]], 0.4)
        assert not index.find_near([getattr(pair, side) for pair in pairs["train"]])
