import subprocess
from pathlib import Path

import pytest

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from stages import paths
from stages.runtime.git import (
    COMMIT,
    DIRTY,
    collect_provenance,
    current_branch,
    describe_checkout,
    describe_commit,
    git,
    head_commit,
    is_ancestor,
    list_changed_files,
    resolve_revision,
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


def test_only_code_counts_as_changed(repository):
    paths.PARAMS.write_text("after\n")
    paths.LOCK.unlink()
    Path("new.txt").touch()
    assert list_changed_files() == []
    assert describe_checkout() == head_commit()
    digests = {"params_sha256": files.sha256(paths.PARAMS)}
    assert collect_provenance() == digests | {COMMIT: head_commit(), DIRTY: "false"}

    Path("code.py").write_text("after\n")
    assert list_changed_files() == ["code.py"]
    assert describe_checkout() == f"{head_commit()}-dirty"
    assert collect_provenance()[DIRTY] == "true"


def test_an_empty_repository_has_no_commit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NmtError, match="git rev-parse: fatal: not a git repository"):
        head_commit()
    subprocess.run(["git", "init", "--quiet"], check=True)

    with pytest.raises(NmtError, match="git rev-parse"):
        head_commit()


def test_missing_git_is_reported(repository, monkeypatch):
    monkeypatch.setenv("PATH", str(repository))

    with pytest.raises(NmtError, match="git is not installed; install it"):
        head_commit()
    assert collect_provenance().keys() == {"dvc_lock_sha256", "params_sha256"}


def commit(text):
    Path("code.py").write_text(text)
    commit_all()
    return head_commit()


def test_revisions_resolve_to_commits(repository):
    first, second = head_commit(), commit("second\n")
    author = ("-c", "user.name=nmt", "-c", "user.email=nmt@example.org")
    git(*author, "tag", "--annotate", "--message", "words", "v1", first)

    for name in (first, first[:8], "v1", "HEAD~1", f"{current_branch()}~1"):
        assert resolve_revision(name) == first
    assert resolve_revision("HEAD") == second
    for unknown in ("v2", "f" * 40, "--all", "HEAD~9"):
        with pytest.raises(NmtError, match=f"git knows no commit '{unknown}'; name a commit"):
            resolve_revision(unknown)


def test_commits_and_descendants_have_the_ancestor(repository):
    first, second = head_commit(), commit("second\n")
    assert is_ancestor(first, first)
    assert is_ancestor(first, second)
    assert not is_ancestor(second, first)
    assert not is_ancestor("f" * 40, second)
    assert not is_ancestor(first, "nothing")


def test_commits_have_name_subject_and_date(repository, monkeypatch):
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2024-02-29T12:00:00+0000")
    Path("code.py").write_text("leap\n")
    commit_all(subject="What it does\n\nand why")

    assert describe_commit("HEAD") == f"{head_commit()[:7]} (What it does)"
    assert describe_commit("HEAD~1").endswith(" (Begin)")


def test_a_checkout_may_have_no_branch(repository):
    git("checkout", "--quiet", "-b", "side/line")
    assert current_branch() == "side/line"
    git("checkout", "--quiet", "--detach")
    assert current_branch() == ""
