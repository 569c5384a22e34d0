import tracemalloc
import unicodedata
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base import files
from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.parallel.jobs import WorkersConfig
from nmt_core.corpora.cleaning import join_corpora
from nmt_core.corpora.filtering import FilterRules, filter_corpus
from nmt_core.corpora.filters import FilterConfig, count_letters, find_fault, make_comparison_key
from nmt_core.corpora.near_duplicates import SentenceIndex, cut_words
from nmt_core.corpora.parallel_text import UNUSABLE, Pair, Text
from nmt_core.corpora.splitting import NearDuplicateConfig, SessionSplit, SplitConfig, split_of
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
        outcome = clean_corpora(
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
            *(f"{name}.{side}" for name in SPLITS for side in ("source", "target")),
            *(["test.near"] if near.distance else []),
        }
        if near.distance:
            tests = outcome.kept["test"]
            counts = [int(line) for line in files.read_lines(folder / "test.near")]
            assert counts == outcome.near.counts[:tests].tolist()
        return outcome, {name: read(folder, name) for name in SPLITS}

    return clean


def clean_corpora(
    corpora, folder, scratch, *, filters=LOOSE, split=HALVES, near=NOTHING_NEAR, workers=None
):
    """Sift each corpus, and join them all."""
    workers = workers or WorkersConfig(processes=1)
    off = frozenset(SPLITS[1:]).difference(*corpora.values())
    filtered = {}
    for name, texts in corpora.items():
        place = folder.with_name(f"{folder.name}-{name}")
        place.mkdir()
        rules = FilterRules(filters, split, off)
        filtered[name] = filter_corpus(texts, place, scratch=scratch, rules=rules, workers=workers)
        filtered[name].keep_duplicates = not filters.remove_duplicates
    return join_corpora(
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
@settings(max_examples=30)
def test_no_sentence_is_in_two_splits(clean, train, validation, test, split_off):
    """Neither side of test is left in validation or train, nor one of validation in train."""
    texts = {"train": train, "validation": validation, "test": test}
    done = clean_or_nothing(clean, {k: v for k, v in texts.items() if k not in split_off})
    if done is None:
        return
    outcome, kept = done
    for side in ("source", "target"):
        assert not keys(kept["test"], side) & keys(kept["validation"], side)
        assert not keys(kept["test"], side) & keys(kept["train"], side)
        assert not keys(kept["validation"], side) & keys(kept["train"], side)
    read_pairs = sum(len(pairs) for name, pairs in texts.items() if name not in split_off)
    removed = sum(sum(outcome.list_reasons(name).values()) for name in SPLITS)
    assert read_pairs == sum(outcome.kept.values()) + removed
    assert {name: len(pairs) for name, pairs in kept.items()} == outcome.kept


@given(corpus=corpora, more=corpora)
@settings(max_examples=30)
def test_a_pair_keeps_its_split_when_others_come(clean, corpus, more):
    """It may leave train or validation because a new test sentence equals it; it never moves."""
    before = clean_or_nothing(clean, {"train": corpus})
    after = clean_or_nothing(clean, {"train": corpus + more})
    if before is None or after is None:
        return
    assert set(before[1]["test"]) <= set(after[1]["test"])
    for name in SPLITS:
        for other in set(SPLITS) - {name}:
            assert not set(before[1][name]) & set(after[1][other])


@given(corpus=corpora, test=corpora)
@settings(max_examples=30)
def test_a_given_test_set_stays_as_it_is(clean, corpus, test):
    done = clean_or_nothing(clean, {"train": corpus, "test": test})
    if done is not None:
        assert test == done[1]["test"]


@given(source=lines, rate=st.floats(1, 4000), other=st.floats(1, 4000))
def test_the_size_of_one_split_does_not_touch_the_other(source, rate, other):
    small = SplitConfig(validation_per_10000=rate, test_per_10000=min(rate, other))
    large = SplitConfig(validation_per_10000=rate, test_per_10000=max(rate, other))

    if split_of(source, small) != "train":
        assert split_of(source, small) == split_of(source, large)


@pytest.mark.parametrize(("validation", "test"), [(2500, 2500), (1000, 3000)])
def test_splits_have_the_size_that_was_asked_for(validation, test):
    sizes = SplitConfig(validation_per_10000=validation, test_per_10000=test)
    counts = Counter(split_of(f"Satz {number}", sizes) for number in range(20_000))

    assert counts["test"] == pytest.approx(2 * test, rel=0.05)
    assert counts["validation"] == pytest.approx(2 * validation, rel=0.1)


def test_splits_never_change_between_versions():
    """These values are a promise: another hash would move sentences from test into train."""
    sentences = ["Guten Tag.", "Der Hund schläft.", "Wo ist das Buch?", "Danke!", "Ein Haus."]

    kept = [split_of(sentence, HALVES) for sentence in sentences]
    assert kept == ["validation", "test", "test", "test", "train"]
    other = HALVES.model_copy(update={"salt": "other"})
    differing = sum(split_of(f"{n}", HALVES) != split_of(f"{n}", other) for n in range(1000))
    assert differing > 400


def test_a_variant_of_a_sentence_leaks(clean):
    train = [Pair(" „GUTEN\x1f\u200b  Tag“ €", "Hi"), Pair("Gute Nacht", "Good night")]
    texts = {"train": train, "validation": [Pair("c", "d")], "test": [Pair("Guten Tag.", "Hello.")]}

    outcome, kept = clean(texts)
    assert [train[1]] == kept["train"]
    assert outcome.list_reasons("train") == {"also_in_test": 1}


keyed = st.text(
    st.sampled_from(
        "aΑα=Iı⊊ \u0301\u0308\u0338\u0345\u00ad\u200b\u200d\ufe0f\ufeff\x00\x1c\x1f\t.▁_"
    ),
    max_size=8,
)


@given(keyed)
def test_lines_that_a_model_cannot_tell_apart_are_one_sentence(line):
    assert make_comparison_key(line) == make_comparison_key(normalize(line))


@given(keyed | st.text(max_size=8))
def test_a_key_is_its_own_key(line):
    key = make_comparison_key(line)

    assert make_comparison_key(key) == key


@given(keyed | st.text(max_size=8))
def test_keys_and_words_leave_out_the_same(line):
    """So that what is equal as a whole is near in words, too."""
    words = unicodedata.normalize("NFC", "".join(cut_words(normalize(line))))

    assert not words or words == make_comparison_key(line)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("λόγος", "ΛΌΓΟΣ"),
        ("5 €", "5"),
        ("❤️ dich", "❤ dich"),
        ("Gar\u00adten", "Garten"),
        *((line, "Köln") for line in ("Ko\u0308ln", "Ko\u200b\u0308ln", "Ko\ufeff\x01\u0308ln")),
        *((line, "Guten Tag.") for line in ("guten tag", " „Guten  Tag“ ", "Guten\u00a0Tag…")),
        *((line, "Guten Tag.") for line in ("Guten\u200bTag", "Guten\x1fTag", "Gu\x01ten Tag €")),
    ],
)
def test_neither_case_nor_symbols_nor_composition_are_a_difference(one, other):
    """Nor is what a model never sees, also where it parts a letter from its accent."""
    assert make_comparison_key(one) == make_comparison_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("17 Uhr", "18 Uhr"), ("...", "?"), ("का", "की"), ("Köln", "Koln")]
)
def test_different_sentences_stay_different(one, other):
    assert make_comparison_key(one) != make_comparison_key(other)


