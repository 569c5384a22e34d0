"""Information about a training for people: all of it is true, and nothing is secret."""

import pytest
import yaml

from nmt_core.base import files
from stages import paths
from stages.configure import compose
from stages.params import TrainParams, load
from stages.tracking import run_metadata
from tests.support.projects import PROJECT

CANARY = "hunter2"
LINES = {
    "train": (["eins", "zwei"], ["one", "two"]),
    "validation": (["drei"], ["three"]),
    "test": (["vier"], ["four"]),
}


@pytest.fixture(autouse=True)
def project(project):
    set_up("data=demo", "model=transformer")
    write_corpus(LINES)
    return project


def write_corpus(lines):
    for split, sides in lines.items():
        for side, text in zip(paths.SIDES, sides, strict=True):
            files.write_lines(paths.CORPUS / f"{split}.{side}", text)
    described = {
        "languages": {"source": "de", "target": "en"},
        "pairs": {split: len(source) for split, (source, _) in lines.items()},
        "sha256": {
            path.name: files.sha256(path)
            for path in paths.CORPUS.iterdir()
            if path.suffix != ".json"
        },
    }
    files.write_json(paths.CORPUS / "corpus.json", described)


def set_up(*settings):
    document = compose.compose_groups(list(settings), conf=PROJECT / "conf")
    paths.PARAMS.write_text(yaml.safe_dump(document))


def test_settings_are_shown_by_their_dotted_names():
    document = yaml.safe_load(paths.PARAMS.read_text())
    found = run_metadata.read_public_settings(*run_metadata.UP_TO_TRAINING, "evaluate")

    assert len(found) > 50
    for name, value in found.items():
        inner = document
        for part in name.split("."):
            inner = inner[part]
        assert (inner, type(inner)) == (value, type(value))


@pytest.mark.parametrize("corpus", ["demo", "europarl"])
def test_stored_settings_are_the_used_ones(corpus):
    """Otherwise the run could not be repeated."""
    set_up(f"data={corpus}", "download.split.salt='a@b?c'")

    assert yaml.safe_load(paths.PARAMS.read_text()) == yaml.safe_load(
        run_metadata.read_public_params()
    )


def test_the_digest_distinguishes_texts():
    params = load(TrainParams, "train")
    digest = run_metadata.describe_run(params)["text_sha256"]
    assert digest == run_metadata.describe_run(params)["text_sha256"]
    write_corpus({**LINES, "train": (["zwei", "eins"], ["two", "one"])})
    assert digest != run_metadata.describe_run(params)["text_sha256"]


def test_no_secret_of_an_address_is_shown():
    """Also if the address has no common name."""
    set_up("data=europarl", f"download.corpora.europarl.url='https://example.org/a.tgz?v={CANARY}'")
    told = [
        run_metadata.read_public_settings(*run_metadata.UP_TO_TRAINING),
        run_metadata.read_public_params(),
    ]

    assert CANARY in paths.PARAMS.read_text()
    assert CANARY not in str(told)
    assert "example.org" in str(told)


def name_run(monkeypatch, commit="c0ffee0"):
    provenance = {run_metadata.COMMIT: f"{commit}1234"}
    monkeypatch.setattr(run_metadata, "collect_provenance", lambda: provenance)
    return run_metadata.describe_run(load(TrainParams, "train"))["mlflow.runName"]


def test_training_is_named_by_text_length_and_code(monkeypatch):
    names = [name_run(monkeypatch)]
    assert names == ["de-en transformer, 2 pairs, 1,400 steps, seed 1, c0ffee0"]
    for setting in ("train.budget.steps=1000", "train.budget.seconds=60.0", "train.seed=2"):
        set_up("data=demo", "model=transformer", setting)
        names.append(name_run(monkeypatch))
    write_corpus(LINES | {"train": (["eins"], ["one"])})
    names += [name_run(monkeypatch), name_run(monkeypatch, "0ddba11")]

    assert len({*names}) == len(names)
    monkeypatch.setenv("DVC_EXP_NAME", "rnn-seed1-0123456789")
    assert name_run(monkeypatch) == "rnn-seed1-0123456789"
