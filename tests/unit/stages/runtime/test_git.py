import subprocess
from pathlib import Path

import pytest

from nmt_core.base.errors import NmtError
from stages import paths
from stages.runtime.git import (
    describe_checkout,
    git,
    head_commit,
    list_changed_files,
    short_commit,
)
from tests.support.git import commit_all


@pytest.fixture
def repository(project):
    """One commit of code, parameters and a lock file."""
    for path in (Path("code.py"), paths.PARAMS, paths.LOCK):
        path.write_text("before\n")
    git("init", "--quiet")
    commit_all()
    return project


def test_parameters_and_lock_file_are_no_change(repository):
    paths.PARAMS.write_text("after\n")
    paths.LOCK.unlink()
    Path("new.txt").touch()

    assert [] == list_changed_files()
    assert head_commit() == describe_checkout()
    assert len(short_commit()) > 3
    assert head_commit().startswith(short_commit())


def test_other_files_are(repository):
    Path("code.py").write_text("after\n")

    assert ["code.py"] == list_changed_files()
    assert f"{head_commit()}-dirty" == describe_checkout()


def test_before_the_first_commit_there_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NmtError, match="git rev-parse: fatal: not a git repository"):
        head_commit()
    assert short_commit() == ""
    subprocess.run(["git", "init", "--quiet"], check=True)

    with pytest.raises(NmtError, match="git rev-parse"):
        head_commit()


def test_without_git_the_sentence_says_so(repository, monkeypatch):
    monkeypatch.setenv("PATH", str(repository))

    with pytest.raises(NmtError, match="there is no git; install it"):
        head_commit()
