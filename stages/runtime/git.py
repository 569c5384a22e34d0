"""The checkout's commit, and changes since it, by git."""

import subprocess

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from stages import paths


def git(*arguments: str) -> str:
    """Return the output of a git command.

    Raises:
        NmtError: if the command fails, or git is not installed.
    """
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        reason = f"git is not installed; install it ({error.strerror})"
        raise NmtError(f"git {arguments[0]}: {reason}") from None
    if done.returncode:
        reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise NmtError(f"git {arguments[0]}: {reason}")
    return done.stdout.strip()


def head_commit() -> str:
    """Return the full name of the commit that is checked out.

    Raises:
        NmtError: without git, outside a repository, or before the first commit.
    """
    return git("rev-parse", "HEAD")


def current_branch() -> str:
    """Return the branch of the checkout; "" for a detached HEAD, or without git."""
    try:
        return git("symbolic-ref", "--quiet", "--short", "HEAD")
    except NmtError:
        return ""


def resolve_revision(revision: str) -> str:
    """Return the full name of the commit that a revision names.

    Raises:
        NmtError: if git knows no such commit.
    """
    try:
        return git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    except NmtError:
        raise NmtError(
            f"git knows no commit {revision!r}; name a commit, a tag or origin/BRANCH"
        ) from None


def describe_commit(revision: str) -> str:
    """Return the short name of a commit, and the subject of its message."""
    return git("log", "--max-count=1", "--format=%h (%s)", "--end-of-options", revision)


def is_ancestor(older: str, newer: str) -> bool:
    """Tell whether ``older`` is ``newer`` or its ancestor; False for unknown commits."""
    try:
        git("merge-base", "--is-ancestor", older, newer)
    except NmtError:
        return False
    return True


def list_changed_files() -> list[str]:
    """Return the files that differ from the commit, except params.yaml and dvc.lock.

    Raises:
        NmtError: without git, or outside a repository.
    """
    excluded = [f":!{path}" for path in (paths.PARAMS, paths.LOCK)]
    listed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *excluded)
    return [line[2:].strip() for line in listed.splitlines()]


def describe_checkout() -> str:
    """Return the full name of the commit, with "-dirty" if files differ from it.

    Raises:
        NmtError: without git, outside a repository, or before the first commit.
    """
    return head_commit() + ("-dirty" if list_changed_files() else "")


COMMIT, DIRTY = "mlflow.source.git.commit", "mlflow.source.git.dirty"


def collect_provenance() -> dict[str, str]:
    """Return commit and digests as MLflow tags of a run; without git, only the digests."""
    sources = {"dvc_lock_sha256": paths.LOCK, "params_sha256": paths.PARAMS}
    digests = {name: files.sha256(path) for name, path in sources.items() if path.exists()}
    try:
        return digests | {COMMIT: head_commit(), DIRTY: "true" if list_changed_files() else "false"}
    except NmtError:
        return digests
