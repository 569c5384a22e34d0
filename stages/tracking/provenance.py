"""Provenance of a run: code, settings and data, in MLflow's terms where it has them."""

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from stages import paths
from stages.runtime.git import head_commit, list_changed_files

COMMIT, DIRTY = "mlflow.source.git.commit", "mlflow.source.git.dirty"


def collect_provenance() -> dict[str, str]:
    """Return the provenance; without git or a repository, it has no commit."""
    sources = {"dvc_lock_sha256": paths.LOCK, "params_sha256": paths.PARAMS}
    digests = {name: files.sha256(path) for name, path in sources.items() if path.exists()}
    try:
        return digests | {COMMIT: head_commit(), DIRTY: "true" if list_changed_files() else "false"}
    except NmtError:
        return digests
