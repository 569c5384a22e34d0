"""Corpora by name are joined, filtered and split together."""

from collections import Counter
from functools import partial

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.corpora.filters import make_comparison_key
from nmt_core.corpora.named import describe_rule, describe_together, estimate_total
from stages.params import DownloadParams
from tests.support.bringing import bring

SPLITS = ("train", "validation", "test")
LANGUAGES = {"source": "de", "target": "en"}
WORDS = ["Haus", "Baum", "Katze", "Hund", "Tisch", "Stuhl"]
QUARTERS = {"validation_per_10000": 2500.0, "test_per_10000": 2500.0}


def settings(corpora, **others):
    values = {
        "languages": LANGUAGES,
        "corpora": corpora,
        "split": QUARTERS,
        "near_duplicates": {"distance": 0.0},
        **others,
    }
    return build(DownloadParams, values, at="download")


@pytest.fixture
def corpus(tmp_path):
    """Write a corpus; return its settings."""

    def corpus(name, pairs, **others):
        for split, lines in (pairs if isinstance(pairs, dict) else {"train": pairs}).items():
            path = tmp_path / f"{name}.{split}.tsv"
            path.write_text("".join(f"{source}\t{target}\n" for source, target in lines))
            others[split] = {"source": str(path)}
        return {"kind": "files", "licence": "own", **others}

    return corpus


@pytest.fixture
def run(tmp_path):
    return partial(bring, folder=tmp_path)


def numbered(name, count):
    return [
        (f"{name} {number} {WORDS[number % 6]}", f"the {name} {number}") for number in range(count)
    ]


sentences = st.sampled_from([f"{word}{sign}" for word in WORDS for sign in (".", "!", " 2")])
texts = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=25)


@limits(max_examples=30)
@given(corpora=st.lists(texts, min_size=2, max_size=3), alone=st.booleans())
def test_no_test_sentence_is_learnt_from_another_corpus(tmp_path_factory, corpora, alone):
    folder = tmp_path_factory.mktemp("several")
    named = {}
    for number, pairs in enumerate(corpora):
        path = folder / f"{number}.tsv"
        path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
        named[f"c{number}"] = {
            "kind": "files",
            "licence": "own",
            "train": {"source": str(path)},
            "train_only": alone and number > 0,
        }
    try:
        measured, found = bring(settings(named), folder)
    except CorpusError:
        return
    for side in (0, 1):
        keys = {
            name: {make_comparison_key(one[side]) for one in each} for name, each in found.items()
        }
        assert not keys["test"] & (keys["train"] | keys["validation"])
        assert not keys["validation"] & keys["train"]
    train, begin = found["train"], 0
    for number, pairs in enumerate(corpora):
        counts = measured["corpora"][f"c{number}"]
        held = sum(counts["pairs"].values())
        lost = sum(sum(reasons.values()) for reasons in counts["removed"].values())
        assert held + lost == len(pairs)
        end = begin + counts["pairs"]["train"]
        order = iter(pairs)
        assert all(pair in order for pair in train[begin:end])  # in the order of the corpus
        begin = end
        if alone and number > 0:
            assert counts["pairs"]["test"] == counts["pairs"]["validation"] == 0
    assert begin == len(train) == measured["pairs"]["train"]


def test_only_changes_are_read_again(run, corpus, filtered, tmp_path):
    one, two = (corpus(name, numbered(name, 40)) for name in ("one", "two"))
    _, before = run(settings({"one": one, "two": two}))
    assert filtered() == Counter(["one", "two"])

    three = corpus("three", numbered("three", 40))
    _, more = run(settings({"one": one, "two": two, "three": three}))
    assert filtered() == Counter(["three"])
    assert more["train"][: len(before["train"])] == before["train"]

    others = {"weight": 9.0, "licence": "cc0-1.0", "tag": "own"}
    measured, _ = run(settings({"one": one, "zwei": two, "three": three | others}))
    assert filtered() == Counter()
    assert [corpus["tag"] for corpus in measured["corpora"].values()] == ["", "", "own"]
    _, again = run(settings({"one": one, "two": two}))
    assert (filtered(), again) == (Counter(), before)

    run(settings({"one": one, "two": two | {"filter": {"max_words": 7}}}, filter={"max_words": 9}))
    assert filtered() == Counter(["one", "two"])
    run(settings({"one": one, "two": two | {"filter": {"max_words": 8}}}, filter={"max_words": 9}))
    assert filtered() == Counter(["two"])
    one = corpus("one", numbered("one", 41))
    last = settings(
        {"one": one, "two": two | {"filter": {"max_words": 8}}}, filter={"max_words": 9}
    )
    run(last)
    assert filtered() == Counter(["one"])
    run(last, code="another")
    assert filtered() == Counter(["one", "two"])
    assert len([*(tmp_path / "downloads/sifted").iterdir()]) == 2


def test_other_languages_or_splits_are_read_anew(run, tmp_path, filtered):
    rows = [f"satz {number},line {number},phrase {number}\n" for number in range(60)]
    (tmp_path / "a.csv").write_text("de,en,fr\n" + "".join(rows))
    corpora = {"own": {"kind": "files", "train": {"source": str(tmp_path / "a.csv")}}}
    _, first = run(settings(corpora), code="c")
    _, salted = run(settings(corpora, split={**QUARTERS, "salt": "x"}), code="c")
    assert salted["test"] != first["test"]
    french = {"languages": {"source": "de", "target": "fr"}, "split": {**QUARTERS, "salt": "x"}}
    _, other = run(settings(corpora, **french), code="c")
    assert {target.split()[0] for _, target in other["train"]} == {"phrase"}
    assert filtered() == {"own": 3}