def test_leaks_are_counted_by_where_they_leak_from(clean):
    texts = {
        "train": [Pair("a", "x"), Pair("y", "b"), Pair("c", "z"), Pair("q", "r"), Pair("a", "x")],
        "validation": [Pair("c", "d"), Pair("a", "e")],
        "test": [Pair("a", "b")],
    }
    outcome, kept = clean(texts)

    assert outcome.list_reasons("train") == {"also_in_test": 3, "also_in_validation": 1}
    assert outcome.list_reasons("validation") == {"also_in_test": 1}
    assert kept == {"train": [("q", "r")], "validation": [("c", "d")], "test": [("a", "b")]}


def test_of_equal_pairs_that_are_split_off_the_first_stays(clean):
    """Whatever the filters say: a test set that holds a sentence twice would count it twice."""
    pairs = [Pair(f"Satz {n}", f"Sentence {n}") for n in range(40)]
    again = [Pair(f"Satz {n}!", f"SENTENCE {n}") for n in range(40)]
    outcome, kept = clean({"train": pairs + again}, filters=FilterConfig(remove_duplicates=False))

    for name in ("validation", "test"):
        assert kept[name]
        assert set(kept[name]) <= set(pairs)
        assert outcome.list_reasons(name) == {"duplicate": len(kept[name])}
    assert len(kept["train"]) == 2 * len(set(kept["train"]) & set(pairs))


