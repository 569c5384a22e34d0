"""A full disk: one error message, and existing files stay."""

import re
import resource
import shlex
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from pathlib import Path

import torch

from nmt_core.base import files
from nmt_core.data.shards import Block, write_shards
from nmt_core.base.errors import NmtError
from nmt_core.training.checkpoint import Checkpoint, CheckpointStore
from stages.train import write_model
from nmt_core.training.progress import Progress
from tests.support.tiny import export

disk = Path(sys.argv[1])
large = {"model.w": torch.zeros(200_000)}
store = CheckpointStore(disk / "checkpoints")
store.save(Checkpoint({"model.w": torch.zeros(10)}, {"step": 1}), step=1)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(large["model.w"])


def shards():
    pairs = [([5] * 50_000, [6] * 50_000)] * 10
    write_shards([Block.of(pairs)], disk / "shards", pairs_per_shard=1000)


def lines():
    files.write_lines(disk / "lines.txt", (str(number) for number in range(10**6)))


def trained():
    write_model(disk / "trained", Model(), None, Progress(), "key")


for work in (
    lambda: store.save(Checkpoint(large, {"step": 2}), step=2),
    lambda: store.save_best(Checkpoint(large, {}), step=2),
    trained,
    lambda: export(disk / "export"),
    shards,
    lines,
):
    try:
        work()
        print("written")
    except NmtError as error:
        print(f"{type(error).__name__}: {error}")
print(store.newest().progress)
print(sorted(path.name for path in disk.rglob("*")))
"""

STAGE = """
import sys
from pathlib import Path
from stages.runtime.entry import run_stage

def main():
    with (Path(sys.argv[1]) / "file").open("wb") as file:
        file.write(bytes(10**6))

run_stage(main)
"""

KILOBYTES = 20


def on_small_tmpfs(disk, program):
    """Run a program with a small disk of its own."""
    script = f"mount -t tmpfs -o size={KILOBYTES}k none {disk} && exec {shlex.join(program)}"
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", script]


def small_tmpfs_is_allowed(tmp_path):
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(on_small_tmpfs(tmp_path, ["true"]), capture_output=True, check=False)
    return tried.returncode == 0


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (KILOBYTES * 1024, KILOBYTES * 1024))


@pytest.fixture(params=["no room", "small files"])
def run(request, tmp_path):
    """Run Python on a full disk or with a limit of file sizes; return the error message."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if request.param == "no room" and not small_tmpfs_is_allowed(disk):
        pytest.skip("this system lets no user mount a disk of his own")

    def run(program):
        command = [sys.executable, "-c", program, str(disk)]
        if request.param == "no room":
            command = on_small_tmpfs(disk, command)
        limited = limit_files if request.param == "small files" else None
        return subprocess.run(
            command, capture_output=True, text=True, check=False, preexec_fn=limited
        )

    words = {"no room": "No space left on device", "small files": "File too large"}
    return run, disk, words[request.param]


def told(name, words):
    return (
        f"{name} could not be written ({words}); free disk space, or make it writable, and run "
        f"the same command again"
    )


@pytest.mark.slow
def test_full_disk_is_reported_in_one_sentence(run):
    start, disk, words = run
    ended = start(PROGRAM)
    *lines, newest, left = ended.stdout.splitlines()
    tensors, best, trained, export, shards, text = lines

    for line, name in ((tensors, "step"), (best, "best")):
        file = told(f"{disk}/checkpoints/{name}-00000002.safetensors", words)
        assert line == f"BundleError: {file}: training continues from the last checkpoint"
    assert trained == f"NmtError: {told(disk / 'trained', words)}"
    assert export.startswith(f"NmtError: {disk}/")
    assert export.endswith(told("", words))
    assert re.sub(r"\d+", "N", shards) == re.sub(
        r"\d+", "N", f"NmtError: {told(disk / 'shards', '1 requested and 1 written')}"
    )
    assert text == f"NmtError: {told(disk / 'lines.txt', words)}"
    assert newest == "{'step': 1}"
    assert left == "['checkpoints', 'step-00000001.json', 'step-00000001.safetensors']"
    assert ended.stderr == ""


def test_stage_on_full_disk_reports_one_sentence(run):
    start, _, words = run
    ended = start(STAGE)

    assert (ended.returncode, ended.stderr) == (1, told("a file", words) + "\n")
