"""A small corpus gets a test set that says something, and no more subwords than it can teach."""

from collections import Counter

import pytest

from nmt_core.base.binomial import FEWEST_SENTENCES
from nmt_core.base.errors import ConfigError
from nmt_core.corpora.splitting import PER, split_of
from nmt_core.translation.fitting import FEWEST
from stages.configure.compose import compose_settings
from stages.configure.sections import build_all
from tests.support.projects import PROJECT

FILES = [
    "download.corpora.files.train.source=text.tsv",
    "download.corpora.files.train.target=null",
    "download.corpora.files.validation=null",
    "download.corpora.files.test=null",
]
FEW = "so few hardly make a translator to rely on"


@pytest.fixture
def compose(project):
    """Compose settings for a text of so many pairs; return them and what was said."""
    (project / "conf").symlink_to(PROJECT / "conf")

    def compose(pairs, *settings, choices=("data=files",)):
        (project / "text.tsv").write_text("drei\tthree\n" * pairs)
        said = []
        values = compose_settings([*choices, *FILES, *settings], say=said.append)
        return build_all(values, source="test"), said

    return compose


@pytest.mark.parametrize(
    ("pairs", "validations", "tests"),
    [
        (100, 12.5, 25),
        (800, 100, 200),
        (4_000, 230, 230),
        (6_000, 230, 300),
        (29_000, 500, 1000),
        (200_000, 500, 1000),
        (1_000_000, 1000, 1000),
    ],
)
def test_about_as_many_are_set_aside_as_a_test_needs(compose, pairs, validations, tests):
    found, _ = compose(pairs)
    split = found["download"].split

    assert split.test_per_10000 * pairs / PER == pytest.approx(tests, rel=0.02)
    assert split.validation_per_10000 * pairs / PER == pytest.approx(validations, rel=0.02)


@pytest.mark.parametrize("pairs", [2_000, 4_000, 6_000])
def test_what_is_drawn_suffices_for_a_verdict_and_a_confidence(compose, pairs):
    """A hash draws fewer than are expected, as often as more."""
    split = compose(pairs)[0]["download"].split
    drawn = Counter(split_of(f"line {number}", split) for number in range(pairs))

    assert drawn["test"] >= FEWEST_SENTENCES
    assert drawn["validation"] >= FEWEST


@pytest.mark.parametrize(
    ("pairs", "subwords"), [(50, 500), (200, 800), (800, 2000), (10_000, 2000), (10_001, 8000)]
)
def test_few_pairs_teach_few_subwords(compose, pairs, subwords):
    found, said = compose(pairs)

    assert found["tokenize"].subwords.vocab_size == subwords
    assert said[0].startswith(f"fitted to {pairs:,} pairs: download.split.validation_per_10000=")
    assert (FEW in said[0]) is (pairs <= 10_000)


def test_what_a_person_sets_stays(compose):
    settings = ["download.split.test_per_10000=7", "tokenize.subwords.vocab_size=900"]
    found, said = compose(800, *settings)

    assert found["download"].split.validation_per_10000 == 10
    assert found["download"].split.test_per_10000 == 7
    assert found["tokenize"].subwords.vocab_size == 900
    assert said == []


def test_what_is_wrong_with_a_text_is_told_with_all_else(compose):
    with pytest.raises(ConfigError) as told:
        compose(800, "download.split.test_per_10000=-1", "train.seed=-1")

    places = [line.split(": ")[1].partition(" ")[0] for line in str(told.value).splitlines()]
    assert places == ["download.split.test_per_10000", "train.seed"]


def test_sets_that_are_given_need_no_split(compose):
    sets = [f"+download.corpora.files.{name}.source=other.tsv" for name in ("validation", "test")]
    found, said = compose(20_000, *sets)

    assert found["download"].split.test_per_10000 == 10
    assert said == []


def test_only_what_may_be_tested_on_counts_for_the_split(compose, project):
    """Of 4,000 pairs, 3,200 of which only teach, 200 of the others are set aside."""
    (project / "more.tsv").write_text("vier\tfour\n" * 3_200)
    more = "{kind:files,train:{source:more.tsv},licence:own,train_only:true}"
    both = ["download.corpora.files.licence=own", f"+download.corpora.more={more}"]
    found, [said] = compose(800, *both)

    assert found["download"].split.test_per_10000 * 800 / PER == pytest.approx(200)
    assert said.startswith("fitted to 4,000 pairs and 800 pairs that may be tested on: ")
    assert found["tokenize"].subwords.vocab_size == 2000


def test_what_is_not_learnt_may_be_tested_on(compose, project):
    (project / "more.tsv").write_text("vier\tfour\n" * 20_000)
    more = "{kind:files,train:{source:more.tsv},licence:own,train_only:true}"
    files = ["download.corpora.files.licence=own", "+download.corpora.files.weight=0"]
    found, [said] = compose(800, *files, f"+download.corpora.more={more}")

    assert found["download"].split.test_per_10000 == 2500
    assert said.startswith("fitted to 20,000 pairs and 800 pairs that may be tested on: ")
    assert found["tokenize"].subwords.vocab_size == 8000


def test_a_small_text_of_ones_own_is_split_beside_any_corpus_that_only_teaches(compose):
    opus = "{kind:opus,corpus:Books,version:v1,licence:own,train_only:true}"
    both = ["download.corpora.files.licence=own", f"+download.corpora.books={opus}"]
    found, [said] = compose(800, *both)

    assert found["download"].split.test_per_10000 == 2500
    assert said.startswith("fitted to 800 pairs that may be tested on: download.split.")
    assert FEW not in said
    assert found["tokenize"].subwords.vocab_size == 8000
    assert compose(800, *both, "download.corpora.books.train_only=false")[1] == []


def test_settings_alone_change_nothing_else(compose, project):
    (project / "params.yaml").write_text((PROJECT / "params.yaml").read_text())
    files = "download.corpora={files:{kind:files,train:{source:text.tsv}}}"
    found, said = compose(800, files, choices=())

    assert found["download"].split.test_per_10000 == 10
    assert said == []
