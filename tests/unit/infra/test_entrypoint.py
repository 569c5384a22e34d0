"""The first process of a worker's container: it checks out, runs the command, and ends last."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from tests.support.git import commit_all, git
from tests.support.processes import STAGE
from tests.support.projects import PROJECT

pytestmark = pytest.mark.slow

PATH = PROJECT / "infra/docker/entrypoint.py"


@pytest.fixture
def repository(tmp_path):
    """A repository of two commits, the first tagged v1."""
    place = tmp_path / "repository"
    place.mkdir()
    git("init", "--quiet", "--initial-branch", "main", folder=place)
    for word in ("one", "two"):
        (place / "word").write_text(word)
        commit_all(place, subject=word)
        git("tag", f"v{word}", folder=place)
    return place


def container(repository, place, *command, **more):
    place.mkdir(exist_ok=True)
    known = {
        "NMT_REPOSITORY": str(repository),
        "NMT_DVC_REMOTE": "",
        "PYTHONPATH": str(PROJECT),  # as in the image
    }
    environment = os.environ | known | more.pop("environment", {})
    return subprocess.Popen(
        [sys.executable, PATH, *command],
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


@pytest.mark.parametrize(
    ("head", "revision", "word"),
    [
        ("main", None, "two"),
        ("main", "vone", "one"),
        ("main", "origin/old", "one"),
        ("vone", "origin/main", "two"),
    ],
)
def test_container_works_on_the_revision(repository, tmp_path, head, revision, word):
    """Untracked files stay, changes of tracked ones do not."""
    place = tmp_path / "project"
    git("branch", "old", "vone", folder=repository)
    git("checkout", "--quiet", head, folder=repository)
    environment = {"NMT_REVISION": revision} if revision else {}
    for _ in range(2):
        with container(repository, place, "cat", "word", environment=environment) as process:
            assert process.communicate() == (word, "")
        (place / "word").write_text("altered")
        (place / "checkpoint").touch()
    assert (place / "checkpoint").exists()


def test_moved_tag_is_followed(repository, tmp_path):
    words = []
    for tag in ("vone", "vtwo"):
        git("tag", "--force", "moving", tag, folder=repository)
        environment = {"NMT_REVISION": "moving"}
        with container(
            repository, tmp_path / "p", "cat", "word", environment=environment
        ) as process:
            words.append(process.communicate()[0])
    assert words == ["one", "two"]


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (
            {"NMT_REPOSITORY": "nowhere"},
            "error: git fetch --quiet --force --tags origin ended with",
        ),
        ({"NMT_REVISION": "vthree"}, "error: git checkout --quiet --force --detach vthree ended"),
    ],
)
def test_failed_checkout_runs_nothing(repository, tmp_path, environment, message):
    with container(repository, tmp_path / "p", "echo", "begun", environment=environment) as process:
        output, errors = process.communicate()

    assert (output, process.returncode) == ("", 1)
    assert message in errors


def test_missing_repository_is_reported(tmp_path):
    known = {name: value for name, value in os.environ.items() if name != "NMT_REPOSITORY"}
    command = [sys.executable, PATH, "echo"]
    done = subprocess.run(command, cwd=tmp_path, env=known, capture_output=True, check=False)

    assert b"error: 'NMT_REPOSITORY' is not set" in done.stderr


DVC = """\
import pathlib, sys
pathlib.Path("asked").write_text(" ".join(sys.argv[1:]))
sys.exit(sys.argv[-1] == "nowhere")
"""


@pytest.mark.parametrize("remote", ["s3://nmt/dvc", "nowhere"])
def test_dvc_remote_is_set(repository, tmp_path, remote):
    """The container stops if dvc refuses, because it would make everything again otherwise."""
    place = tmp_path / "project"
    (place / "dvc").mkdir(parents=True)
    (place / "dvc" / "__init__.py").touch()
    (place / "dvc" / "__main__.py").write_text(DVC)
    environment = {"NMT_DVC_REMOTE": remote}
    command = ("sh", "-c", "echo begun; exit 7")
    with container(repository, place, *command, environment=environment) as process:
        told, errors = process.communicate()

    assert process.returncode == (1 if remote == "nowhere" else 7)
    assert (place / "asked").read_text().endswith(f"--local --force --default store {remote}")
    assert ("nowhere" == remote) == ("error:" in errors) == ("begun" not in told)


WORKER = """\
import os, signal, subprocess, sys, time
def end(*_):
    stage.send_signal(signal.SIGTERM)
    os._exit(0)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "SIGINT is ignored"
signal.signal(signal.SIGTERM, end)
stage = subprocess.Popen([sys.executable, "-c", sys.argv[1]], start_new_session=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="containers are Linux")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_container_waits_for_stages(repository, tmp_path, number):
    """Even if it was started with SIGINT ignored, so that a Prefect worker ignores SIGTERM."""
    place = tmp_path / "project"
    command = (sys.executable, "-c", WORKER, STAGE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = container(repository, place, *command)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with process:
        assert "ready\n" == process.stdout.readline()
        (worker,) = psutil.Process(process.pid).children()
        process.send_signal(number)
        worker.wait(60)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        (place / "leave").touch()
        assert 0 == process.wait(60)
        assert (place / "saved").exists()
        assert "" == process.stderr.read()
