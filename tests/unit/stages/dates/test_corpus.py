"""Dates as the download stage brings them."""

from datetime import datetime

import pytest

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages
from nmt_core.base.parallel.jobs import WorkersConfig
from stages import download
from stages.configure.compose import compose_groups
from stages.configure.sections import build_all
from stages.dates.corpus import DatesCorpus, draw_dates

FEW = ("train_pairs=40", "validation_pairs=5", "test_pairs=6", "first_year=1998", "last_year=1999")


def sections(*overrides):
    return build_all(compose_groups(["data=dates", *overrides]), source="conf/")


@pytest.fixture
def params():
    return sections(*(f"download.corpora.dates.{value}" for value in FEW))["download"]


def bring(params, folder):
    report = download.run(
        params,
        corpus=folder / "corpus",
        vectors=folder / "vectors",
        downloads=folder / "downloads",
        workers=WorkersConfig(processes=1),
    )
    texts = {path.name: [*files.read_lines(path)] for path in (folder / "corpus").glob("*.*e*")}
    return report.dump(), texts


def test_all_dates_arrive_and_none_is_taken_for_another(params, tmp_path):
    """Cleaning finds no two alike, and leaves none out."""
    metrics, texts = bring(params, tmp_path)

    assert metrics["pairs"] == {"train": 40, "validation": 5, "test": 6}
    assert not any(sum(why.values()) for why in metrics["removed"].values())
    for split in metrics["pairs"]:
        for source, target in zip(texts[f"{split}.source"], texts[f"{split}.target"], strict=True):
            assert f"{datetime.fromisoformat(target):%B %-d, %Y}" == source
            assert target[:2] == "19"


def test_it_is_read_in_characters():
    assert sections("model=rnn_bahdanau")["tokenize"].kind == "characters"


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


def test_a_corpus_of_dates_brings_all_splits_and_knows_its_own_languages(tmp_path):
    corpus = DatesCorpus(
        kind="dates",
        train_pairs=9,
        validation_pairs=2,
        test_pairs=3,
        first_year=1998,
        last_year=1999,
    )
    for source, target in (("en", "zxx"), ("zxx", "en")):
        languages = Languages(source=source, target=target)
        assert corpus.check(languages) is None
        texts = corpus.obtain(languages, fetch=None, scratch=tmp_path)
        assert [*texts] == ["train", "validation", "test"]
        drawn = draw_dates(1998, 1999, {"test": 3, "validation": 2, "train": 9}, 1)
        for split, text in texts.items():
            [paths] = text.parts
            sides = [[*files.read_lines(path)] for path in paths]
            english, iso = sides if source == "en" else sides[::-1]
            assert [*zip(english, iso, strict=True)] == [tuple(pair) for pair in drawn[split]]
    for other in (("en", "de"), ("de", "zxx")):
        with pytest.raises(ValueError, match="which is no language"):
            corpus.check(Languages(source=other[0], target=other[1]))
    assert corpus.list_given() == {"validation", "test"}
    assert corpus.estimate_size(languages) == (9, 90)
    assert corpus.describe().name == "dates"
    assert corpus.describe().licence == {"license": "apache-2.0"}
    assert corpus.origin("test", languages) == ("code", "stages/dates")
    assert corpus.held_out() == "by draw, no date twice"
