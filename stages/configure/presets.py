"""Write what the presets of conf/model start from: the defaults of every setting of a model.

Usage: python -m stages.configure.presets
Writes: conf/model/_base/ARCHITECTURE.yaml

DVC composes ``params.yaml`` of an experiment by Hydra alone, which does not know our defaults; a
preset then holds only what differs from them. Type this after a change of a model's settings.
"""

from collections.abc import Iterator
from pathlib import Path

import yaml

from nmt_core.base import files
from nmt_core.models.architectures import ARCHITECTURES
from stages import paths
from stages.runtime.entry import run_stage

HEADING = """\
# @package _global_
# The defaults of {kind}, written by: python -m stages.configure.presets
"""


def find_bases(conf: Path = paths.CONF) -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of what presets start from, for each architecture."""
    for kind in map(ARCHITECTURES.load, ARCHITECTURES):
        values = kind().model_dump(mode="json")
        shape = {"architecture": values.pop("architecture"), **values}
        text = yaml.safe_dump({"train": {"model": shape}}, sort_keys=False)
        name = f"{shape['architecture']}.yaml"
        yield conf / "model/_base" / name, HEADING.format(kind=kind.__name__) + text


def main() -> None:
    """Write them all."""
    for path, text in find_bases():
        files.write_text(path, text)


if __name__ == "__main__":
    run_stage(main)
