"""Digests beside a stage's outputs, which later stages verify."""

from pathlib import Path

from nmt_core.base import files
from nmt_core.base.errors import NmtError

DIGESTS = "digests.json"


def write_digests(folder: Path) -> None:
    """Write the digest of each file of a folder into it, as the last file."""
    digests = {path.name: files.sha256(path) for path in sorted(folder.iterdir())}
    files.write_json(folder / DIGESTS, digests)


def check_digests(folder: Path, *, stage: str) -> None:
    """Make sure that each file of a folder is as its stage has written it.

    Raises:
        NmtError: naming the first that is missing or was altered, and the stage that makes it.
    """
    for name, digest in files.read_json(folder / DIGESTS).items():
        path = folder / name
        if not path.is_file() or files.sha256(path) != digest:
            reason = "was altered since it was written" if path.is_file() else "is missing"
            raise NmtError(f"{path} {reason}; the {stage} stage makes it: make repro")
