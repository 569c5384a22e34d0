"""Compose params.yaml from the groups in conf/, check it, and write it with its comments.

Usage: python -m stages.configure [GROUP=NAME ...] [SECTION.KEY=VALUE ...]
Reads:  conf/, params.yaml, and the user's own text files, to pin their content
Writes: params.yaml

The arguments are Hydra's, as for ``dvc exp run -S``:
    python -m stages.configure data=europarl model=transformer_article_lite train.seed=2
``model=auto`` and ``train=auto`` choose what fits the text and the time.
Choosing a group composes everything anew, and a group that is not named takes its default. Settings
alone change params.yaml as it lies. Without arguments only the pins of text files are renewed.
"""

import sys
from functools import partial

from rich.console import Console

from stages import paths
from stages.configure.compose import compose_settings, pin_all, write_params
from stages.configure.sections import build_all
from stages.runtime.checkout import hold_checkout
from stages.runtime.entry import run_stage


def main() -> None:
    """Compose or change settings, check all of them, and write params.yaml if it changes."""
    say = partial(Console(stderr=True).print, soft_wrap=True)
    with hold_checkout(say):
        values = compose_settings(sys.argv[1:], say=say)
        write_params(pin_all(build_all(values, source=str(paths.PARAMS))))


if __name__ == "__main__":
    run_stage(main)
