"""Split, subwords and weights follow from the size of a text."""

from collections import Counter

import pytest

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.base.random import FEWEST_SENTENCES
from nmt_core.corpora.splitting import PER, split_of
from nmt_core.data.mixture import Mixture
from nmt_core.data.settings import MixtureConfig
from nmt_core.translation.fitting import FEWEST
from stages.configure.compose import compose_settings
from stages.configure.sections import build_all
from stages.configure.text_size import count_weighted_pairs, find_weight, read_temperature
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
def test_held_out_sets_have_the_size_that_tests_need(compose, pairs, validations, tests):
    found, _ = compose(pairs)
    split = found["download"].split

    assert split.test_per_10000 * pairs / PER == pytest.approx(tests, rel=0.02)
    assert split.validation_per_10000 * pairs / PER == pytest.approx(validations, rel=0.02)


@pytest.mark.parametrize("pairs", [2_000, 4_000, 6_000])
def test_held_out_sets_suffice_for_verdict_and_confidence(compose, pairs):
    """A hash draws fewer than are expected, as often as more."""
    split = compose(pairs)[0]["download"].split
    drawn = Counter(split_of(f"line {number}", split) for number in range(pairs))

    assert drawn["test"] >= FEWEST_SENTENCES
    assert drawn["validation"] >= FEWEST


@pytest.mark.parametrize(
    ("pairs", "subwords"), [(50, 500), (200, 800), (800, 2000), (10_000, 2000), (10_001, 8000)]
)
def test_few_pairs_get_few_subwords(compose, pairs, subwords):
    found, said = compose(pairs)

    assert found["tokenize"].subwords.vocab_size == subwords
    assert said[0].startswith(f"fitted to {pairs:,} pairs: download.split.validation_per_10000=")
    assert (FEW in said[0]) is (pairs <= 10_000)


@pytest.mark.parametrize(
    ("pairs", "settings", "test_share", "subwords"),
    [
        (800, ["download.split.test_per_10000=7", "tokenize.subwords.vocab_size=900"], 7, 900),
        (
            20_000,
            [f"+download.corpora.files.{n}.source=other.tsv" for n in ("validation", "test")],
            10,
            8000,
        ),
    ],
)
def test_explicit_settings_and_sets_stay(compose, pairs, settings, test_share, subwords):
    sections, messages = compose(pairs, *settings)

    assert sections["download"].split.validation_per_10000 == 10
    assert sections["download"].split.test_per_10000 == test_share
    assert sections["tokenize"].subwords.vocab_size == subwords
    assert messages == []


def test_all_errors_are_reported_at_once(compose):
    with pytest.raises(ConfigError) as told:
        compose(800, "download.split.test_per_10000=-1", "train.seed=-1")

    places = [line.split(": ")[1].partition(" ")[0] for line in str(told.value).splitlines()]
    assert places == ["download.split.test_per_10000", "train.seed"]


@pytest.mark.parametrize(
    ("more_pairs", "weight", "share", "subwords"), [(3_200, 1, 2500, 2000), (20_000, 0, 2500, 8000)]
)
def test_the_split_counts_only_testable_pairs(
    compose, project, more_pairs, weight, share, subwords
):
    """Subwords count only pairs that are learnt."""
    (project / "more.tsv").write_text("vier\tfour\n" * more_pairs)
    more = "{kind:files,train:{source:more.tsv},licence:own,train_only:true}"
    own = ["download.corpora.files.licence=own", f"+download.corpora.files.weight={weight}"]
    sections, [message] = compose(800, *own, f"+download.corpora.more={more}")

    learnt = more_pairs + 800 * weight
    assert sections["download"].split.test_per_10000 == share
    assert message.startswith(f"fitted to {learnt:,} pairs and 800 pairs that may be tested on: ")
    assert sections["tokenize"].subwords.vocab_size == subwords


def test_small_text_is_split_beside_train_only_corpora(compose):
    opus = "{kind:opus,corpus:Books,version:v1,licence:own,train_only:true}"
    both = ["download.corpora.files.licence=own", f"+download.corpora.books={opus}"]
    found, [said] = compose(800, *both)

    assert found["download"].split.test_per_10000 == 2500
    assert said.startswith("fitted to 800 pairs that may be tested on: download.split.")
    assert FEW not in said
    assert found["tokenize"].subwords.vocab_size == 8000
    assert compose(800, *both, "download.corpora.books.train_only=false")[1] == []


def test_settings_without_groups_change_nothing_else(compose, project):
    (project / "params.yaml").write_text((PROJECT / "params.yaml").read_text())
    files = "download.corpora={files:{kind:files,train:{source:text.tsv}}}"
    found, said = compose(800, files, choices=())

    assert found["download"].split.test_per_10000 == 10
    assert said == []


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("share", [0.15, 0.5])
def test_weights_yield_the_share_at_any_temperature(tmp_path, temperature, share):
    sizes, weights = {"web": 50_000, "own": 1000, "made": 300}, {"web": 1.0, "own": 3.0}
    common = {"kind": "files", "licence": "", "removed": {}}
    corpora = {
        name: common | {"weight": weight, "pairs": {"train": sizes[name]}}
        for name, weight in weights.items()
    }
    report = {"pairs": {}, "removed": {}, "corpora": corpora}
    files.write_json(tmp_path / "download.json", report)
    others = count_weighted_pairs(temperature, reports=tmp_path)
    weights["made"] = find_weight(share, pairs=300, others=others, temperature=temperature)
    config = MixtureConfig(temperature=temperature)
    ranges = {name: range(size) for name, size in sizes.items()}
    shares = Mixture(ranges, weights, config, seed=1).compute_shares(0)
    assert shares["made"] == pytest.approx(share)


def test_temperature_is_one_by_default():
    assert read_temperature({"train": {}}) == 1
    assert read_temperature({"train": {"mixture": {"temperature": 2.5}}}) == 2.5
