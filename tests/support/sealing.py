"""Bundles with wrong content and a valid seal."""

from nmt_core.base import files
from nmt_core.base.seal import MANIFEST, list_contents


def reseal(folder, name, content=None):
    """Replace or remove a file and update the seal."""
    manifest = files.read_json(folder / MANIFEST)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    files.write_json(folder / MANIFEST, manifest | {"files": list_contents(folder)})
