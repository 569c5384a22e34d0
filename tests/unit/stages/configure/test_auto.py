"""What is chosen by itself fits the text and the budget, and gives way to what a person says."""

import gzip
import hashlib
import json
import sys

import pytest

from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import Size
from nmt_core.corpora.local import FilesCorpus
from nmt_core.corpora.opus import opus_index
from nmt_core.corpora.text_files import TextFiles
from nmt_core.training.schedule import Budget
from stages.configure import auto, compose
from stages.configure.__main__ import main
from stages.configure.sections import build_all, read_settings
from stages.demo.corpus import CHARACTERS, DemoCorpus
from tests.support import opus
from tests.support.projects import PROJECT

LANGUAGES = Languages(source="de", target="en")

CAPTIONS = Size(pairs=28_936, target_characters=1_769_626)
"""Of Multi30k's training text."""


@pytest.fixture
def project(project, monkeypatch):
    """A project of the demo text on a machine with four cores and no GPU."""
    (project / "conf").symlink_to(PROJECT / "conf")
    monkeypatch.setattr(auto.Machine, "find", classmethod(lambda cls, _: cls("cpu", 4)))
    return project


def compose_sections(*arguments, say=print):
    return build_all(compose.compose_settings(list(arguments), say=say), source="test")


def fit(tokens):
    """The row for a budget."""
    return auto.take_row(auto.read_auto(PROJECT / "conf").model, "tokens", tokens)


@pytest.mark.parametrize(("pairs", "vocab_size"), [(10_000, 2000), (10_001, 4000), (10**9, 8000)])
def test_the_first_row_that_fits_is_taken(pairs, vocab_size):
    rows = auto.read_auto(PROJECT / "conf").text

    assert vocab_size == auto.take_row(rows, "pairs", pairs).vocab_size


def test_the_tables_hold_presets_and_an_answer_for_all():
    known = auto.read_auto(PROJECT / "conf")
    presets = {path.stem for path in (PROJECT / "conf/model").glob("*.yaml")}

    assert {row.preset for row in known.model} <= presets
    assert known.text[-1].pairs is known.model[-1].tokens is None
    for rows, limit in ((known.text, "pairs"), (known.model, "tokens")):
        limits = [getattr(row, limit) for row in rows[:-1]]
        assert limits == sorted({*limits})


@pytest.mark.parametrize(
    ("vocab_size", "tokens"), [(2000, 521_443), (4000, 454_112), (8000, 414_816)]
)
def test_tokens_are_estimated_within_a_tenth(vocab_size, tokens):
    """As SentencePiece has cut image captions, with an end to each."""
    found = auto.estimate_tokens(CAPTIONS, vocab_size)

    assert found == pytest.approx(tokens + CAPTIONS.pairs, rel=0.1)


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


@pytest.mark.parametrize(("steps", "decay"), [(1, 0.99), (1501, 0.999), (15_001, 0.9999)])
def test_averages_remember_a_part_of_the_training(steps, decay):
    assert decay == auto.choose_ema_decay(steps)


@pytest.mark.parametrize(
    ("number", "rounded"), [(0, 0), (9, 9), (99, 99), (100, 100), (6_227_696, 6_200_000)]
)
def test_two_digits_are_left(number, rounded):
    assert rounded == auto.round_down(number)


def test_what_is_chosen_is_written_and_said(project, monkeypatch, capsys):
    """As settings like any others, so that the run can be had again."""
    monkeypatch.setattr(sys, "argv", ["configure", "data=demo", "model=auto", "train=auto"])
    main()
    written = read_settings()
    known = auto.read_auto()
    tokens = written["train"]["budget"]["tokens"]
    epoch = auto.estimate_tokens(Size(20_000, 20_000 * CHARACTERS), 4000)

    assert tokens == auto.round_down(known.train.epochs * epoch)
    assert written["train"]["budget"]["steps"] is None
    assert written["tokenize"]["subwords"]["vocab_size"] == 4000
    assert written["train"]["training"]["validate_every"] == round(tokens / 901) // 16
    said = capsys.readouterr().err
    assert said.startswith(f"chosen for 20,000 pairs and some {tokens:,} target tokens to train on")
    assert f": model={fit(tokens).preset} tokenize.subwords.vocab_size=4000 " in said
    assert f" train.budget.steps=null train.budget.tokens={tokens} " in said


def test_what_a_person_sets_counts_more(project):
    found = compose_sections(
        "data=demo",
        "model=auto",
        "train=auto",
        "train.budget.tokens=4000",
        "train.model.dropout=0.4",
        "tokenize.subwords.vocab_size=600",
    )

    assert found["train"].budget.tokens == 4000
    assert found["train"].model.dropout == 0.4
    assert found["tokenize"].subwords.vocab_size == 600


