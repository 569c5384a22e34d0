"""What is measured, of stages that somebody made up."""

import pytest

from nmt_core.base import files
from nmt_core.base.parallel.jobs import WorkersConfig
from stages import paths
from stages.configure.compose import compose_settings
from stages.configure.sections import build_all
from stages.planning import calibration
from stages.planning.calibration import DATA_STAGES, STAGES, Training, measure_training
from stages.planning.scratch import Scratch, change_settings
from stages.runtime.usage import Usage
from tests.support.projects import PROJECT

SETTINGS = compose_settings(["data=demo"], conf=PROJECT / "conf")
PAIRS = {"train": 40, "validation": 3, "test": 10}


class Pretended(Scratch):
    """A scratch project whose stages write a thousand bytes each, of which DVC keeps 50."""

    seconds = 2.0
    ran = ()

    def run(self, stage, changes):
        lines = tuple(self.count(split) for split in PAIRS)
        Pretended.ran += ((stage, lines, changes, self.settings),)
        files.write_text(self.folder / paths.CHECKPOINTS / stage, "x" * 1000)
        return Usage(seconds=self.seconds, processor_seconds=1.0, memory_bytes=1)

    def count(self, split):
        text = self.folder / paths.CORPUS / f"{split}.source"
        return len([*files.read_lines(text)]) if text.exists() else 0

    def count_kept_bytes(self, stage):
        return 50


@pytest.mark.parametrize("validations", [1, 2])
def test_a_training_is_measured_by_its_last_validation(tmp_path, monkeypatch, validations):
    """Every 20 seconds, of which 5 were updates; of one checkpoint a longer one keeps two."""
    changes = {"train.training.validation_sentences": 512}
    params = build_all(change_settings(SETTINGS, changes), source="params.yaml")["train"]
    files.write_json(
        tmp_path / "reports/shard.json", {"train_target_tokens": 900, "train_pairs": 100}
    )
    journal = [{"kind": "run", "milliseconds": 1_000}]
    for n in range(1, validations + 1):
        values = {
            "validation/loss": 1.0,
            "train/target_tokens": 5_000 * n,
            "train/seconds": 5.0 * n,
        }
        journal.append({"step": 10 * n, "milliseconds": 1_000 + 20_000 * n, "values": values})
    monkeypatch.setattr(Pretended, "read_journal", lambda _: journal)
    monkeypatch.setattr(Pretended, "seconds", 17.0 + 20.0 * validations)
    sample, training = measure_training(Pretended(tmp_path, {}), params, 2.0)

    assert (sample.items, sample.disk_bytes) == (256, 1050 + 1000 * (validations == 1))
    assert training == Training(
        start_seconds=17.0,
        validation_seconds=30.0,
        tokens_per_second=1_000.0,
        tokens_per_update=500.0,
        tokens_per_pass=2_000.0,
    )


@pytest.fixture
def pretended(project, monkeypatch):
    """Return the names and factors of what was trained on, by stages that somebody made up."""
    for split, count in PAIRS.items():
        for side in paths.SIDES:
            files.write_lines(paths.CORPUS / f"{split}.{side}", ["eins zwei"] * count)
    files.write_json(paths.CORPUS / "corpus.json", {"pairs": PAIRS, "corpora": [PAIRS]})
    trained = []
    monkeypatch.setattr(calibration, "PAIRS", 30)
    monkeypatch.setattr(calibration, "Scratch", Pretended)
    monkeypatch.setattr(Pretended, "ran", ())
    monkeypatch.setattr(
        calibration,
        "measure_training",
        lambda scratch, _, times: (
            trained.append((scratch.folder.name, times))
            or (
                calibration.Sample(1, Usage(seconds=1, processor_seconds=1, memory_bytes=1), 0),
                None,
            )
        ),
    )
    return trained


WORKERS = WorkersConfig(processes=2, chunk_lines=10)


def test_little_time_is_spent_on_one_part(project, pretended):
    train = build_all(SETTINGS, source="params.yaml")["train"]
    found = calibration.calibrate(SETTINGS, train, WORKERS, project / "runs", 0.0)
    sizes = {name: [one.items for one in samples] for name, samples in found.samples.items()}
    once = {"train": [1], "evaluate": [10], "export": [3]}
    assert sizes == {name: [15] for name in DATA_STAGES} | once
    assert pretended == [("15-pairs", 40 / 15)]


def test_every_stage_is_measured_on_parts_and_what_translates_on_a_few_sentences(
    project, pretended, capsys
):
    train = build_all(SETTINGS, source="params.yaml")["train"]
    found = calibration.calibrate(SETTINGS, train, WORKERS, project / "runs")

    told = [line.partition(":")[0] for line in capsys.readouterr().err.splitlines()]
    assert told == [", ".join(DATA_STAGES)] * 2 + ["train", "evaluate, export"]
    stages, lines, changes, settings = zip(*Pretended.ran, strict=True)
    assert stages == (*DATA_STAGES, *DATA_STAGES, "evaluate", "evaluate", "export")
    data = [(size, 3, 10) for size in (15, 30) for _ in DATA_STAGES]
    assert lines == (*data, (30, 0, 8), (30, 0, 10), (30, 3, 3))
    assert [one.get("export.engine_sentences") for one in changes[-3:]] == [8, 10, 3]
    assert {one.get("evaluate.behaviour.lines") for one in changes[-3:]} == {0}
    assert changes[-1]["export.glossary"] is None  # the user's file is not there
    shared = {"processes": found.processes, "dask": None}
    assert settings[0]["workers"] == shared | {"chunk_lines": 3}
    assert settings[-1] == SETTINGS | {"workers": shared | {"chunk_lines": 7}}
    assert pretended == [("30-pairs", 40 / 30)]
    sizes = {name: [one.items for one in samples] for name, samples in found.samples.items()}
    assert sizes == {name: [15, 30] for name in DATA_STAGES} | {
        "train": [1],
        "evaluate": [8, 10],
        "export": [3],
    }
    assert [*sizes] == STAGES
    assert found.whole == dict.fromkeys(DATA_STAGES, 40) | {"evaluate": 173, "export": 3}
    assert (found.processes, 0 < found.share <= 1) == (2, True)
