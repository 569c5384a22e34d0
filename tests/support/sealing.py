"""Bundles that hold what they should not, sealed as if they did."""

from nmt_core.base import files
from nmt_core.base.seal import MANIFEST, list_contents


def reseal(folder, name, content=None):
    """Put another file in one's place, or none, as one who knows how to seal could."""
    manifest = files.read_json(folder / MANIFEST)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    files.write_json(folder / MANIFEST, manifest | {"files": list_contents(folder)})
