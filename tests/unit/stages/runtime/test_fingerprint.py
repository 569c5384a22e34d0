"""Fingerprints change with settings, data and code; digests find altered files."""

import json
import re
from pathlib import Path

import pytest

from nmt_core.base import config
from nmt_core.base.errors import NmtError
from nmt_core.base.languages import Languages
from stages import paths, train
from stages.configure import compose
from stages.configure.sections import build_all
from stages.params import TrainParams
from stages.runtime import fingerprint
from stages.runtime.fingerprint import (
    DIGESTS,
    check_digests,
    compute_fingerprint,
    hash_json,
    write_digests,
)

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


def test_settings_stage_and_budget_count(key):
    keys = {key(), key(seed=2), key(target="fr"), key("other"), key(steps=20)}
    assert len(keys) == 5
    assert len({full.partition("-")[0] for full in keys}) == 4  # budgets share checkpoints


def test_the_order_of_keys_does_not_count():
    settings = {"seed": 1, "model": {"width": 2, "heads": 1}}
    turned = {"model": {"heads": 1, "width": 2}, "seed": 1}
    assert hash_json([settings]) == hash_json([turned])
    assert hash_json([1, 2]) != hash_json([2, 1])


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
    """Return settings with changes; those of a group change it in part."""
    return settings | {
        name: merge(settings[name], value) if isinstance(value, dict) else value
        for name, value in changes.items()
    }


@pytest.mark.parametrize("name", ["a.txt", "b.bin"])
def test_altered_and_missing_files_are_named(tmp_path, name):
    for file, content in (("a.txt", b"one\n"), ("b.bin", bytes(100))):
        (tmp_path / file).write_bytes(content)
    write_digests(tmp_path)
    check_digests(tmp_path, stage="train")
    assert json.loads((tmp_path / DIGESTS).read_text()).keys() == {"a.txt", "b.bin"}
    path, place = tmp_path / name, re.escape(str(tmp_path / name))
    before = path.read_bytes()
    for number in (0, len(before) - 1):
        flipped = bytearray(before)
        flipped[number] ^= 1
        path.write_bytes(flipped)
        with pytest.raises(NmtError, match=rf"^{place} was altered.* the train stage .*repro$"):
            check_digests(tmp_path, stage="train")
    path.unlink()
    with pytest.raises(NmtError, match=rf"^{place} is missing.* the train stage .*repro$"):
        check_digests(tmp_path, stage="train")
