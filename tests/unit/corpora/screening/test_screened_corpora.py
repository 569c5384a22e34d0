"""A corpus with a screen: looked at, filtered in jobs, and counted with examples."""

import random
import re
from functools import cache

import pytest

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.corpora.screening import inspection, screen, shifts
from nmt_core.corpora.screening.settings import LookConfig
from stages.demo.generate import GrammarConfig
from stages.params import DownloadParams, load
from tests.support.bringing import bring
from tests.support.demo import draw_corpus
from tests.support.formats import read_as_windows

GERMAN = {"source": "de", "target": "en"}
SPOILT = "Les enfants jouent dans la cour de l'école depuis ce matin."


@cache
def text():
    drawn = draw_corpus()
    pairs, validation, test = (
        [pair for pair in drawn[split] if "Uhr" not in pair.source]
        for split in ("train", "validation", "test")
    )
    pairs = pairs[:640]
    random.Random(1).shuffle(pairs)
    return pairs, validation[:100], test[:100]


@pytest.fixture(autouse=True)
def _least(monkeypatch):
    """Look at fewer pairs, and learn from them."""
    monkeypatch.setattr(shifts, "BLOCK", 300)
    for module in (inspection, screen):
        monkeypatch.setattr(module, "MIN_PAIRS", 500)


@pytest.fixture
def params(tmp_path):
    def params(train, screen, **look):
        corpus = {"kind": "files", "filter": {"screen": screen, **look}}
        for split, pairs in zip(("train", "validation", "test"), (train, *text()[1:]), strict=True):
            path = tmp_path / f"{split}.tsv"
            path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
            corpus[split] = {"source": str(path)}
        values = {"languages": GERMAN, "corpora": {"own": corpus}}
        return build(DownloadParams, values, at="download")

    return params


def run(params, folder, **workers):
    measured, pairs = bring(params, folder, code=str(folder), **workers)
    return measured["corpora"]["own"], [target for _, target in pairs["train"]]


def test_text_is_inspected_by_default_but_for_what_a_grammar_writes(tmp_path, monkeypatch):
    """So that a demo takes no longer."""
    project = load(DownloadParams, "download")
    assert project.filter.look == LookConfig(accepted=[])
    monkeypatch.setattr(inspection, "inspect_sample", lambda *_: pytest.fail("was inspected"))
    grammar = GrammarConfig(train_pairs=300, validation_pairs=20, test_pairs=20)
    demo = project.corpora["demo"].model_copy(update={"grammar": grammar})
    assert run(project.model_copy(update={"corpora": {"own": demo}}), tmp_path)[1]


def test_noise_is_left_out_whatever_the_jobs(params, tmp_path):
    train = spoil(10)
    config = params(train, {"sample_pairs": 640})
    measured, lines = run(config, tmp_path / "whole")
    assert SPOILT not in lines
    assert len(lines) >= 0.8 * len(train)
    removed = measured["removed"]["train"]
    assert removed["language"] >= 0.9 * len(train) / 10
    assert SPOILT in [target for _, target in measured["examples"]["language"]]
    assert all(len(some) <= 3 for some in measured["examples"].values())
    assert run(config, tmp_path / "parts", chunk_lines=200)[1] == lines


@pytest.mark.parametrize(("screen", "look"), [({}, None), (None, {}), ({}, {})])
def test_what_is_wrong_with_all_of_it_stops(params, tmp_path, screen, look):
    lower = [(one, other.lower()) for one, other in text()[0]]
    with pytest.raises(CorpusError, match=r"own.*lower case.*corpora\.own\.filter\.look\.accept"):
        run(params(lower, screen, look=look), tmp_path, chunk_lines=200)
    assert not (tmp_path / "corpus").exists()
    accepted = params(lower, screen, look={"accepted": ["lower_case"]})
    assert run(accepted, tmp_path)[1]


def test_a_look_alone_takes_nothing(params, tmp_path):
    looked = run(params(spoil(10), None, look={}), tmp_path / "looked")
    assert looked[1] == run(params(spoil(10), None), tmp_path / "not")[1]
    assert SPOILT in looked[1]


def test_a_finding_that_is_accepted_leaves_no_screen_out(params, tmp_path):
    """Or noise that a person took for another fault would be trained on, screened by nothing."""
    targets = [target for _, target in text()[0]]
    random.Random(2).shuffle(targets)
    shuffled = [*zip([source for source, _ in text()[0]], targets, strict=True)]
    look = {"accepted": ["unrelated"]}
    with pytest.raises(CorpusError, match=r"% of the pairs are noise .*alignment \d\d\d"):
        run(params(shuffled, {}, look=look), tmp_path)
    draw = random.Random(3)
    noise = [["".join(draw.choices("abcdefg ", k=60)) for _ in range(2)] for _ in range(640)]
    look = {"accepted": ["unrelated", "wrong_language", "lower_case"]}
    with pytest.raises(CorpusError, match=r"own is not fit.*teach no filter.*give other text"):
        run(params(noise, {}, look=look), tmp_path)
    assert run(params(noise, {}, look={"accepted": [*look["accepted"], "noise"]}), tmp_path)


