"""Automatic settings fit the text and the budget; explicit settings override them."""

import gzip
import hashlib
import json
import math
import sys
from collections import Counter
from operator import attrgetter

import pytest

from nmt_core.base.errors import ConfigError, CorpusError, ServerError
from nmt_core.base.languages import Languages
from nmt_core.base.progress import format_duration
from nmt_core.base.random import MIN_TEST_SENTENCES
from nmt_core.corpora.corpus import Size
from nmt_core.corpora.local import FilesCorpus
from nmt_core.corpora.splitting import split_of
from nmt_core.corpora.text_files import TextFiles
from nmt_core.corpora.web import opus_index
from nmt_core.training.settings import Budget
from nmt_core.translation.fitting import MIN_SENTENCES
from stages.configure import auto, request
from stages.configure.__main__ import main
from stages.configure.sections import build_all, read_settings
from stages.demo.corpus import CHARACTERS, DemoCorpus
from tests.support import opus
from tests.support.projects import PROJECT

LANGUAGES = Languages(source="de", target="en")

CAPTIONS = Size(pairs=28_936, target_characters=1_769_626)
"""Numbers of Multi30k's training text."""


@pytest.fixture
def project(project, monkeypatch):
    """A project with the demo text, on a machine with four cores and no GPU."""
    (project / "conf").symlink_to(PROJECT / "conf")
    monkeypatch.setattr(auto.shutil, "which", lambda _: None)
    monkeypatch.setattr(auto.os, "sched_getaffinity", lambda _: range(4))
    return project


def compose_sections(*arguments, say=print):
    return build_all(request.compose_settings(list(arguments), say=say), source="test")


def fit(tokens):
    """Return the row for a budget."""
    return next(row for row in auto.MODELS if tokens <= row.tokens)


def test_tables_contain_presets_and_cover_every_size():
    presets = {path.stem for path in (PROJECT / "conf/model").glob("*.yaml")}
    assert {row.preset for row in auto.MODELS} <= presets
    for table in (auto.TEXTS, auto.MODELS, auto.EMA_DECAYS):
        limits = [row[0] for row in table]
        assert limits == sorted({*limits})
        assert limits[-1] == math.inf


@pytest.mark.parametrize(
    ("vocab_size", "tokens"), [(2000, 521_443), (4000, 454_112), (8000, 414_816)]
)
def test_tokens_are_estimated_within_a_tenth(vocab_size, tokens):
    """The expected numbers are SentencePiece's on image captions, with EOS for each."""
    assert auto.estimate_tokens(CAPTIONS, vocab_size) == pytest.approx(
        tokens + CAPTIONS.pairs, rel=0.1
    )


@pytest.mark.parametrize(
    ("budget", "tokens"),
    [
        (Budget(steps=10), {"steps": 9000}),
        (Budget(tokens=777), {"tokens": 777}),
        (Budget(epochs=3), {"epochs": 3000}),
        (Budget(seconds=2.0), {"seconds": 100}),
        (Budget(seconds=2.0, tokens=777), {"tokens": 777, "seconds": 100}),
    ],
)
def test_a_budget_is_counted_in_tokens(budget, tokens):
    assert tokens == auto.count_tokens(budget, epoch=1000, batch_tokens=900, speed=50.0)


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        (auto.round_down, (0,), 0),
        (auto.round_down, (99,), 99),
        (auto.round_down, (100,), 100),
        (auto.round_down, (6_227_696,), 6_200_000),
        (auto.estimate_tokens, (Size(7, 3450), 2000), 1000 + 7),  # EOS of each sentence
    ],
)
def test_numbers_are_derived(function, arguments, result):
    assert function(*arguments) == result