@pytest.mark.parametrize(
    ("budget", "tokens"),
    [
        (["train.budget.steps=500"], 500 * 901),
        (["train.budget.steps=500", "train.batching.max_tokens=2048"], 500 * 1802),
        (["train.budget.steps=null", "train.budget.seconds=3600"], 3600 * 1500 * 4),
    ],
)
def test_a_given_budget_chooses_the_model_alone(project, budget, tokens):
    """Seconds are worth what all cores do in them."""
    said = []
    row = fit(tokens)
    fitting = {"tokenize.subwords.vocab_size": 4000, "train.model.dropout": 0.25} | row.settings
    chosen = [f"model={row.preset}", *(f"{place}={value}" for place, value in fitting.items())]
    found = compose_sections("data=demo", "model=auto", *budget, say=said.append)
    plain = compose_sections("data=demo", *chosen, *budget)

    assert found["train"] == plain["train"]
    assert said == [
        f"chosen for 20,000 pairs and some {tokens:,} target tokens to train on: {' '.join(chosen)}"
    ]


@pytest.mark.parametrize(
    ("tokens", "dropout"), [(3_000_000, 0.0), (10_000_000, 0.0), (50_000_000, 0.1)]
)
def test_what_is_not_seen_again_needs_no_dropout(project, tokens, dropout):
    """A pass over a million pairs of the demo's has some 22 million tokens."""
    budget = ["train.budget.steps=null", f"train.budget.tokens={tokens}"]
    found = compose_sections(
        "data=demo", "model=auto", "download.corpora.demo.grammar.train_pairs=1000000", *budget
    )

    assert 10_000_000 < auto.estimate_tokens(Size(1_000_000, 72_000_000), 8000) < 50_000_000
    assert found["train"].model.dropout == dropout


@pytest.mark.parametrize(
    ("pairs", "width", "optimizer"), [(20_000, 256, "adamw"), (1_000_000, 192, "muon")]
)
def test_the_same_budget_is_spent_otherwise_where_text_is_read_often(
    project, pairs, width, optimizer
):
    budget = ["train.budget.steps=null", "train.budget.tokens=8000000"]
    found = compose_sections(
        "data=demo", "model=auto", f"download.corpora.demo.grammar.train_pairs={pairs}", *budget
    )

    assert found["train"].model.width == width
    assert found["train"].optimizer.kind == optimizer


@pytest.mark.parametrize(("choices", "batch_tokens"), [([], 901), (["model=auto"], 2703)])
def test_validations_are_counted_in_the_batches_that_were_chosen(
    project, monkeypatch, choices, batch_tokens
):
    known = auto.read_auto()
    longest = known.train.model_copy(update={"most_tokens": {"cpu": 20_000_000, "cuda": 1}})
    monkeypatch.setattr(auto, "read_auto", lambda _: known.model_copy(update={"train": longest}))
    found = compose_sections(
        "data=demo", *choices, "train=auto", "download.corpora.demo.grammar.train_pairs=1000000"
    )

    assert found["train"].budget.tokens == 20_000_000
    assert found["train"].training.validate_every == round(20_000_000 / batch_tokens) // 16


