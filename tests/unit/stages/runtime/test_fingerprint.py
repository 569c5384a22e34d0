"""What makes a training another one: settings, data, code, and nothing else."""

from pathlib import Path

import pytest

from nmt_core.base import config
from nmt_core.base.languages import Languages
from stages import paths, train
from stages.configure import compose
from stages.configure.sections import build_all
from stages.params import TrainParams
from stages.runtime import fingerprint
from stages.runtime.fingerprint import compute_fingerprint, hash_json

FILES = ("nmt_core/model.py", "stages/train.py", "stages/other.py", "data/shards/0.npy")
PIPELINE = """
stages:
  train: {deps: [code/train.json, data/shards]}
  other: {deps: [code/other.json]}
"""


@pytest.fixture
def key(project):
    """Compute the fingerprint of a stage that depends on a folder and imports a file."""
    for name in map(Path, FILES):
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text("import nmt_core.model\n")
    paths.PIPELINE.write_text(PIPELINE)
    return lambda stage="train", seed=1, target="en", steps=10: compute_fingerprint(
        [{"seed": seed}, {"target": target}], stage, budget={"steps": steps}
    )


@pytest.mark.parametrize(
    ("name", "text", "same"),
    [
        ("data/shards/0.npy", "changed", False),
        ("data/shards/1.npy", "new", False),
        ("stages/train.py", "import nmt_core.model, os\n", False),
        ("stages/train.py", "# A comment.\nimport nmt_core.model\n", True),
        ("nmt_core/model.py", "changed = 1", False),
        ("stages/other.py", "changed = 1", True),
        ("code/train.json", "not up to date", True),
    ],
)
def test_data_and_code_of_the_stage_count(key, name, text, same):
    before = key()
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(text)

    assert same is (before == key())


def test_settings_and_stages_make_another_training(key):
    assert len({key(), key(seed=2), key(target="fr"), key("other"), key(steps=20)}) == 5


def test_the_order_of_keys_makes_no_other_training():
    settings = {"seed": 1, "model": {"width": 2, "heads": 1}}
    turned = {"model": {"heads": 1, "width": 2}, "seed": 1}

    assert hash_json([settings]) == hash_json([turned])
    assert hash_json([1, 2]) != hash_json([2, 1])


def test_trainings_that_differ_in_their_budget_only_have_their_course_in_common(key):
    courses = {key().partition("-")[0], key(steps=20).partition("-")[0]}

    assert len(courses) == 1
    assert courses != {key(seed=2).partition("-")[0]}


LANGUAGES = Languages(source="de", target="en")


@pytest.fixture(scope="module")
def params():
    return build_all(compose.compose_groups(["data=demo"]), source="conf")["train"]


@pytest.mark.parametrize(
    ("section", "languages", "same_course", "same_end"),
    [
        ({}, LANGUAGES, True, True),
        ({"seed": 9}, LANGUAGES, False, True),
        ({"budget": {"steps": 7}}, LANGUAGES, True, False),
        ({}, Languages(source="de", target="ja"), False, True),  # BLEU counts other words
    ],
)
def test_settings_and_languages_decide_the_course(
    params, monkeypatch, section, languages, same_course, same_end
):
    monkeypatch.setattr(fingerprint, "digest_code", lambda _: {})
    changed = config.build(TrainParams, merge(params.model_dump(), section), at="train")
    before, after = train.identify(params, LANGUAGES), train.identify(changed, languages)

    ends = zip(before.split("-"), after.split("-"), strict=True)
    assert [same_course, same_end] == [old == new for old, new in ends]


def merge(settings, changes):
    """Return settings with changes, of which those of a group change it in part."""
    return settings | {
        name: merge(settings[name], value) if isinstance(value, dict) else value
        for name, value in changes.items()
    }
