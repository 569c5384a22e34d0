"""Run the real stages on a sample of the text, in a temporary folder."""

import os
import subprocess
import sys
from collections.abc import Mapping
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import yaml

from nmt_core.base import config, files
from nmt_core.base.errors import NmtError
from stages import paths
from stages.runtime.usage import Usage

LINKED = (
    *(Path("stages"), Path("nmt_core"), paths.PIPELINE),
    *(paths.WEIGHTS, paths.TAGS, paths.MONOLINGUAL, paths.VECTORS, paths.INITIAL_MODEL),
)
"""Code, which fingerprints need, and inputs of the stages except the corpus."""

RUN_VARIABLES = ("DVC_", "NMT_", "MLFLOW_", "TORCHELASTIC")
"""Prefixes of environment variables that tie a process to a run or a server."""


def prepare_folder(folder: Path, settings: Mapping[str, Any], counts: Mapping[str, int]) -> None:
    """Fill a folder with settings, code and a sample of the corpus; hide MLflow from it."""
    write_sample(paths.CORPUS, folder / paths.CORPUS, counts)
    (folder / paths.REPORTS).mkdir()
    for path in filter(Path.exists, LINKED):
        (folder / path).symlink_to(path.absolute())
    files.write_text(folder / paths.PARAMS, yaml.safe_dump(dict(settings), allow_unicode=True))
    files.write_text(folder / "mlflow.py", "raise ImportError('a calibration is not tracked')\n")


def write_sample(corpus: Path, folder: Path, counts: Mapping[str, int]) -> None:
    """Write ``counts`` pairs of each split to a folder, evenly spread over the corpus."""
    described = files.read_json(corpus / "corpus.json")
    totals, corpora = described["pairs"], described["corpora"]

    def count_sampled(split: str, rows: int) -> int:
        return rows * counts[split] // totals[split]

    for split in counts:
        ends = [*accumulate((each[split] for each in corpora), initial=0)]
        for each, (start, end) in zip(corpora, pairwise(ends), strict=True):
            each[split] = count_sampled(split, end) - count_sampled(split, start)
    files.write_json(folder / "corpus.json", described)
    for path in corpus.glob("*.*"):
        if (split := path.name.partition(".")[0]) in counts:
            rows = enumerate(files.read_lines(path))
            taken = (
                text for n, text in rows if count_sampled(split, n) < count_sampled(split, n + 1)
            )
            files.write_lines(folder / path.name, taken)


def run_in(folder: Path, stage: str) -> Usage:
    """Run a stage in a folder and return its usage.

    Raises:
        NmtError: if it fails, with the reason.
    """
    log, usage = folder / "log.txt", folder / paths.USAGE / f"{stage}.json"
    command = [sys.executable, "-u", "-m", f"stages.{stage}"]
    own = {name: text for name, text in os.environ.items() if not name.startswith(RUN_VARIABLES)}
    with (
        log.open("wb") as out,
        subprocess.Popen(command, cwd=folder, env=own, stdout=out, stderr=out) as process,
    ):
        try:
            process.wait()
        except BaseException:
            process.terminate()
            raise
    if process.returncode or not usage.exists():
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise NmtError(
            f"the {stage} stage fails on a part of the text, so that nothing can be predicted: "
            f"{lines[-1] if lines else f'exit code {process.returncode}'}"
        )
    return config.build(Usage, files.read_json(usage), at=str(usage))
