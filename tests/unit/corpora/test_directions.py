"""Several directions: each corpus serves those of its languages, and no sentence leaks."""

import json

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.languages import read_directions, summarize_directions
from nmt_core.corpora.filters import make_comparison_key
from stages.download import list_tags
from stages.params import DownloadParams
from stages.reporting.download_report import DownloadReport
from tests.support.bringing import bring

SPLITS = ("train", "validation", "test")
WORDS = ["Haus", "Baum", "Katze", "Hund", "Tisch", "Stuhl"]


def write_corpus(folder, name, languages, pairs, **others):
    """Write a corpus; return its settings."""
    path = folder / f"{name}.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    train = {"source": str(path)}
    return {"kind": "files", "licence": "own", "languages": languages, "train": train, **others}


def build_download(corpora, directions, **others):
    pairs = read_directions(" ".join(dict.fromkeys(directions)))
    values = {
        "languages": summarize_directions(pairs).model_dump(),
        "directions": directions,
        "corpora": corpora,
        "split": {"validation_per_10000": 2500.0, "test_per_10000": 2500.0},
        "near_duplicates": {"distance": 0.0},
    }
    return build(DownloadParams, values | others, at="download")


def number(word, language, count=60):
    return [(f"{word} {n} {language}", f"the {word} {n}") for n in range(count)]


def test_a_corpus_serves_both_directions_with_one_split(tmp_path):
    german = write_corpus(tmp_path, "german", "de-en", number("Haus", "de"))
    french = write_corpus(tmp_path, "french", "en-fr", number("chat", "en"), tag="news")
    text = [pair[::-1] for pair in number("Haus", "de", 80)]  # that of g, and 20 new pairs
    synthetic = {"kind": "synthetic", "train_only": True, "tag": "made"}
    made = write_corpus(tmp_path, "made", "en-de", text, **synthetic)
    params = build_download({"g": german, "f": french, "m": made}, ["de-en", "en-de", "fr-en"])
    measured, pairs = bring(params, folder=tmp_path)
    report = DownloadReport.parse(measured)
    described = json.loads((tmp_path / "corpus/corpus.json").read_text())

    assert [*report.corpora] == ["g", "g en-de", "f fr-en", "m"]
    assert described["directions"] == ["de-en", "en-de", "fr-en", "en-de"]
    assert list_tags(report, params.learned) == [[">en"], [">de"], [">en", "news"], [">de", "made"]]
    assert report.corpora["m"].pairs == {"train": 20, "validation": 0, "test": 0}
    for split in SPLITS:
        counts = [corpus[split] for corpus in described["corpora"]]
        lines = pairs[split]
        forward, backward = lines[: counts[0]], lines[counts[0] : counts[0] + counts[1]]
        assert backward == [pair[::-1] for pair in forward]
        others = lines[counts[0] + counts[1] :]
        assert all(pair[0].startswith("the chat") for pair in others[: counts[2]])
        assert others[counts[2] :] == (text[60:] if split == "train" else [])


sentences = st.sampled_from([f"{word}{sign}" for word in WORDS for sign in (".", "!", " 2")])
texts = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=20)


@limits(max_examples=25)
@given(one=texts, two=texts, distance=st.sampled_from([0.0, 0.2]))
def test_no_test_sentence_is_trained_on_in_any_direction(tmp_path_factory, one, two, distance):
    folder = tmp_path_factory.mktemp("directions")
    corpora = {
        "a": write_corpus(folder, "a", "de-en", one),
        "b": write_corpus(folder, "b", "fr-en", two),
    }
    params = build_download(
        corpora, ["de-en", "en-de", "fr-en"], near_duplicates={"distance": distance}
    )
    try:
        _, pairs = bring(params, folder=folder)
    except CorpusError:
        return
    keys = {
        split: {make_comparison_key(line) for pair in pairs[split] for line in pair}
        for split in SPLITS
    }
    assert not keys["train"] & keys["test"]
    assert not keys["train"] & keys["validation"]
    assert not keys["validation"] & keys["test"]


@pytest.mark.parametrize(
    ("languages", "directions", "message"),
    [
        ("de-en", ["de-en", "de-en"], "directions name de-en twice"),
        (None, ["de-en", "fr-en"], "corpora.a.languages is missing; with several directions"),
        ("cs-en", ["de-en", "fr-en"], "corpora.a.languages is cs-en, but the model learns de-en"),
        ("de-de", ["de-en", "fr-en"], "corpora.a.languages is de-de, but the model learns"),
        ("de-en", ["de-en", "fr-en"], "no corpus is in fr-en; add one to corpora"),
        ("de", ["de-en", "fr-en"], "'de' is not a pair of languages; write it like de-en"),
    ],
)
def test_wrong_directions_are_refused(tmp_path, languages, directions, message):
    corpus = write_corpus(tmp_path, "a", languages, number("Haus", "de"))
    with pytest.raises(ConfigError, match=message):
        build_download({"a": corpus}, directions)


def test_languages_must_summarize_the_directions(tmp_path):
    corpus = write_corpus(tmp_path, "a", "de-en", number("Haus", "de"))
    wrong = {"source": "de", "target": "en"}
    with pytest.raises(ConfigError, match="languages is de-en, but directions are mul-mul"):
        build_download({"a": corpus}, ["de-en", "en-de"], languages=wrong)


def test_a_direction_without_a_test_set_is_named(tmp_path):
    german = write_corpus(tmp_path, "a", "de-en", number("Haus", "de"))
    french = write_corpus(tmp_path, "b", "fr-en", number("chat", "fr"), train_only=True)
    with pytest.raises(CorpusError, match="fr-en has no validation pairs; add a corpus"):
        bring(build_download({"a": german, "b": french}, ["de-en", "fr-en"]), folder=tmp_path)


def test_a_test_set_in_one_direction_only_is_split_off_in_the_others(tmp_path):
    given = {"source": str(tmp_path / "own.tsv")}
    (tmp_path / "own.tsv").write_text("Ein Test\tA test\n")
    german = write_corpus(tmp_path, "german", "de-en", number("Haus", "de"), test=given)
    french = write_corpus(tmp_path, "french", "fr-en", number("chat", "fr"))
    params = build_download({"g": german, "f": french}, ["de-en", "fr-en"])
    measured, _ = bring(params, folder=tmp_path)

    assert measured["corpora"]["g"]["pairs"]["test"] == 1
    assert measured["corpora"]["f"]["pairs"]["test"] > 1


@pytest.mark.parametrize(
    ("text", "directions"),
    [
        ("de-en", ["de-en"]),
        ("de-en fr-en", ["de-en", "fr-en"]),
        ("zh-Hant pt-BR", ["zh-Hant-pt-BR"]),
        ("zh-Hant-en pt-BR-en", ["zh-Hant-en", "pt-BR-en"]),
    ],
)
def test_directions_are_read_from_one_line(text, directions):
    assert [*map(str, read_directions(text))] == directions