def test_filters_of_its_own_have_what_they_leave_out_from_those_of_all(params):
    """So that a look belongs to every corpus, and who accepts a fault loses no other filter."""
    own = {"kind": "files", "train": {"source": "own.tsv"}}

    def choose(default, **own_filter):
        values = {"languages": GERMAN, "corpora": {"own": own | own_filter}, "filter": default}
        built = build(DownloadParams, values, at="download")
        again = build(DownloadParams, built.model_dump(mode="json"), at="download")
        assert again == built
        return built.corpora["own"].choose_filter(built.filter).model_dump(exclude_defaults=True)

    default = {"look": {}, "screen": {"truncated": 9.0}, "max_words": 70}
    all_of_it = {**default, "look": {}}
    assert choose(default) == choose(default, filter=None) == choose(default, filter={})
    assert choose(default) == all_of_it
    assert choose(default, filter={"max_words": 20}) == all_of_it | {"max_words": 20}
    accepted = {"look": {"accepted": ["header"]}}
    assert choose(default, filter=accepted) == all_of_it | accepted
    without = choose(default, filter={"look": None, "screen": None})
    assert without == {"max_words": 70}
    assert choose({}, filter={"max_words": 20}) == {"max_words": 20}  # a params.yaml of before
    with pytest.raises(
        ConfigError, match=r"download\.corpora\.own\.filter\.max_word is not a para"
    ):
        choose(default, filter={"max_word": 20})


def test_earlier_filters_are_counted_first(params, tmp_path):
    train = [
        (one, f"{SPOILT} " * 12 if row % 20 == 3 else other)
        for row, (one, other) in enumerate(text()[0])
    ]
    measured, _ = run(params(train, {"sample_pairs": 640}), tmp_path)
    assert measured["removed"]["train"]["length_ratio"] == len(train) / 20
    assert not any(SPOILT in other for _, other in measured["examples"].get("language", []))


def test_small_text_has_no_screen(params, tmp_path):
    measured, lines = run(params(text()[0][:300], {}), tmp_path)
    assert len(lines) > 250
    assert not {"alignment", "truncated", "language"} & {*measured["removed"]["train"]}


def spoil(every, train=None):
    return [
        (one, SPOILT if row % every == 3 else other)
        for row, (one, other) in enumerate(train or text()[0])
    ]


def test_stray_lines_are_reported_unless_accepted(params, tmp_path):
    train = spoil(20)
    measured, lines = run(params(train, None, look={}), tmp_path / "told")
    assert SPOILT in lines
    [told] = [notice for notice in measured["notices"] if "not en, most often fr" in notice]
    assert told.startswith("32 pairs (5.0%) have a target")
    assert told.endswith("; set download.corpora.own.filter.screen={}")

    kinds = ["stray_language", "numbers", "repeated"]
    for quiet in ({"look": {"accepted": kinds}}, {"look": None}):
        assert run(params(train, None, **quiet), tmp_path / "quiet")[0]["notices"] == []
    measured, _ = run(params(train, {"sample_pairs": 640}), tmp_path / "screened")
    assert not any("not en" in notice for notice in measured["notices"])


def test_sample_reaches_the_end_of_a_corpus(params, tmp_path):
    train = [(one, SPOILT if row >= 600 else other) for row, (one, other) in enumerate(text()[0])]
    measured, _ = run(params(train, {"sample_pairs": 200}), tmp_path, chunk_lines=100)
    assert any("not en, most often fr" in notice for notice in measured["notices"])


@pytest.fixture
def split_off(tmp_path):
    def split_off(train, **filters):
        path = tmp_path / "all.tsv"
        path.write_text("".join(f"{source}\t{target}\n" for source, target in train))
        corpus = {"kind": "files", "train": {"source": str(path)}, "filter": filters}
        values = {"languages": GERMAN, "corpora": {"own": corpus}}
        values["split"] = {"validation_per_10000": 1500, "test_per_10000": 1500}
        return build(DownloadParams, values, at="download")

    return split_off


def test_split_off_sets_are_screened_like_train(split_off, tmp_path):
    """Scores on noise tell nothing; what is left out is counted for its set."""
    measured, pairs = bring(split_off(spoil(10), screen={}), tmp_path / "screened")
    for split in ("train", "validation", "test"):
        assert SPOILT not in [target for _, target in pairs[split]]
        assert measured["removed"][split]["language"] > 0
    _, pairs = bring(split_off(spoil(10)), tmp_path / "unscreened")
    assert SPOILT in [target for _, target in pairs["test"]]


def test_split_off_sets_lose_what_is_not_translated(split_off, tmp_path):
    """Long sentences stay to test on, though they are too dear to train on."""
    copied = [(one, one if row % 5 == 0 else other) for row, (one, other) in enumerate(text()[0])]
    measured, pairs = bring(split_off(copied, max_words=5), tmp_path)
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
        for row, (one, other) in enumerate(text()[0])
    ]
    with pytest.raises(CorpusError, match=r"own\.filter\.repair=\[entities,mojibake,tags\]"):
        run(params(train, None, look={}), tmp_path)
    config = params(train, None, look={}, repair=["tags", "mojibake", "entities"])
    measured, pairs = bring(config, tmp_path)
    assert measured["repaired"] == {"entities": 480, "mojibake": 160, "tags": 640}
    assert not any(re.search("[<&Ã]", line) for pair in pairs["train"] for line in pair)
    assert measured["corpora"]["own"]["notices"] == []