def test_what_leaves_a_split_takes_nothing_else_with_it(clean):
    """A pair of validation that is in test is no reason to remove its translation from train."""
    texts = {
        "train": [Pair("q", "e")],
        "validation": [Pair("c", "d"), Pair("a", "e")],
        "test": [Pair("a", "b")],
    }
    assert clean(texts)[1]["train"] == texts["train"]


def test_the_first_of_equal_pairs_stays(clean):
    train = [Pair("Ja.", "Yes."), Pair("ja", "yes!"), Pair("Ja.", "Yeah.")]
    texts = {"train": train, "validation": [Pair("c", "d")], "test": [Pair("e", "f")]}

    outcome, kept = clean(texts)
    assert [train[0], train[2]] == kept["train"]
    assert outcome.list_reasons("train") == {"duplicate": 1}
    assert train == clean(texts, filters=FilterConfig(remove_duplicates=False))[1]["train"]


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
def test_unfit_pairs_are_told_why(pair, expected):
    assert expected == find_fault(pair, FilterConfig())
    assert find_fault(Pair("Guten Tag.", "Hello."), FilterConfig(min_words=2)) == "too_few_words"


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
def test_a_translation_is_as_long_in_any_script(line):
    config = FilterConfig(max_length_ratio=1.5)

    assert find_fault(Pair(LONG, line), config) is None
    assert find_fault(Pair(line, LONG), config) is None
    assert find_fault(Pair(LONG * 3, line), FilterConfig(max_length_ratio=2.0)) == "length_ratio"


def test_letters_of_a_line():
    assert count_letters("Grüße, мир! ไทย") == 15
    assert count_letters("漢字") == 6
    assert count_letters("かなカナ") == count_letters("한국어요") == 8
    assert count_letters("𠀀") == 3


def test_unfit_pairs_leave_train_and_are_counted(clean):
    same = [Pair(f"{number} " * 20, f"{number} " * 20) for number in range(7)]
    train = [Pair("a", "b"), *same, Pair("x", "y " * 200)]
    outcome, kept = clean(
        {"train": train, "validation": [Pair("c", "d")], "test": [Pair("e", "f")]}
    )

    assert train[:1] == kept["train"]
    assert outcome.list_reasons("train") == {"untranslated": 7, "too_many_words": 1}


def test_validation_and_test_are_never_filtered(clean):
    odd = Pair("ja " * 500, "y")
    kept = clean({"train": [Pair("a", "b")], "validation": [Pair("c", "d")], "test": [odd]})[1]
    assert [odd] == kept["test"]


@pytest.mark.parametrize(
    ("text", "drop", "expected", "more"),
    [
        (b"", (), "no pair is left for train (removed: none, the text is empty)", ""),
        (b"\n \n\n", UNUSABLE, "no pair is left for train (removed: empty_side 3)", ""),
        (b"a\n", (), "no pair of 1 fell into test at 10 in 10,000", "raise split.test_per_10000"),
        (b"a\rb\rc\r", UNUSABLE, "no pair of 1 fell into test at 10 in 10,000", "CR alone"),
        (b"ja\r" * 50_000, UNUSABLE, "no pair is left for train (removed: line_too", "CR alone"),
    ],
)
def test_a_split_without_a_pair_is_told_with_the_reason(tmp_path, text, drop, expected, more):
    paths = (tmp_path / "a.de", tmp_path / "a.en")
    for path in paths:
        path.write_bytes(text)
    with pytest.raises(CorpusError) as caught:
        clean_corpora(
            {"own": {"train": Text((paths,), drop)}}, tmp_path, tmp_path, split=SplitConfig()
        )
    assert str(caught.value).startswith(expected)
    assert more in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (FilterConfig, {"min_words": 9, "max_words": 8}, "min_words 9 is above max_words 8"),
        (SplitConfig, {"validation_per_10000": 5e3, "test_per_10000": 5e3}, "nothing to train on"),
        (SplitConfig, {"salt": "ä" * 33}, "at: salt is longer than 64 bytes"),
    ],
)
def test_settings_that_contradict_are_refused(kind, values, expected):
    with pytest.raises(ConfigError, match=expected):
        build(kind, values, at="at")


