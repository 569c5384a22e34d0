"""One model of two directions, by the user's commands: trained, killed, resumed, used."""

import os
import signal

import pytest

from nmt_core.base import files
from tests.support import projects

SETTINGS = projects.SMALL | projects.TRANSFORMER | projects.SCHEDULE
SETTINGS = {name: value for name, value in SETTINGS.items() if "demo" not in name}
SETTINGS["tokenize.subwords.vocab_size"] = 300
SET = projects.overrides(**SETTINGS)
CHOICES = "TEXT='my/owls.de my/owls.en' LANGUAGES='de-en en-de' MODEL=transformer TRAIN=quick"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project whose training was killed after the first checkpoint, and continued."""
    begun = projects.begin(
        tmp_path_factory.mktemp("begun") / "project", tmp_path_factory.mktemp("shared")
    )
    copy = begun.untracked(tmp_path_factory.mktemp("directions") / "project")
    for code, line in (("de", "Die Eule {} liest."), ("en", "Owl {} reads.")):
        files.write_lines(copy.folder / f"my/owls.{code}", map(line.format, range(600)))
    copy.run(f"python -m stages.configure {CHOICES.lower()} {SET}")
    copy.run("dvc repro embeddings shard")
    process = copy.start("dvc repro")
    copy.trained_to(projects.VALIDATE_EVERY + projects.LOG_EVERY)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return copy.run("dvc repro")


def test_killed_training_of_two_directions_continues(project):
    assert project.ran == ["train", "evaluate", "export"]
    assert f"continuing from step {projects.VALIDATE_EVERY}\n" in project.log
    exported = files.read_json(project.folder / "models/export/directions.json")
    results = files.read_json(project.folder / "reports/evaluate.json")["directions"]
    counts = {name: result["sentences"] for name, result in results.items()}

    assert [each["languages"] for each in exported] == [*results] == ["de-en", "en-de"]
    assert counts["de-en"] == counts["en-de"] > 0
    assert project.run("dvc repro").ran == []


@pytest.mark.parametrize(
    ("options", "line", "word"),
    [
        ("--to en", "Die Eule 7 liest.", "reads"),
        ("--to de", "Owl 7 reads.", "liest"),
        ("--from de --to en", "Die Eule 7 liest.", "reads"),
    ],
)
def test_one_export_translates_both_directions(project, options, line, word):
    project.run(f"python -m nmt_core.cli translate {options} '{line}'")

    assert word in project.log.splitlines()[0]
