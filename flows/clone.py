"""The clone of a flow: used by one flow at a time, at a commit, with a params.yaml."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from stages import paths
from stages.configure import compose, request
from stages.configure.compose import refresh_pins
from stages.configure.sections import build_all
from stages.runtime.checkout import digest_text, hold_checkout
from stages.runtime.git import (
    current_branch,
    describe_commit,
    git,
    head_commit,
    is_ancestor,
    list_changed_files,
    resolve_revision,
)

WRITTEN = Path(".dvc/tmp/flow.params")
"""File with the digests of every params.yaml that a flow wrote here, and nobody edited."""


@contextmanager
def hold_clone(say: Callable[[str], None]) -> Iterator[None]:
    """Hold the clone's lock, and restore its branch; ``say`` receives messages about problems.

    The system releases the lock in any case.
    """
    with hold_checkout(say):
        branch = current_branch()
        try:
            yield
        finally:
            if branch and current_branch() != branch:
                _restore_branch(branch, say)


def prepare_clone(
    revision: str | None, settings: Sequence[str], *, renew: bool, say: Callable[[str], None]
) -> tuple[str, str]:
    """Prepare the clone for a flow; return its commit, and the text of its params.yaml.

    Args:
        revision: a commit, a tag or origin/BRANCH; None for the current state of the clone.
        settings: changes of params.yaml, as arguments of ``python -m stages.configure``.
        renew: report changed files, and start from the current champion.
        say: receives messages about changed files and the champion.

    Raises:
        NmtError: if the commit is unknown, or uncommitted work would be lost or ignored.
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
    put_params(params)  # composed from the present file, so nothing is lost
    return head_commit(), params


def write_settings(revision: str, params: str) -> None:
    """Check out a commit by its full name, and write its params.yaml.

    Raises:
        NmtError: if the commit is unknown, or uncommitted work would be lost.
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
        NmtError: if the commit is unknown, or uncommitted work would be lost or ignored.
    """
    if changes := list_changed_files():
        raise NmtError(
            f"{Path.cwd()} has uncommitted changes ({', '.join(changes)}), which checking out "
            f"{revision} would lose; commit them, or run a flow in one clone with revision null"
        )
    check_params()
    git("fetch", "--quiet", "--tags", "origin")
    unpushed = ["rev-list", "--max-count=1", "HEAD", "--not", "--remotes"]
    if revision.startswith("origin/") and current_branch() and (commit := git(*unpushed)):
        raise NmtError(
            f"commit {describe_commit(commit)} is not pushed, so {revision} would run without it; "
            f"run: git push, or set revision to the full name of a commit"
        )
    commit = resolve_revision(revision)
    branch = current_branch()
    if branch and commit == head_commit():
        _switch()
    elif branch and is_ancestor("HEAD", commit) and is_ancestor(commit, "@{upstream}"):
        _switch("-B", branch, commit)
    else:
        _switch("--detach", commit)


def check_params() -> None:
    """Check that params.yaml can be recovered if another file replaces it.

    Raises:
        NmtError: if the file is neither the committed one nor one that a flow wrote.
    """
    if _is_edited():
        raise NmtError(
            f"{paths.PARAMS} was changed in {Path.cwd()}, and this run would lose the change; "
            f"commit and push it, or restore the committed file (git checkout HEAD "
            f"{paths.PARAMS}), or run the flow with revision null"
        )


def _is_edited() -> bool:
    """Tell whether params.yaml differs from the commit and from all files that flows wrote."""
    if not git("status", "--porcelain", "--", str(paths.PARAMS)):
        return False
    text = paths.PARAMS.read_text(encoding="utf-8") if paths.PARAMS.exists() else ""
    digests = WRITTEN.read_text(encoding="utf-8").split() if WRITTEN.exists() else []
    return bool(text) and digest_text(text) not in digests


def put_params(params: str) -> None:
    """Write params.yaml; record it as written by a flow, unless it continues a user's edits."""
    if paths.PARAMS.exists() and paths.PARAMS.read_text(encoding="utf-8") == params:
        return
    if not _is_edited():
        with WRITTEN.open("a", encoding="utf-8") as file:  # before the write, in case of a crash
            print(digest_text(params), file=file)
    files.write_text(paths.PARAMS, params)


def _restore_branch(branch: str, say: Callable[[str], None]) -> None:
    """Check out a branch, unless uncommitted work prevents it."""
    try:
        check_params()
        _switch(branch)
    except NmtError as error:
        say(
            f"the clone stays at commit {describe_commit('HEAD')} instead of branch {branch}: "
            f"{error}"
        )


def _switch(*where: str) -> None:
    """Check out a commit or branch with its params.yaml and dvc.lock; no other file is lost."""
    replaced = (paths.PARAMS, paths.LOCK)
    texts = {path: path.read_text(encoding="utf-8") for path in replaced if path.exists()}
    git("reset", "--quiet", "--", *map(str, replaced))
    for path in texts:
        path.unlink()
    try:
        git("checkout", "--quiet", "--no-overwrite-ignore", *where)
        if tracked := git("ls-files", "--", *map(str, replaced)):
            git("checkout", "--quiet", "--", *tracked.split("\n"))
    finally:
        for path, text in texts.items():
            if not path.exists():  # git failed, or does not track the file
                files.write_text(path, text)


def describe_clone() -> str:
    """Return a description of the clone's commit, and whether files differ from it."""
    try:
        commit, edited = describe_commit("HEAD"), list_changed_files()
    except NmtError:
        return "no commit"
    return f"commit {commit}{' with uncommitted changes' if edited else ''}"