def test_memory_holds_neither_the_text_nor_an_endless_line(tmp_path):
    """But two digests of eight bytes per pair, and what one process has at hand."""
    source, target = paths = (tmp_path / "a.de", tmp_path / "a.en")
    for path in paths:
        with path.open("w") as file:
            file.writelines(f"{number} {'ja ' * 1500}\n" for number in range(100))
    with source.open("a") as file, target.open("a") as other:
        file.writelines("nein " * 1000 for _ in range(4000))
        other.write("endless\n")

    tracemalloc.start()
    outcome = clean_corpora(
        {"own": {"train": Text((paths,), UNUSABLE)}},
        tmp_path,
        tmp_path,
        filters=FilterConfig(max_words=5000, max_characters=5000, remove_untranslated=False),
    )
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert sum(outcome.kept.values()) == 100
    assert outcome.corpora["own"].readings["train"].dropped == {"line_too_long": 1}
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


@pytest.mark.parametrize("remove", [True, False])
def test_near_duplicates_of_either_side_are_removed_and_counted(clean, remove):
    outcome, pairs = clean(PLANTED, near=NearDuplicateConfig(distance=0.25, remove=remove))

    assert [2, 0, 1] == outcome.near.counts.tolist()
    assert [0, 1, 3] == outcome.near.rows.tolist()
    expected = {"also_in_test": 1} | ({"near_duplicate": 2} if remove else {})
    assert expected == outcome.list_reasons("train")
    assert pairs["train"] == ([PLANTED["train"][2]] if remove else PLANTED["train"][:3])


@given(train=corpora, test=corpora)
@settings(max_examples=30)
def test_nothing_near_is_left_in_train(clean, train, test):
    near = NearDuplicateConfig(distance=0.4)
    done = clean_or_nothing(clean, {"train": train, "validation": test, "test": test}, near=near)
    if done is None:
        return
    _, pairs = done
    for side in ("source", "target"):
        index = SentenceIndex([getattr(pair, side) for pair in pairs["test"]], 0.4)
        assert not any(index.find_near(getattr(pair, side)) for pair in pairs["train"])


def test_the_last_pairs_of_sessions_are_set_aside(clean, tmp_path):
    """Those that stand nowhere else; the others are for training, if they are fit."""
    names = ["day 1"] * 4 + ["day 3"] * 2 + ["day 2"] * 4
    pairs = [Pair(f"Satz {number}", f"Sentence {number}") for number in range(10)]
    pairs[4] = Pair("SATZ 0", "Something else")  # stands elsewhere
    pairs[5] = Pair("kurz", "far longer than what it says it is a translation of, by any measure")
    pairs[7] = Pair("x", "and this one is longer than it ought to be, and so not fit for training")
    (tmp_path / "meta.tsv").write_text("".join(f"{name}\n" for name in names))
    sessions = SessionSplit(
        file=tmp_path / "meta.tsv", held_out=("day 2", "day 3"), test_pairs=2, validation_pairs=3
    )
    filters = FilterConfig(max_words=10, max_length_ratio=9)
    asked = {"split": SplitConfig(sessions=sessions), "filters": filters}
    outcome, split = clean({"train": pairs}, **asked)

    assert [pairs[5], pairs[9]] == split["test"]
    assert [pairs[6], pairs[7], pairs[8]] == split["validation"]
    assert {*pairs} - {*split["test"], *split["validation"]} == {*split["train"]}
    assert {"train": 5, "validation": 3, "test": 2} == outcome.kept

    few = sessions.model_copy(update={"test_pairs": 1, "validation_pairs": 1})
    outcome, split = clean({"train": pairs}, **asked | {"split": SplitConfig(sessions=few)})
    assert [[pairs[5]], [pairs[9]]] == [split["test"], split["validation"]]
    assert {"too_many_words": 1} == outcome.list_reasons("train")
    assert pairs[7] not in split["train"]


def test_a_test_set_that_was_given_takes_nothing_of_the_sessions(clean, tmp_path):
    pairs = [Pair(f"Satz {number}", f"Sentence {number}") for number in range(6)]
    (tmp_path / "meta.tsv").write_text("a\n" * 3 + "b\n" * 2)
    sessions = SessionSplit(file=tmp_path / "meta.tsv", held_out=("b",), validation_pairs=1)
    _, split = clean({"train": pairs[:5], "test": pairs[5:]}, split=SplitConfig(sessions=sessions))

    assert [pairs[5:], [pairs[4]], pairs[:4]] == [
        split[name] for name in ("test", "validation", "train")
    ]