def test_chosen_settings_are_written_and_reported(project, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["configure", "data=demo", "model=auto", "train=auto"])
    main()
    written = read_settings()
    tokens = written["train"]["budget"]["tokens"]
    epoch = auto.estimate_tokens(Size(36_000, 36_000 * CHARACTERS), 4000)

    assert tokens == auto.round_down(16 * epoch)
    assert written["train"]["budget"]["steps"] is None
    assert written["tokenize"]["subwords"]["vocab_size"] == 4000
    assert written["train"]["training"]["validate_every"] == round(tokens / 901) // 16
    said = capsys.readouterr().err
    assert said.startswith(f"chosen for 36,000 pairs and some {tokens:,} target tokens to train on")
    assert f": model={fit(tokens).preset} tokenize.subwords.vocab_size=4000 " in said
    assert f" train.budget.steps=null train.budget.tokens={tokens} " in said


BOTH = ["model=auto", "train=auto"]
MILLION = "download.corpora.demo.grammar.train_pairs=1000000"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # explicit settings win
        ([*BOTH, "train.budget.tokens=4000", "train.model.dropout=0.4"],
         {"budget.tokens": 4000, "model.dropout": 0.4}),
        # text that is read once needs no dropout: an epoch has some 11 million tokens
        (["model=auto", MILLION, "train.budget.tokens=6000000"], {"model.dropout": 0.0}),
        (["model=auto", MILLION, "train.budget.tokens=50000000"], {"model.dropout": 0.1}),
        # the model depends on how often text is read
        (["model=auto", "train.budget.tokens=8000000"],
         {"model.width": 256, "optimizer.kind": "adamw"}),
        (["model=auto", MILLION, "train.budget.tokens=8000000"],
         {"model.width": 192, "optimizer.kind": "muon"}),
        # averages of weights cover a tenth of a training
        (["train=auto", "train.budget.steps=1500"], {"training.ema_decay": 0.99}),
        (["train=auto", "train.budget.steps=1502"], {"training.ema_decay": 0.999}),
        (["train=auto", "train.budget.steps=15002"], {"training.ema_decay": 0.9999}),
        # the first limit sets the validations; a budget of time needs none
        (["train=auto", "train.budget.tokens=36000", "train.budget.seconds=7"],
         {"training.validate_every": round(36_000 / 901) // 16}),
        (["train=auto", "train.budget.tokens=36000", "train.budget.seconds=5"],
         {"training.validate_every": round(5 * 1500 * 4 / 901)}),
    ],
)  # fmt: skip
def test_settings_follow_text_and_budget(project, settings, expected):
    steps = [] if "train=auto" in settings else ["train.budget.steps=null"]
    train = compose_sections("data=demo", *settings, *steps)["train"]
    assert {place: attrgetter(place)(train) for place in expected} == expected


def test_explicit_vocabulary_size_and_removed_limits_are_kept(project):
    settings = ["train.budget.seconds=null", "tokenize.subwords.vocab_size=600"]
    sections = compose_sections("data=demo", *BOTH, *settings)
    assert sections["tokenize"].subwords.vocab_size == 600
    assert sections["train"].budget.tokens > 1_000_000


@pytest.mark.parametrize(
    ("budget", "tokens"),
    [
        (["train.budget.steps=500"], 500 * 901),
        (["train.budget.steps=500", "train.batching.max_tokens=2048"], 500 * 1802),
        (["train.budget.steps=null", "train.budget.seconds=3600"], 3600 * 1500 * 4),
    ],
)
def test_an_explicit_budget_chooses_only_the_model(project, budget, tokens):
    """Seconds are converted to tokens of all cores."""
    said = []
    row = fit(tokens)
    fitting = {"tokenize.subwords.vocab_size": 4000, "train.model.dropout": 0.25} | row.settings
    chosen = [f"model={row.preset}", *(f"{place}={value}" for place, value in fitting.items())]
    found = compose_sections("data=demo", "model=auto", *budget, say=said.append)
    plain = compose_sections("data=demo", *chosen, *budget)

    assert found["train"] == plain["train"]
    size = f"36,000 pairs and some {tokens:,} target tokens to train on"
    time = format_duration(tokens / 6000)
    assert said == [f"chosen for {size}, roughly {time} of training: {' '.join(chosen)}"]


