"""The clone that a flow works in: one flow at a time, at a commit, with a params.yaml."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from stages import paths
from stages.configure import compose, request
from stages.configure.compose import refresh_pins
from stages.configure.sections import build_all
from stages.runtime.checkout import hold_checkout
from stages.runtime.git import (
    current_branch,
    describe_commit,
    git,
    head_commit,
    is_within,
    list_changed_files,
    resolve_revision,
)

WRITTEN = Path(".dvc/tmp/flow.params")
"""Digests of every params.yaml that flows have written here, which hold no work of a person."""


@contextmanager
def hold_clone(say: Callable[[str], None]) -> Iterator[None]:
    """Hold the clone's lock, and leave it on its branch; the system releases the lock in any case.

    Args:
        say: takes a message if another run must be waited for, or the branch cannot be restored.
    """
    with hold_checkout(say):
        began_on = current_branch()
        try:
            yield
        finally:
            if began_on and current_branch() != began_on:
                _go_back(began_on, say)


def prepare_clone(
    revision: str | None, settings: Sequence[str], *, renew: bool, say: Callable[[str], None]
) -> tuple[str, str]:
    """Prepare the clone for a flow; return its commit, and the text of its params.yaml.

    Args:
        revision: a commit, a tag or origin/BRANCH; without one, the clone stays as it is.
        settings: changes of params.yaml, as ``python -m stages.configure`` takes them.
        renew: report changed files, and start from the present champion.
        say: takes messages on new text.

    Raises:
        NmtError: if there is no such commit, or uncommitted work would be lost or left out.
        ConfigError: if a setting is wrong.
    """
    if revision:
        check_out(revision)
    sections = build_all(request.compose_settings(list(settings)), source="settings")
    if renew:
        sections, changes = refresh_pins(sections)
        for sentence in changes:
            say(sentence)
    else:
        sections = compose.pin_all(sections)
    params = compose.render_params(sections)
    put_params(params)  # made of the one that lies here, of which nothing is lost
    return head_commit(), params


def write_settings(revision: str, params: str) -> None:
    """Check out a commit by its full name, and write its params.yaml.

    Raises:
        NmtError: if there is no such commit, or uncommitted work would be lost.
    """
    if head_commit() != revision:
        check_out(revision)
    if paths.PARAMS.read_text(encoding="utf-8") != params:
        check_params()
    put_params(params)


def check_out(revision: str) -> None:
    """Check out a commit, with its params.yaml.

    A branch that is only behind its remote is fast-forwarded; otherwise HEAD is detached.

    Raises:
        NmtError: if there is no such commit, or uncommitted work would be lost or left out.
    """
    if changes := list_changed_files():
        raise NmtError(
            f"{Path.cwd()} has changes that are not committed ({', '.join(changes)}), which "
            f"checking out {revision} would lose; commit them, or run a flow of one clone with "
            f"revision null"
        )
    check_params()
    git("fetch", "--quiet", "--tags", "origin")
    if revision.startswith("origin/") and current_branch() and (commit := _unpushed()):
        raise NmtError(
            f"commit {describe_commit(commit)} is not pushed, so {revision} would run without it; "
            f"run: git push, or give the full name of the commit to run as revision"
        )
    commit = resolve_revision(revision)
    own = current_branch()
    if own and commit == head_commit():
        _switch()
    elif own and is_within("HEAD", commit) and is_within(commit, "@{upstream}"):
        _switch("-B", own, commit)
    else:
        _switch("--detach", commit)


def check_params() -> None:
    """Make sure that params.yaml can be had again if another is written in its place.

    Raises:
        NmtError: if it is neither as it was committed nor as a flow has written it.
    """
    if _is_edited():
        raise NmtError(
            f"{paths.PARAMS} was changed in {Path.cwd()}, which this run would lose; commit and "
            f"push it, or go back to the committed one (git checkout HEAD {paths.PARAMS}), or run "
            f"the flow with revision null"
        )


def _is_edited() -> bool:
    """Tell whether params.yaml differs from both the commit and the last flow's."""
    if not git("status", "--porcelain", "--", str(paths.PARAMS)):
        return False
    text = paths.PARAMS.read_text(encoding="utf-8") if paths.PARAMS.exists() else ""
    known = WRITTEN.read_text(encoding="utf-8").split() if WRITTEN.exists() else []
    return bool(text) and _digest(text) not in known


def put_params(params: str) -> None:
    """Write params.yaml and record it as a flow's own, unless it continues a person's edits."""
    if paths.PARAMS.exists() and paths.PARAMS.read_text(encoding="utf-8") == params:
        return
    if not _is_edited():
        with WRITTEN.open("a", encoding="utf-8") as file:  # first: a crash may come between
            print(_digest(params), file=file)
    files.write_text(paths.PARAMS, params)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _unpushed() -> str:
    """Return the newest commit of HEAD that is in no branch of a remote, if there is one."""
    return git("rev-list", "--max-count=1", "HEAD", "--not", "--remotes")


def _go_back(began_on: str, say: Callable[[str], None]) -> None:
    """Return the clone to a branch, unless uncommitted work prevents it."""
    try:
        check_params()
        _switch(began_on)
    except NmtError as error:
        say(
            f"the clone stays at commit {describe_commit('HEAD')} instead of branch {began_on}: "
            f"{error}"
        )


def _switch(*where: str) -> None:
    """Let git check out, with params.yaml and dvc.lock as they are there; no other file is lost."""
    ours = (paths.PARAMS, paths.LOCK)
    texts = {path: path.read_text(encoding="utf-8") for path in ours if path.exists()}
    git("reset", "--quiet", "--", *map(str, ours))
    for path in texts:
        path.unlink()
    try:
        git("checkout", "--quiet", "--no-overwrite-ignore", *where)
        if tracked := git("ls-files", "--", *map(str, ours)):
            git("checkout", "--quiet", "--", *tracked.split("\n"))
    finally:
        for path, text in texts.items():
            if not path.exists():  # git was not content, or does not know the file
                files.write_text(path, text)


def describe_clone() -> str:
    """Describe the clone's commit."""
    try:
        where, edited = describe_commit("HEAD"), list_changed_files()
    except NmtError:
        return "no commit"
    return f"commit {where}{', and changes that are in none' if edited else ''}"