@pytest.mark.parametrize(
    ("limit", "tokens"),
    [
        ("seconds=240", 240 * 1500 * 4),
        ("tokens=100000", 100_000),
        ("steps=40", 40 * 901),
    ],
)
def test_a_budget_that_a_person_sets_is_the_one_that_holds(project, limit, tokens):
    """Not that which train=auto would choose: the model and the validations follow it.

    Those of seconds follow the clock, and not also updates at a speed that is guessed.
    """
    said = []
    budget = f"train.budget.{limit}"
    found = compose_sections("data=demo", "model=auto", "train=auto", budget, say=said.append)
    name, _, amount = limit.partition("=")
    row = fit(tokens)
    settings = ((name, str(value)) for name, value in row.settings.items())

    assert said[0].startswith(f"chosen for 20,000 pairs and some {tokens:,} target tokens to train")
    assert found["train"].budget == Budget(**{name: int(amount)})
    validations = 1 if name == "seconds" else 16
    assert found["train"].training.validate_every == max(1, round(tokens / 901) // validations)
    preset = compose_sections("data=demo", f"model={row.preset}", *map("=".join, settings))
    assert found["train"].model.width == preset["train"].model.width


@pytest.mark.parametrize(("seconds", "validations"), [(7, 16), (5, 1)])
def test_the_limit_that_is_reached_first_says_when_to_validate(project, seconds, validations):
    """Seconds that are there for safety ask for none, or there would be none but the last."""
    limits = ["train.budget.tokens=36000", f"train.budget.seconds={seconds}"]
    found = compose_sections("data=demo", "train=auto", *limits)
    tokens = min(36_000, seconds * 1500 * 4)

    assert found["train"].training.validate_every == max(1, round(tokens / 901) // validations)


def test_a_limit_that_is_taken_away_is_no_budget(project):
    found = compose_sections("data=demo", "model=auto", "train=auto", "train.budget.seconds=null")

    assert found["train"].budget.tokens > 1_000_000


def test_on_a_gpu_its_own_speed_and_most_tokens_count(project, monkeypatch):
    """Sixteen cores beside it make it no faster."""
    monkeypatch.setattr(auto.Machine, "find", classmethod(lambda cls, _: cls("cuda", 16)))
    known = auto.read_auto()
    size = "download.corpora.demo.grammar.train_pairs=10000000"
    said = []
    found = compose_sections("data=demo", "train=auto", size, say=said.append)
    compose_sections("data=demo", "model=auto", "train.budget.seconds=10", say=said.append)

    assert found["train"].budget.tokens == known.train.most_tokens["cuda"]
    assert " some 1,000,000,000 target tokens " in said[0]
    assert f" some {10 * known.speed['cuda']:,.0f} target tokens " in said[1]


def test_the_end_of_each_sentence_is_a_token():
    assert auto.estimate_tokens(Size(7, 3450), 2000) == 1000 + 7


def test_a_model_of_ones_own_keeps_its_shape(project):
    """Only how long to train is chosen then."""
    found = compose_sections("data=demo", "model=convs2s", "train=auto")
    plain = compose_sections("data=demo", "model=convs2s")

    assert found["train"].model == plain["train"].model
    assert found["tokenize"] == plain["tokenize"]
    assert found["train"].budget.steps is None


def test_a_corpus_of_unknown_size_is_told(project, monkeypatch):
    monkeypatch.setattr(DemoCorpus, "estimate_size", lambda *_, **__: None)
    with pytest.raises(ConfigError, match=r"demo; choose model= and train= yourself"):
        compose_sections("data=demo", "model=auto", "train=auto")


def test_the_kept_index_of_opus_tells_the_size_of_its_corpora(project):
    with pytest.raises(ConfigError, match="make corpora"):
        compose_sections("data=opus", "model=auto")
    content = opus.index(opus.describe_archive("Tatoeba", "v2023-04-12", alignment_pairs=12_000))
    path = project / "downloads" / opus_index(LANGUAGES).name
    path.parent.mkdir()
    path.write_bytes(content)
    record = {"sha256": hashlib.sha256(content).hexdigest()}
    path.with_name(f"{path.name}.json").write_text(json.dumps(record))
    found = compose_sections("data=opus", "model=auto")
    rows = auto.read_auto(PROJECT / "conf").text
    expected = auto.take_row(rows, "pairs", 12_000).vocab_size
    assert found["tokenize"].subwords.vocab_size == expected


def test_text_that_is_not_there_is_told(project):
    with pytest.raises(CorpusError, match=r"text/train\.en does not exist"):
        compose_sections("data=files", "model=auto")


def test_a_table_that_is_wrong_is_told(tmp_path):
    (tmp_path / "auto.yaml").write_text("speed: fast\n")
    with pytest.raises(ConfigError, match=r"conf/auto\.yaml\.speed must be "):
        auto.read_auto(tmp_path)


@pytest.mark.parametrize(
    ("wanted", "there", "device"),
    [("auto", None, "cpu"), ("auto", "/bin/nvidia-smi", "cuda"), ("cpu", "/bin/nvidia-smi", "cpu")],
)
def test_a_gpu_is_found_without_torch(monkeypatch, wanted, there, device):
    monkeypatch.setattr(auto.shutil, "which", lambda _: there)

    assert device == auto.Machine.find(wanted).device


class TestSize:
    """Of train alone, whatever else there is."""

    def test_of_the_demo(self, project):
        [corpus] = [compose_sections("data=demo")["download"].corpora["demo"]]

        assert corpus.estimate_size(LANGUAGES).pairs == corpus.grammar.train_pairs

    def test_of_europarl(self, project):
        """As a number in the preset, before anything is fetched."""
        [corpus] = [compose_sections("data=europarl")["download"].corpora["europarl"]]

        assert corpus.estimate_size(LANGUAGES) == Size(1_950_000, 1_950_000 * 150)

    def test_of_files(self, tmp_path):
        """Plain or not, one or several, the target's bytes."""
        for name in ("a", "b"):
            (tmp_path / f"{name}.de").write_text("Drei kurze Wörter\n" * 3)
            with gzip.open(tmp_path / f"{name}.en.gz", "wt") as file:
                file.write("three\n" * 3)
        text = TextFiles(source=tmp_path / "*.de", target=tmp_path / "*.en.gz")
        corpus = FilesCorpus(kind="files", train=text, validation=text)

        assert Size(6, 30) == corpus.estimate_size(LANGUAGES)

    def test_of_a_table(self, tmp_path):
        """Half of it is the target's."""
        (tmp_path / "pairs.tsv").write_text("drei\tthree\n" * 4)
        corpus = FilesCorpus(kind="files", train=TextFiles(source=tmp_path / "pairs.tsv"))

        assert Size(4, 20) == corpus.estimate_size(LANGUAGES)