@pytest.mark.parametrize(("choices", "batch_tokens"), [([], 1024), (["model=auto"], 3072)])
def test_validations_are_counted_in_chosen_batches(project, monkeypatch, choices, batch_tokens):
    monkeypatch.setitem(auto.MAX_TOKENS, "cpu", 20_000_000)
    train = compose_sections("data=demo", *choices, "train=auto", MILLION)["train"]
    updates = round(20_000_000 / round(batch_tokens * 0.88))

    assert train.budget.tokens == 20_000_000
    assert train.batching.max_tokens == batch_tokens
    assert train.training.validate_every == updates // 16


@pytest.mark.parametrize(
    ("limit", "tokens"),
    [("seconds=240", 240 * 1500 * 4), ("tokens=100000", 100_000), ("steps=40", 40 * 901)],
)
def test_an_explicit_budget_replaces_the_automatic_one(project, limit, tokens):
    """Model and validations follow it; validations in seconds follow the clock alone."""
    said = []
    budget = f"train.budget.{limit}"
    found = compose_sections("data=demo", "model=auto", "train=auto", budget, say=said.append)
    name, _, amount = limit.partition("=")
    row = fit(tokens)
    settings = ((name, str(value)) for name, value in row.settings.items())

    assert said[0].startswith(f"chosen for 36,000 pairs and some {tokens:,} target tokens to train")
    assert found["train"].budget == Budget(**{name: int(amount)})
    validations = 1 if name == "seconds" else 16
    assert found["train"].training.validate_every == max(1, round(tokens / 901) // validations)
    preset = compose_sections("data=demo", f"model={row.preset}", *map("=".join, settings))
    assert found["train"].model.width == preset["train"].model.width


def test_a_gpu_has_its_own_speed_and_limit(project, monkeypatch):
    """Its speed does not depend on the number of cores."""
    monkeypatch.setattr(auto.shutil, "which", lambda _: "/bin/nvidia-smi")
    size = "download.corpora.demo.grammar.train_pairs=10000000"
    said = []
    found = compose_sections("data=demo", "train=auto", size, say=said.append)
    ten_seconds = ["data=demo", "model=auto", "train.budget.seconds=10"]
    for more in ([], ["train.compute.device=cpu"]):
        compose_sections(*ten_seconds, *more, say=said.append)

    assert found["train"].budget.tokens == 1_000_000_000
    assert " some 1,000,000,000 target tokens " in said[0]
    assert " some 600,000 target tokens " in said[1]
    assert " some 60,000 target tokens " in said[2]


def test_an_explicit_model_keeps_its_shape(project):
    found = compose_sections("data=demo", "model=convs2s", "train=auto")
    plain = compose_sections("data=demo", "model=convs2s")

    assert found["train"].model == plain["train"].model
    assert found["tokenize"] == plain["tokenize"]
    assert found["train"].budget.steps is None


def test_sizes_of_opus_come_from_its_stored_index(project, monkeypatch):
    def refuse(_):
        raise ServerError("OPUS is away")

    monkeypatch.setattr(auto, "renew_index", refuse)
    with pytest.raises(ConfigError, match="opus; choose model= yourself"):
        compose_sections("data=opus", "model=auto")
    content = opus.index(opus.describe_archive("Tatoeba", "v2023-04-12", alignment_pairs=12_000))
    path = project / "downloads" / opus_index(LANGUAGES).name
    path.parent.mkdir()
    path.write_bytes(content)
    record = {"sha256": hashlib.sha256(content).hexdigest()}
    path.with_name(f"{path.name}.json").write_text(json.dumps(record))
    found = compose_sections("data=opus", "model=auto")
    assert found["tokenize"].subwords.vocab_size == 4000


def test_unknown_sizes_are_refused(project, monkeypatch):
    with pytest.raises(CorpusError, match=r"text/train\.en does not exist"):
        compose_sections("data=files", "model=auto")
    monkeypatch.setattr(DemoCorpus, "estimate_size", lambda *_, **__: None)
    with pytest.raises(ConfigError, match=r"demo; choose model= and train= yourself"):
        compose_sections("data=demo", *BOTH)


def test_sizes_of_files_count_lines_and_target_bytes(tmp_path):
    """Train alone counts, compressed or not, in any files; half of a table is the target's."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.de").write_text("Drei kurze Wörter\n" * 3)
        with gzip.open(tmp_path / f"{name}.en.gz", "wt") as file:
            file.write("three\n" * 3)
    (tmp_path / "pairs.tsv").write_text("drei\tthree\n" * 4)
    text = TextFiles(source=tmp_path / "*.de", target=tmp_path / "*.en.gz")
    table = TextFiles(source=tmp_path / "pairs.tsv")
    corpora = [
        FilesCorpus(kind="files", train=text, validation=text),
        FilesCorpus(kind="files", train=table),
    ]
    assert [each.estimate_size(LANGUAGES, None) for each in corpora] == [Size(6, 30), Size(4, 20)]


FILES = ["train.source=text.tsv", "train.target=null", "validation=null", "test=null"]


@pytest.fixture
def compose_files(project):
    """Compose settings for a text of a number of pairs; return them and the messages."""

    def run(pairs, *settings):
        (project / "text.tsv").write_text("drei\tthree\n" * pairs)
        files = [f"download.corpora.files.{setting}" for setting in FILES]
        messages = []
        return compose_sections("data=files", *files, *settings, say=messages.append), messages

    return run


@pytest.mark.parametrize(
    ("pairs", "validations", "tests", "subwords"),
    [
        (100, 12.5, 25, 500),
        (200, 25, 50, 800),
        (800, 100, 200, 2000),
        (4_000, 230, 230, 2000),
        (6_000, 230, 300, 2000),
        (10_001, 250, 500, 8000),
        (200_000, 500, 1000, 8000),
        (1_000_000, 1000, 1000, 8000),
    ],
)
def test_split_and_subwords_fit_few_pairs(compose_files, pairs, validations, tests, subwords):
    sections, _ = compose_files(pairs)
    split = sections["download"].split
    assert split.test_per_10000 * pairs / 10_000 == pytest.approx(tests, rel=0.02)
    assert split.validation_per_10000 * pairs / 10_000 == pytest.approx(validations, rel=0.02)
    assert sections["tokenize"].subwords.vocab_size == subwords


@pytest.mark.parametrize("pairs", [2_000, 4_000, 6_000])
def test_held_out_sets_suffice_for_verdict_and_confidence(compose_files, pairs):
    """A hash draws fewer sentences than expected as often as more."""
    split = compose_files(pairs)[0]["download"].split
    drawn = Counter(split_of(f"line {number}", split) for number in range(pairs))
    assert drawn["test"] >= MIN_TEST_SENTENCES
    assert drawn["validation"] >= MIN_SENTENCES


@pytest.mark.parametrize(
    ("settings", "test_share", "subwords"),
    [
        (["download.split.test_per_10000=7", "tokenize.subwords.vocab_size=900"], 7, 900),
        ([f"+download.corpora.files.{n}.source=o.tsv" for n in ("validation", "test")], 10, 2000),
        (["+download.corpora.more={kind:files,train:{source:text.tsv},train_only:true}"], 2500,
         2000),
    ],
)  # fmt: skip
def test_given_settings_and_held_out_sets_stay(compose_files, settings, test_share, subwords):
    more = ["download.corpora.files.licence=own"] if "more" in settings[0] else []
    settings = [setting.replace("kind:", "licence:own,kind:") for setting in settings]
    sections, _ = compose_files(800, *settings, *more)
    assert sections["download"].split.test_per_10000 == test_share
    assert sections["tokenize"].subwords.vocab_size == subwords


def test_text_of_unknown_size_gets_no_fit(compose_files):
    opus = "{kind:opus,corpus:Books,version:v1,licence:own}"
    settings = ["download.corpora.files.licence=own", f"+download.corpora.books={opus}"]
    sections, messages = compose_files(800, *settings)
    assert (sections["download"].split.test_per_10000, messages) == (10, [])
