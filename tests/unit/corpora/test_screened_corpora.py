"""A corpus is inspected, screened and repaired before it is split."""

import random
import re
from functools import cache

import pytest

from nmt_core.base import files
from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.corpora import filtering
from nmt_core.corpora.filters import LookConfig
from nmt_core.corpora.parallel_text import UNUSABLE, Text, cut_rows
from nmt_core.corpora.screening import inspection, screen
from stages.demo.corpus import GrammarConfig
from stages.params import DownloadParams, load
from tests.support.bringing import bring
from tests.support.demo import draw_corpus
from tests.support.formats import read_as_windows

pytestmark = pytest.mark.slow
GERMAN = {"source": "de", "target": "en"}
FRENCH = "Les enfants jouent dans la cour de l'école depuis ce matin."


@cache
def text(min_words=1):
    pairs, validation, test = (
        [p for p in pairs if "Uhr" not in p.source and min(len(s.split()) for s in p) >= min_words]
        for pairs in draw_corpus().values()
    )
    pairs = pairs[:640]
    random.Random(1).shuffle(pairs)
    return pairs, validation[:100], test[:100]


def spoil(every):
    return [(de, FRENCH if row % every == 3 else en) for row, (de, en) in enumerate(text()[0])]


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Learn from fewer pairs."""
    for module in (filtering, screen):
        monkeypatch.setattr(module, "MIN_PAIRS", 500)


@pytest.fixture
def params(tmp_path):
    """Return settings of a corpus with given validation and test sets, or without them."""

    def params(train, *, split_off=False, on_bad_line="error", **filters):
        corpus = {"kind": "files", "filter": filters, "on_bad_line": on_bad_line}
        for split, pairs in zip(("train", "validation", "test"), (train, *text()[1:]), strict=True):
            path = tmp_path / f"{split}.tsv"
            path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
            if split == "train" or not split_off:
                corpus[split] = {"source": str(path)}
        values = {"languages": GERMAN, "corpora": {"own": corpus}}
        values["split"] = {"validation_per_10000": 1500, "test_per_10000": 1500}
        return build(DownloadParams, values, at="download")

    return params


def run(params, folder, **workers):
    measured, pairs = bring(params, folder, code=str(folder), **workers)
    return measured["corpora"]["own"], [target for _, target in pairs["train"]]


def test_inspection_is_default_except_for_generated_text(tmp_path, monkeypatch):
    project = load(DownloadParams, "download")
    assert project.filter.look == LookConfig(accepted=[])
    monkeypatch.setattr(filtering, "inspect_sample", lambda *_: pytest.fail("was inspected"))
    grammar = GrammarConfig(train_pairs=600, validation_pairs=1, test_pairs=1)
    demo = project.corpora["demo"].model_copy(update={"grammar": grammar})
    assert run(project.model_copy(update={"corpora": {"own": demo}}), tmp_path)[1]


def test_noise_is_dropped_regardless_of_jobs(params, tmp_path):
    train = [("", "A bad line, which is dropped from the sample, too."), *spoil(10)]
    config = params(train, on_bad_line="drop", look={}, screen={"sample_pairs": 4 * 641})
    measured, lines = run(config, tmp_path / "whole")
    assert FRENCH not in lines
    assert len(lines) >= 0.8 * len(train)
    assert measured["removed"]["train"]["language"] >= 0.9 * len(train) / 10
    assert FRENCH in [target for _, target in measured["examples"]["language"]]
    assert all(len(some) <= 3 for some in measured["examples"].values())
    assert not any("not en" in notice for notice in measured["notices"])
    assert run(config, tmp_path / "parts", chunk_lines=200)[1] == lines


@pytest.mark.parametrize("filters", [{"screen": {}}, {"look": {}}])
def test_faults_of_the_whole_corpus_stop(params, tmp_path, filters):
    lower = [(one, other.lower()) for one, other in text()[0]]
    with pytest.raises(CorpusError, match=r"own.*lower case.*corpora\.own\.filter\.look\.accept"):
        run(params(lower, **filters), tmp_path, chunk_lines=200)
    assert not (tmp_path / "corpus").exists()
    accepted = params(lower, **filters | {"look": {"accepted": ["lower_case"]}})
    assert run(accepted, tmp_path)[1]


def test_inspection_drops_nothing_and_reports(params, tmp_path):
    train = spoil(20)
    measured, lines = run(params(train, look={}), tmp_path / "inspected")
    assert lines == run(params(train), tmp_path / "not")[1]
    assert FRENCH in lines
    [notice] = [notice for notice in measured["notices"] if "not en, most often fr" in notice]
    assert notice.startswith("32 pairs (5.0%) have a target")
    assert notice.endswith("; set download.corpora.own.filter.screen={}")
    for quiet in ({"look": {"accepted": ["stray_language", "repeated"]}}, {"look": None}):
        assert run(params(train, **quiet), tmp_path / "quiet")[0]["notices"] == []


@pytest.mark.parametrize("limit", [100, 300, 1000])
def test_sample_does_not_depend_on_chunks(monkeypatch, tmp_path, limit):
    """The sample has 1, 4 or all of 11 blocks, without blank lines."""
    monkeypatch.setattr(inspection, "BLOCK_LINES", 50)
    sizes = {"one": 430, "two": 75}
    for name, count in sizes.items():
        files.write_lines(tmp_path / name, (f"{name} {n}" if n % 7 else " " for n in range(count)))
    text = Text(tuple((tmp_path / name, tmp_path / name) for name in sizes))
    rows = (cut_rows(text, lines, scratch=tmp_path) for lines in (1, 7, 50, 64, 500))
    samples = [inspection.read_sample(own, UNUSABLE, limit) for own in rows]
    pairs, numbers = samples[0]

    assert samples == [samples[0]] * 5
    assert {source.split(" ")[-1] for source, _ in pairs} == {f"{n - 1}" for n in numbers}
    assert len(pairs) == len(set(pairs)) == {100: 42, 300: 170, 1000: 432}[limit]


def test_sample_reaches_the_end_of_a_corpus(monkeypatch, params, tmp_path):
    monkeypatch.setattr(inspection, "BLOCK_LINES", 100)
    train = [(one, FRENCH if row >= 600 else other) for row, (one, other) in enumerate(text()[0])]
    config = params(train, screen={"sample_pairs": 200})  # too few for a screen
    measured, _ = run(config, tmp_path)
    assert any("not en, most often fr" in notice for notice in measured["notices"])


def test_small_text_has_no_screen(params, tmp_path):
    measured, lines = run(params(text()[0][:300], screen={}), tmp_path)
    assert len(lines) > 250
    assert not {"alignment", "language"} & {*measured["removed"]["train"]}


def test_omitted_filters_are_those_of_all_corpora(params):
    own = {"kind": "files", "train": {"source": "own.tsv"}}

    def choose(default, **own_filter):
        values = {"languages": GERMAN, "corpora": {"own": own | own_filter}, "filter": default}
        built = build(DownloadParams, values, at="download")
        again = build(DownloadParams, built.model_dump(mode="json"), at="download")
        assert again == built
        return built.corpora["own"].choose_filter(built.filter).model_dump(exclude_defaults=True)

    default = {"look": {}, "screen": {"language": 9.0}, "max_words": 70}
    assert choose(default) == choose(default, filter=None) == choose(default, filter={}) == default
    assert choose(default, filter={"max_words": 20}) == default | {"max_words": 20}
    accepted = {"look": {"accepted": ["tags"]}}
    assert choose(default, filter=accepted) == default | accepted
    assert choose(default, filter={"look": None, "screen": None}) == {"max_words": 70}
    with pytest.raises(ConfigError, match=r"download\.corpora\.own\.filter\.max_word is not a par"):
        choose(default, filter={"max_word": 20})


def test_filters_of_length_are_counted_first(params, tmp_path):
    train = [
        (one, f"{FRENCH} " * 12 if row % 20 == 3 else other)
        for row, (one, other) in enumerate(text()[0])
    ]
    measured, _ = run(params(train, screen={"sample_pairs": 640}), tmp_path)
    assert measured["removed"]["train"]["length_ratio"] == len(train) / 20
    assert not any(FRENCH in other for _, other in measured["examples"].get("language", []))


def test_split_off_sets_are_screened_like_train(params, tmp_path):
    measured, pairs = bring(params(spoil(10), split_off=True, screen={}), tmp_path / "screened")
    for split in ("train", "validation", "test"):
        assert FRENCH not in [target for _, target in pairs[split]]
        assert measured["removed"][split]["language"] > 0
    _, pairs = bring(params(spoil(10), split_off=True), tmp_path / "unscreened")
    assert FRENCH in [target for _, target in pairs["test"]]


def test_split_off_sets_lose_untranslated_pairs_alone(params, tmp_path):
    copied = [(one, one if row % 5 == 0 else other) for row, (one, other) in enumerate(text()[0])]
    measured, pairs = bring(params(copied, split_off=True, max_words=5), tmp_path)
    for split in ("validation", "test"):
        assert measured["removed"][split]["untranslated"] > 0
        assert not any(one == other for one, other in pairs[split] if len(one) > 20)
        assert any(len(one.split()) > 5 for one, _ in pairs[split])


def test_repairs_are_made_and_counted(params, tmp_path):
    train = [
        (
            f"<p>{one}</p>",
            other.replace(" ", "&nbsp;", 1) if row % 4 else read_as_windows("für " + other),
        )
        for row, (one, other) in enumerate(text(min_words=6)[0])
    ]
    with pytest.raises(CorpusError, match=r"own\.filter\.repair=\[entities,mojibake,tags\]"):
        run(params(train, look={}), tmp_path)
    config = params(train, look={}, repair=["tags", "mojibake", "entities"])
    measured, pairs = bring(config, tmp_path)
    assert measured["repaired"] == {"entities": 480, "mojibake": 160, "tags": 640}
    assert not any(re.search("[<&Ã]", line) for pair in pairs["train"] for line in pair)
    assert measured["corpora"]["own"]["notices"] == []
