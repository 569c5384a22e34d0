"""Kills at random moments, during any work, without repairs: the results have the same bytes.

NMT_KILLS sets the number of kills, NMT_SEED their times and commands; 42 take ten minutes.
"""

import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from itertools import count

import psutil
import pytest
from mlflow import MlflowClient

from nmt_core.base.random import make_generator
from tests.support.processes import at_work_in
from tests.support.projects import Copy, begin, overrides

KILLS = int(os.environ.get("NMT_KILLS", "2"))
SEED = int(os.environ.get("NMT_SEED", "1"))
COMMANDS = (
    "make --silent --old-file .venv/ready repro",
    "python -m flows.train",
    "python -m flows.retrain",
)
SHORT = overrides(**{"train.budget.steps": 60, "train.training.validate_every": 20})


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A clone with only MLflow's tables."""
    folder = tmp_path_factory.mktemp("fresh")
    copy = begin(folder / "project", folder, settings=SHORT)
    return copy.run("python -c 'from mlflow import MlflowClient as C; C().search_experiments()'")


@pytest.fixture(scope="module")
def undisturbed(fresh, tmp_path_factory):
    """Results that all runs must have, and the seconds of an undisturbed run."""
    copy = apart(fresh, tmp_path_factory.mktemp("undisturbed"))
    began = time.monotonic()
    copy.run(COMMANDS[0])
    return (copy.digests(), copy.lock), time.monotonic() - began


def apart(copy, folder):
    """Return a copy that shares nothing with others, including MLflow's and DVC's files."""
    folder.mkdir(exist_ok=True)
    for file in copy.shared.glob("mlflow.db*"):
        shutil.copy2(file, folder)
    shutil.copytree(copy.folder, folder / "project", symlinks=True)
    return Copy(folder / "project", folder)


def kill(copy, process, *, everything):
    """Kill a program's process group, or all processes, like a power failure."""
    if not everything:
        os.killpg(process.pid, signal.SIGKILL)
        return
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for one in at_work_in(copy.folder):
            with suppress(psutil.NoSuchProcess):
                one.send_signal(number)


def survive(process, copy, *, seconds, everything):
    """Tell whether a command succeeded before it was killed after a number of seconds."""
    try:
        assert process.wait(timeout=seconds) == 0, copy.log
    except subprocess.TimeoutExpired:
        kill(copy, process, everything=everything)
        process.wait()
        return False
    return True


@pytest.mark.timeout(1800 + 300 * KILLS)
def test_random_kills_end_in_the_same_bytes(fresh, undisturbed, tmp_path):
    expected, seconds = undisturbed
    draw = make_generator(SEED, "kills")
    orders = (COMMANDS[index] for _ in count() for index in draw.permutation(len(COMMANDS)))
    killed = Counter()
    for number in count():
        copy = apart(fresh, tmp_path / str(number))
        while killed.total() < KILLS:
            command = next(orders)
            moment = float(draw.uniform(0.0, seconds))
            everything = bool(draw.integers(2))
            if survive(copy.start(command), copy, seconds=moment, everything=everything):
                break
            killed[command] += 1
        copy.run(COMMANDS[-1])

        print(dict(killed))
        assert expected == (copy.digests(), copy.lock)
        assert [] == [*copy.folder.rglob("*.part")]
        assert [] == at_work_in(copy.folder)
        client = MlflowClient(copy.environment["MLFLOW_TRACKING_URI"])
        [version] = client.search_model_versions()
        assert version.version == client.get_model_version_by_alias("nmt-de-en", "champion").version
        shutil.rmtree(copy.folder.parent)
        if killed.total() >= KILLS:
            return