def test_examples_are_the_first_removed_pairs(run, corpus):
    """However many parts the corpora have."""
    pairs = [(f"satz {number}", "line " * (1 + 20 * (number % 4 == 3))) for number in range(40)]
    given = {"train": pairs, "validation": [("u", "v")], "test": [("w", "x")]}
    config = settings({"own": corpus("own", given)})
    found = [run(config, code=str(lines), chunk_lines=lines)[0] for lines in (3, 40)]
    first, whole = (one["corpora"]["own"]["examples"]["length_ratio"] for one in found)
    assert [source for source, _ in first] == ["satz 3", "satz 7", "satz 11"]
    assert first == whole


def test_a_corpus_keeps_its_own_filter(run, corpus):
    one = corpus("one", [*numbered("one", 40), ("Ja", "Yes"), ("Ja", "Yes")])
    two = corpus("two", [*numbered("two", 40), ("Nein", "No"), ("Nein", "No")])
    loose = {"filter": {"remove_duplicates": False, "max_words": 3}}
    measured, texts = run(settings({"one": one, "two": two | loose}, split=GIVEN | QUARTERS))

    everything = [pair for pairs in texts.values() for pair in pairs]
    assert everything.count(("Ja", "Yes")) == 1
    assert everything.count(("Nein", "No")) == 2
    assert set(measured["corpora"]) == {"one", "two"}


GIVEN = {"salt": "1"}
"""The hash holds neither short sentence out."""


def test_the_test_set_is_refused_as_corpus(run, corpus):
    pairs = numbered("one", 40)
    one = corpus("one", {"train": numbered("x", 9), "validation": [("a", "b")], "test": pairs})
    with pytest.raises(CorpusError, match=r"two is left for train.*also_in_test 40\).*other text"):
        run(settings({"one": one, "two": corpus("two", pairs)}))
    same = corpus("same", {"train": pairs, "validation": [("a", "b")], "test": pairs})
    with pytest.raises(CorpusError, match=r"for train \(removed: also_in_test 40\).*other text"):
        run(settings({"same": same}))


def test_given_sets_are_joined_and_replace_splitting(run, corpus):
    sets = {"validation": [("a", "b")], "test": [("c", "d")]}
    one = corpus("one", {"train": numbered("one", 40), **sets})
    two = corpus("two", {"train": numbered("two", 40), "test": [("e", "f")]})
    measured, texts = run(settings({"one": one, "two": two}))

    assert (texts["validation"], texts["test"]) == ([("a", "b")], [("c", "d"), ("e", "f")])
    assert measured["pairs"]["train"] == 80
    _, texts = run(settings({"one": one, "two": two | {"train_only": True}}))
    assert texts["test"] == [("c", "d")]


def one(**changes):
    return {"one": changes}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (one(weight=-1.0), "corpora.one.weight must be greater than or equal to 0, got -1"),
        (one(weight=0.0) | {"two": {"weight": 0.0}}, "every weight of corpora is 0"),
        (one(train_only=True) | {"two": {"train_only": True}}, "nothing to validate and test"),
        (one(licence=""), "corpora.one.licence is empty"),
        (one(wieght=1.0), "corpora.one.wieght is not a parameter; did you mean 'weight'"),
        (one(filter={"max_word": 1}), "corpora.one.filter.max_word is not a parameter; did"),
        (one(kind="file"), "corpora.one.kind must be one of .*'files'.*, got 'file'"),
        ({"Eins": {}}, "corpora.Eins: the name of a corpus must have at most 40"),
        ({"../x": {}}, "the name of a corpus"),
        (one(tag="my tag"), "a tag is a name of at most 40 letters.*got 'my tag'"),
        (one(tag="a\n"), "a tag is a name of at most 40 letters"),
    ],
)
def test_contradictory_settings_are_refused(corpus, change, expected):
    corpora = {name: corpus(name, [("a", "b")]) for name in ("one", "two")}
    for name, values in change.items():
        corpora[name] = corpora.get(name, corpora["one"]) | values
    with pytest.raises(ConfigError, match=f"^download[.:].*{expected}"):
        settings(corpora)


def test_one_language_on_both_sides_is_refused(corpus):
    """It is usually a mistake; for translation within a language, the sides have codes."""
    corpora = {"one": corpus("one", [("a", "b")])}
    with pytest.raises(ConfigError, match=r"both de; .* such as de and de-simple$"):
        settings(corpora, languages={"source": "de", "target": "de"})
    assert settings(corpora, languages={"source": "de", "target": "de-simple"})


def test_the_card_names_each_licence(corpus):
    params = settings(
        {
            "own": corpus("own", [("a", "b")]),
            "demo": {"kind": "demo", "grammar": {}},
            "free": corpus("free", [("a", "b"), ("c", "dd")], licence="cc0-1.0"),
        }
    )
    together = describe_together(params.corpora)

    assert together.name == "own, demo, free"
    assert together.licence == {"license": "other", "license_name": "apache-2.0, cc0-1.0, own"}
    for words in ("own (own):", "demo (apache-2.0):", "free (cc0-1.0):"):
        assert words in together.text
    assert estimate_total(params.corpora, params.languages, (), lambda _: None).pairs == 36_003
    unread = {**params.corpora, "own": params.corpora["own"].model_copy(update={"weight": 0.0})}
    assert estimate_total(unread, params.languages, (), lambda _: None).pairs == 36_002


def test_hash_rules_apply_to_all_corpora_or_none(corpus):
    corpora = {name: corpus(name, [("a", "b")]) for name in ("one", "two")}
    by_hash = settings(corpora)
    assert describe_rule(by_hash.corpora, by_hash.split).startswith("by hash, 2500 in 10,000")
    corpora["two"]["train_only"] = True
    partly = settings(corpora)
    assert describe_rule(partly.corpora, partly.split) == "as it was given"
