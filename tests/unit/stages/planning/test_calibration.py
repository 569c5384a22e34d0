"""A calibration trains on a sample of the text, and touches nothing of the project."""

import json

import pytest

from nmt_core.base import files
from nmt_core.base.errors import CorpusError, NmtError
from stages import paths
from stages.configure.compose import compose_settings
from stages.planning import calibration
from stages.planning.calibration import Range, calibrate, count_pairs
from stages.planning.scratch import run_in, write_sample
from stages.runtime.usage import Usage
from tests.support.projects import PROJECT

PAIRS = {"train": 40, "validation": 3, "test": 5}


@pytest.fixture
def corpus(project):
    for split, count in PAIRS.items():
        for side in paths.SIDES:
            files.write_lines(paths.CORPUS / f"{split}.{side}", [f"eins {n}" for n in range(count)])
    first = {split: count // 2 for split, count in PAIRS.items()}
    second = {split: count - first[split] for split, count in PAIRS.items()}
    files.write_json(paths.CORPUS / "corpus.json", {"pairs": PAIRS, "corpora": [first, second]})
    return paths.CORPUS


@pytest.mark.parametrize("train", [1, 7, 13, 40])
def test_samples_keep_lines_parallel_and_corpora(corpus, tmp_path, train):
    before = {path.name: files.sha256(path) for path in corpus.iterdir()}
    sample = tmp_path / "sample"
    write_sample(corpus, sample, PAIRS | {"train": train})
    rows = [
        [int(line.split()[1]) for line in files.read_lines(sample / f"train.{side}")]
        for side in paths.SIDES
    ]
    assert rows[0] == rows[1]
    assert len(set(rows[0])) == train
    counts = [each["train"] for each in files.read_json(sample / "corpus.json")["corpora"]]
    assert counts == [sum(row < 20 for row in rows[0]), sum(row >= 20 for row in rows[0])]
    assert {path.name: files.sha256(path) for path in corpus.iterdir()} == before


@pytest.mark.parametrize("split", PAIRS)
def test_empty_split_is_named(corpus, tmp_path, split):
    files.write_json(corpus / "corpus.json", {"pairs": PAIRS | {split: 0}})
    with pytest.raises(CorpusError, match=rf"no {split} pairs"):
        count_pairs(corpus)
    with pytest.raises(CorpusError, match=r"no train and no validation and no test pairs"):
        count_pairs(tmp_path)


PROBE = """
import os, sys
from pathlib import Path
Path("seen.txt").write_text("\\n".join(os.environ))
if Path("broken").exists():
    sys.exit("first\\nit is broken")
Path("runs/usage").mkdir(parents=True)
usage = '{"seconds": 2.5, "processor_seconds": 1.5, "memory_bytes": 7}'
Path("runs/usage/probe.json").write_text(usage)
"""


@pytest.fixture
def folder(project):
    """A folder whose only stage writes what it sees."""
    for name, code in (("__init__", ""), ("probe", PROBE)):
        files.write_text(project / f"scratch/stages/{name}.py", code)
    return project / "scratch"


def test_stage_is_tied_to_no_run_or_server(folder, monkeypatch):
    canaries = {"MLFLOW_TRACKING_URI", "DVC_EXP_NAME", "NMT_COMPARISON", "LANGUAGE_OF_MINE"}
    for name in canaries:
        monkeypatch.setenv(name, "canary")
    assert run_in(folder, "probe") == Usage(seconds=2.5, processor_seconds=1.5, memory_bytes=7)
    assert canaries & set((folder / "seen.txt").read_text().split()) == {"LANGUAGE_OF_MINE"}


def test_failing_stage_is_reported_with_its_reason(folder):
    files.write_text(folder / "broken", "")
    with pytest.raises(NmtError, match=r"^the probe stage fails on a part .*: it is broken$"):
        run_in(folder, "probe")


@pytest.mark.parametrize("reason", [KeyboardInterrupt, SystemExit])
def test_interrupted_calibration_ends_its_stage(folder, monkeypatch, reason):
    ended = []

    class Process:
        __init__ = __exit__ = lambda *_, **__: None
        __enter__ = lambda self: self  # noqa: E731

        def wait(self):
            raise reason

        def terminate(self):
            ended.append(self)

    monkeypatch.setattr("stages.planning.scratch.subprocess.Popen", Process)
    with pytest.raises(reason):
        run_in(folder, "probe")
    assert ended


def test_measurements_are_extrapolated_to_the_text(corpus, monkeypatch):
    """A start of 4 s; every validation takes 15 s, after updates of 5 s at 900 to 1,100 tokens."""
    journal = [{"kind": "run", "milliseconds": 0}]
    tokens = 0
    for n, speed in enumerate((500, 900, 1100), start=1):
        tokens += 5 * speed
        values = {"validation/loss": 1.0, "train/target_tokens": tokens, "train/seconds": 5.0 * n}
        journal.append({"step": 10 * n, "milliseconds": 20_000 * n, "values": values})

    def run_stage(folder, stage):
        text = "".join(f"{json.dumps(entry)}\n" for entry in journal)
        files.write_text(folder / "runs/a-b/journal.jsonl", text)
        files.write_json(
            folder / "reports/shard.json", {"train_target_tokens": 90, "train_pairs": 10}
        )
        seconds = 64.0 if stage == "train" else 2.0
        return Usage(seconds=seconds, processor_seconds=1.0, memory_bytes=9)

    monkeypatch.setattr(calibration, "run_in", run_stage)
    monkeypatch.setattr(calibration, "SAMPLE", {"train": 20, "validation": 3, "test": 5})
    settings = compose_settings(["data=demo"], conf=PROJECT / "conf")
    found = calibrate(settings)
    assert found.tokens_per_second == Range(900, 1100)
    assert found.start_seconds == pytest.approx(4.0)
    assert found.validation_seconds == pytest.approx((4.5, 15.0))
    assert found.tokens_per_pass == pytest.approx(2 * 100)
    assert found.tokens_per_update == pytest.approx(tokens / 30)
    assert found.memory_bytes == 9
    assert found.others.low < found.others.high
    assert list(paths.RUNS.iterdir()) == []
