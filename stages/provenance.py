"""Which code, settings and data a run was made from, in MLflow's words where it has them."""

import subprocess

from nmt_core import files
from stages import paths

COMMIT, DIRTY = "mlflow.source.git.commit", "mlflow.source.git.dirty"


def tags() -> dict[str, str]:
    """Return what is known; without git or a repository, no commit."""
    sources = {"dvc_lock_sha256": paths.LOCK, "params_sha256": paths.PARAMS}
    found = {name: files.sha256(path) for name, path in sources.items() if path.exists()}
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return found
    others = [f":!{path}" for path in sources.values()]
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", *others)
    return found | {COMMIT: commit, DIRTY: "true" if changed else "false"}


def _git(*arguments: str) -> str | None:
    try:
        answer = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()
