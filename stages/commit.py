"""The commit that the checkout is at, as git tells, and what differs from it."""

import subprocess

from nmt_core.errors import NmtError
from stages import paths


def git(*arguments: str) -> str:
    """Return what git prints.

    Raises:
        NmtError: if it fails, or there is no git.
    """
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        reason = f"there is no git; install it ({error.strerror})"
        raise NmtError(f"git {arguments[0]}: {reason}") from None
    if done.returncode:
        reason = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise NmtError(f"git {arguments[0]}: {reason}")
    return done.stdout.strip()


def head() -> str:
    """Return the full name of the commit that is checked out.

    Raises:
        NmtError: without git, or outside it, or before the first commit.
    """
    return git("rev-parse", "HEAD")


def changed() -> list[str]:
    """Return the files that differ from the commit; params.yaml and dvc.lock may.

    Raises:
        NmtError: without git, or outside it.
    """
    ours = [f":!{path}" for path in (paths.PARAMS, paths.LOCK)]
    listed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *ours)
    return [line[2:].strip() for line in listed.splitlines()]


def checkout() -> str:
    """Return the full name of the commit, marked if the files differ from it.

    Raises:
        NmtError: without git, or outside it, or before the first commit.
    """
    return head() + ("-dirty" if changed() else "")
