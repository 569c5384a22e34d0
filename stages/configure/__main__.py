"""Compose params.yaml from text and the groups in conf/, check it, and write it.

Usage: python -m stages.configure [NAME=VALUE ...]
Reads:  conf/, params.yaml, and the user's own text files, to pin their content
Writes: params.yaml

    python -m stages.configure text="my/train.de my/train.en" time=30m
    python -m stages.configure data=europarl model=transformer_article_lite train.seed=2

text= takes files, names such as opus:Books/v1, URLs, or a project file; languages= (such as de-en),
validation= and test= describe it. data=, model=, train= and start= choose presets of conf/;
model=auto and train=auto, which text= implies, choose settings that fit the text and the time.
SECTION.KEY=VALUE, in Hydra's syntax, changes one setting. Text or a preset composes params.yaml
from scratch; settings alone change the present file; no arguments update the digests of files.
"""

import sys
from functools import partial

from rich.console import Console

from stages.configure.request import Request, configure
from stages.runtime.checkout import hold_checkout
from stages.runtime.entry import run_stage


def main() -> None:
    """Compose or change settings, check all of them, and write params.yaml if it changes."""
    say = partial(Console(stderr=True).print, soft_wrap=True, markup=False, highlight=False)
    with hold_checkout(say):
        configure(Request.parse(sys.argv[1:]), say=say)


if __name__ == "__main__":
    run_stage(main)
