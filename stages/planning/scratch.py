"""A project for a minute: the real stages, on part of the text, in a folder to be thrown away."""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from stages import paths
from stages.planning.measuring import Measurement, measure
from stages.tracking.journal import Entry

CODE = ("stages", "nmt_core", str(paths.PIPELINE))
"""What a fingerprint is made of, beside data."""

OF_RUNS = ("DVC_", "NMT_", "MLFLOW_TRACKING", "MLFLOW_RUN", "MLFLOW_REGISTRY", "TORCHELASTIC")
"""How variables begin that would tie a calibration to a run, or to a server."""

WITHOUT_MLFLOW = "raise ImportError('a calibration needs none')\n"


@dataclass(frozen=True)
class Scratch:
    """A folder in which stages find all that they need."""

    folder: Path
    settings: Mapping[str, Any]
    """What params.yaml holds."""

    @classmethod
    def make(cls, folder: Path, settings: Mapping[str, Any]) -> "Scratch":
        """Make the folder, with the code, and nothing in ``data`` yet."""
        folder.mkdir(parents=True)
        scratch = cls(folder, settings)
        scratch.link(*(Path(name) for name in CODE))
        if paths.MLFLOW.exists():  # or a run has to make one, too
            shutil.copy(paths.MLFLOW, folder / paths.MLFLOW.name)
        return scratch

    def beside(self, name: str, *places: Path) -> "Scratch":
        """Make another folder, in which some of what lies here lies, too."""
        other = Scratch.make(self.folder.parent / name, self.settings)
        for place in places:
            other.link_as(place, self.folder / place)
        return other

    def link(self, *places: Path) -> None:
        """Let files and folders of this project lie here, too, where they are there."""
        for place in places:
            if place.exists():
                self.link_as(place, place)

    def link_as(self, place: Path, what: Path) -> None:
        """Let a file or folder lie here under a name, in the place of one that does."""
        here = self.folder / place
        here.parent.mkdir(parents=True, exist_ok=True)
        here.unlink(missing_ok=True)
        here.symlink_to(what.absolute())

    def run(
        self, stage: str, changes: Mapping[str, Any] | None = None, *, tracked: bool = True
    ) -> Measurement:
        """Run a stage with some settings changed; without MLflow, where it is not ``tracked``.

        Raises:
            NmtError: if it fails, saying why.
        """
        settings = change_settings(self.settings, changes or {})
        files.write_text(self.folder / paths.PARAMS, yaml.safe_dump(settings, allow_unicode=True))
        try:
            measured = measure(
                [sys.executable, "-m", f"stages.{stage}"],
                folder=self.folder,
                environment=self._environment(tracked=tracked),
                log=self.folder / "log.txt",
            )
        except NmtError as error:
            raise NmtError(
                f"the {stage} stage fails on a part of the text, so that nothing can be predicted: "
                f"{error}"
            ) from None
        left = self.folder / "runs" / "usage" / f"{stage}.json"
        held = files.read_json(left)["memory_bytes"] if left.exists() else 0  # or the disk refused
        return replace(measured, memory_bytes=held)

    def read_journal(self) -> list[Entry]:
        """Return what the only run here was told to remember."""
        [journal] = self.folder.glob("runs/*/journal.jsonl")
        return [json.loads(line) for line in files.read_lines(journal)]

    def _environment(self, *, tracked: bool) -> dict[str, str]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith(OF_RUNS)}
        database = (self.folder / paths.MLFLOW.name).absolute()
        ours = {"MLFLOW_TRACKING_URI": f"sqlite:///{database}"}
        if not tracked:
            none = self.folder / "without"
            none.mkdir(exist_ok=True)
            (none / "mlflow.py").write_text(WITHOUT_MLFLOW)
            known = [kept["PYTHONPATH"]] if "PYTHONPATH" in kept else []
            ours["PYTHONPATH"] = os.pathsep.join([str(none.absolute()), *known])
        return kept | ours


def change_settings(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with other values at some dotted places."""
    changed = deepcopy(dict(settings))
    for place, value in changes.items():
        *parents, last = place.split(".")
        section = changed
        for name in parents:
            section = section[name]
        section[last] = value
    return changed
