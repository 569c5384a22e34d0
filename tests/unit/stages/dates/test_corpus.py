"""Dates as the download stage brings them."""

from datetime import datetime

import pytest

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.base.parallel.jobs import WorkersConfig
from stages import download
from stages.configure.compose import compose_groups
from stages.configure.sections import build_all

FEW = ("train_pairs=40", "validation_pairs=5", "test_pairs=6", "first_year=1998", "last_year=1999")


def sections(*overrides):
    return build_all(compose_groups(["data=dates", *overrides]), source="conf/")


@pytest.fixture
def params():
    return sections(*(f"download.corpora.dates.{value}" for value in FEW))["download"]


def bring(params, folder):
    metrics = download.run(
        params,
        corpus=folder / "corpus",
        vectors=folder / "vectors",
        downloads=folder / "downloads",
        workers=WorkersConfig(processes=1),
    )
    texts = {path.name: [*files.read_lines(path)] for path in (folder / "corpus").glob("*.*e*")}
    return metrics, texts


def test_all_dates_arrive_and_none_is_taken_for_another(params, tmp_path):
    """Cleaning finds no two alike, and leaves none out."""
    metrics, texts = bring(params, tmp_path)

    assert metrics["pairs"] == {"train": 40, "validation": 5, "test": 6}
    assert not any(sum(why.values()) for why in metrics["removed"].values())
    for split in metrics["pairs"]:
        for source, target in zip(texts[f"{split}.source"], texts[f"{split}.target"], strict=True):
            assert f"{datetime.fromisoformat(target):%B %-d, %Y}" == source
            assert target[:2] == "19"


def test_either_side_may_be_the_source(params, tmp_path):
    turned = params.languages.model_copy(update={"source": "zxx", "target": "en"})
    _, texts = bring(params, tmp_path / "one")
    _, others = bring(params.model_copy(update={"languages": turned}), tmp_path / "other")

    assert texts["test.source"] == others["test.target"]
    assert texts["test.target"] == others["test.source"]


def test_it_is_read_in_characters():
    assert sections("model=rnn_bahdanau")["tokenize"].kind == "characters"


def test_it_says_what_it_is(params):
    corpus, languages = params.corpora["dates"], params.languages

    assert corpus.origin("test", languages) == ("code", "stages/dates")
    assert corpus.estimate_size(languages) == (40, 400)
    assert corpus.held_out() == "by draw, no date twice"
    assert corpus.describe().licence == {"license": "apache-2.0"}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ("download.corpora.dates.first_year=2000", "download.corpora.dates.last_year=1999"),
            "first_year 2000 is after last_year 1999; exchange them",
        ),
        (
            ("download.corpora.dates.first_year=2000", "download.corpora.dates.last_year=2000"),
            "2000 to 2000 have 366 days, but train, validation and test ask for 11500; "
            "ask for fewer, or for more years",
        ),
        (
            ("download.languages.target=de",),
            "the corpus of dates has English (en) and ISO 8601, which is no language (zxx), "
            "got en and de",
        ),
    ],
)
def test_what_cannot_be_drawn_is_told(overrides, message):
    with pytest.raises(ConfigError) as told:
        sections(*overrides)

    assert message in str(told.value)


def test_a_year_may_give_all_its_days():
    exact = ("train_pairs=300", "validation_pairs=60", "test_pairs=6")
    year = ("first_year=2000", "last_year=2000")

    changed = sections(*(f"download.corpora.dates.{value}" for value in (*exact, *year)))
    corpus = changed["download"].corpora["dates"]
    assert corpus.train_pairs == 300
