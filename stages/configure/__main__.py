"""Compose params.yaml from the groups in conf/, check it, and write it with its comments.

Usage: python -m stages.configure [GROUP=NAME ...] [SECTION.KEY=VALUE ...]
Reads:  conf/, params.yaml, and the user's own text files, to pin what they hold
Writes: params.yaml

The arguments are Hydra's, as for ``dvc exp run -S``:
    python -m stages.configure data=europarl model=transformer_article_lite train.seed=2
Choosing a group composes everything anew, and a group that is not named takes its default. Settings
alone change params.yaml as it lies. Without arguments only the pins of text files are renewed.
"""

import sys

from stages import paths
from stages.configure.compose import configured, pinned, write
from stages.params import build_all
from stages.runtime.entry import run_stage


def main() -> None:
    """Compose or change what is asked, check everything, and write params.yaml if it changes."""
    arguments = sys.argv[1:]
    write(pinned(build_all(configured(arguments), source=str(paths.PARAMS))))


if __name__ == "__main__":
    run_stage(main)
