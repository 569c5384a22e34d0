"""Corpora as the download stage writes them."""

from nmt_core.base import files
from nmt_core.base.jobs import WorkersConfig
from stages import download
from stages.paths import SIDES, SPLITS


def bring(params, folder, *, processes=1, chunk_lines=None, **more):
    """Run the download stage in a folder; return its report and the pairs of each split."""
    places = {name: folder / name for name in ("corpus", "vectors", "downloads")}
    chunks = {} if chunk_lines is None else {"chunk_lines": chunk_lines}
    workers = WorkersConfig(processes=processes, **chunks)
    measured = download.run(params, **places, workers=workers, **more).dump()
    pairs = {}
    for split in SPLITS:
        sides = (files.read_lines(folder / "corpus" / f"{split}.{side}") for side in SIDES)
        pairs[split] = [*zip(*sides, strict=True)]
    return measured, pairs
