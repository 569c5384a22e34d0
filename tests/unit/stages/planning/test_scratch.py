"""A part of a corpus: drawn at random, always the same, and nothing of the real one is touched."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base import files
from nmt_core.base.errors import CorpusError, NmtError
from stages import paths
from stages.planning.scratch import Scratch, count_pairs, draw_rows, write_sample
from stages.runtime.usage import Recorded

PAIRS = {"train": 40, "validation": 3, "test": 5}


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    for split, count in PAIRS.items():
        for side in ("source", "target"):
            files.write_lines(folder / f"{split}.{side}", [f"{side} {n}" for n in range(count)])
    files.write_lines(folder / "test.near", [f"near {n}" for n in range(PAIRS["test"])])
    first = {split: count // 2 for split, count in PAIRS.items()}
    second = {split: count - first[split] for split, count in PAIRS.items()}
    files.write_json(folder / "corpus.json", {"pairs": PAIRS, "corpora": [first, second]})
    return folder


@settings(max_examples=40)
@given(st.integers(1, 500), st.integers(1, 500))
def test_rows_are_drawn_once_each_in_order_and_a_smaller_draw_is_part_of_a_larger(total, count):
    rows = draw_rows(total, count, "train")

    assert len(rows) == min(total, count)
    assert rows == sorted(set(rows))
    assert set(draw_rows(total, count // 2, "train")) <= set(rows) <= set(range(total))


def test_rows_are_spread_over_the_corpus():
    """Or a corpus in the order of its days would be known by its first ones."""
    rows = draw_rows(100_000, 1_000, "train")

    assert all(70 < sum(row // 10_000 == tenth for row in rows) < 130 for tenth in range(10))


@pytest.mark.parametrize("first", [2, 3, 5])
def test_a_sample_has_the_same_rows_of_all_files_and_may_be_drawn_again(corpus, tmp_path, first):
    before = {path.name: files.sha256(path) for path in corpus.iterdir()}
    part = tmp_path / "part"
    write_sample(corpus, part, {"train": 7, "test": first})
    write_sample(corpus, part, {"test": 4})

    for split, count in (("train", 7), ("test", 4), ("validation", 3)):
        numbers = [
            [line.split()[1] for line in files.read_lines(path)] for path in part.glob(f"{split}.*")
        ]
        assert numbers == [numbers[0]] * len(numbers)
        assert len(numbers[0]) == count
        described = files.read_json(part / "corpus.json")["corpora"]
        half = sum(int(number) < PAIRS[split] // 2 for number in numbers[0])
        assert [corpus[split] for corpus in described] == [half, count - half]
    write_sample(corpus, part, {"test": 5})
    assert files.sha256(part / "test.source") == before["test.source"]
    assert {path.name: files.sha256(path) for path in corpus.iterdir()} == before


@pytest.mark.parametrize("split", PAIRS)
def test_a_corpus_without_pairs_is_named(corpus, tmp_path, split):
    files.write_json(corpus / "corpus.json", {"pairs": PAIRS | {split: 0}})

    with pytest.raises(CorpusError, match=rf"no {split} pairs"):
        count_pairs(corpus)
    with pytest.raises(CorpusError, match=r"no train and no validation and no test pairs"):
        count_pairs(tmp_path)


PROBE = """
import json, os, sys
from pathlib import Path
import yaml

settings = yaml.safe_load(Path("params.yaml").read_text())
Path("seen.json").write_text(json.dumps([settings, dict(os.environ)]))
if settings["probe"]["end"] == "broken":
    sys.exit("first\\nit is broken")
if settings["probe"]["end"] == "well":
    usage = {"seconds": 2.5, "processor_seconds": 1.5, "memory_bytes": 7, "settings": "0a"}
    Path("runs/usage").mkdir(parents=True, exist_ok=True)
    Path("runs/usage/probe.json").write_text(json.dumps(usage))
