"""Write the bases of the presets in conf/model: the defaults of every setting of a model.

Usage: python -m stages.configure.presets
Writes: conf/model/_base/ARCHITECTURE.yaml

DVC composes ``params.yaml`` of an experiment by Hydra alone, which does not know our defaults; a
preset then holds only what differs from them. Type this after a change of a model's settings.
"""

from collections.abc import Iterator
from pathlib import Path

import yaml

from nmt_core.base import files
from nmt_core.models.architectures import ARCHITECTURES, read_model_config
from stages import paths
from stages.runtime.entry import run_stage

HEADING = """\
# @package _global_
# The defaults of {kind}, written by: python -m stages.configure.presets
"""


def find_bases(conf: Path = paths.CONF) -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of the base of each architecture's presets."""
    for name in ARCHITECTURES:
        config = read_model_config({"architecture": name})
        text = yaml.safe_dump({"train": {"model": config.model_dump(mode="json")}}, sort_keys=False)
        heading = HEADING.format(kind=type(config).__name__)
        yield conf / "model/_base" / f"{name}.yaml", heading + text


def main() -> None:
    """Write them all."""
    for path, text in find_bases():
        files.write_text(path, text)


if __name__ == "__main__":
    run_stage(main)