"""
"""A stage that says what it finds."""


@pytest.fixture
def scratch(project):
    """A scratch project of a single stage."""
    for name, code in (("__init__", ""), ("probe", PROBE)):
        files.write_text(project / f"scratch/stages/{name}.py", code)
    return Scratch(project / "scratch", {"probe": {"end": "well"}, "other": {"seed": 1}})


def test_a_stage_runs_in_the_folder_tied_to_no_run_and_no_server(scratch, monkeypatch):
    for name in ("MLFLOW_TRACKING_URI", "DVC_EXP_NAME", "NMT_COMPARISON", "LANGUAGE_OF_MINE"):
        monkeypatch.setenv(name, "canary")
    used = scratch.run("probe", {"other.seed": 2})
    settings, environment = files.read_json(scratch.folder / "seen.json")

    assert used == Recorded(seconds=2.5, processor_seconds=1.5, memory_bytes=7, settings="0a")
    assert settings == {"probe": {"end": "well"}, "other": {"seed": 2}}
    assert scratch.settings["other"] == {"seed": 1}
    assert [name for name, text in environment.items() if text == "canary"] == ["LANGUAGE_OF_MINE"]
    assert environment["MLFLOW_TRACKING_URI"] == f"sqlite:///{scratch.folder}/mlflow.db"


@pytest.mark.parametrize(("end", "told"), [("broken", "it is broken"), ("silent", "exit code 0")])
def test_a_stage_that_fails_or_says_nothing_is_told(scratch, end, told):
    """Though one before it has said what it took."""
    scratch.run("probe", {})
    with pytest.raises(NmtError, match=rf"^the probe stage fails on a part .* predicted: {told}$"):
        scratch.run("probe", {"probe.end": end})


@pytest.mark.parametrize("stopped", [KeyboardInterrupt, SystemExit])
def test_a_stage_is_ended_with_whoever_waits_for_it(scratch, monkeypatch, stopped):
    done = []

    class Process:
        def __init__(self, *_, **__):
            self.returncode = None

        def __enter__(self):
            return self

        def __exit__(self, *_):
            done.append("left")

        def wait(self):
            raise stopped

        def terminate(self):
            done.append("terminated")

    monkeypatch.setattr("stages.planning.scratch.subprocess.Popen", Process)
    with pytest.raises(stopped):
        scratch.run("probe", {})
    assert done == ["terminated", "left"]


def test_a_scratch_project_has_the_code_and_a_part_of_the_text(project, corpus):
    paths.CORPUS.parent.mkdir()
    corpus.rename(paths.CORPUS)
    files.write_json(paths.REPORTS / "download.json", {"pairs": PAIRS})
    files.write_text(Path("stages/tokenize.py"), "code\n")
    files.write_text(paths.MLFLOW, "a database")
    entry = {"outs": ["data/shards", "one.bin"], "metrics": ["metrics/shard.json"]}
    paths.PIPELINE.write_text(yaml.safe_dump({"stages": {"shard": entry}}))
    made = Scratch.make(project / "scratch", {}, {"train": 7})
    for name, size in (("data/shards/a", 300), ("data/shards/in/b", 20), ("one.bin", 1)):
        files.write_text(made.folder / name, "x" * size)
    (made.folder / "data/shards/link").symlink_to(project / "mlflow.db")
    files.write_text(made.folder / "runs/f/journal.jsonl", '{"kind": "run"}\n{"kind": "end"}\n')

    for place in ("stages", "dvc.yaml", "reports/download.json", "data/corpus/test.source"):
        assert (made.folder / place).resolve() == (project / place).resolve()
    assert len([*files.read_lines(made.folder / paths.CORPUS / "train.source")]) == 7
    assert not (made.folder / "mlflow.db").is_symlink()
    assert (made.folder / "mlflow.db").read_text() == "a database"
    assert made.count_kept_bytes("shard") == 321
    assert made.read_journal() == [{"kind": "run"}, {"kind": "end"}]
