"""``nmt align``: word alignments of parallel text."""

from pathlib import Path
from typing import Annotated

import typer

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.base.seal import require_replaceable
from nmt_core.cli.lines import read_columns
from nmt_core.text.aligner.aligner import FORMAT, format_links, load_aligner, write_aligner
from nmt_core.text.aligner.learning import learn_aligner


def align(
    *,
    source: Annotated[Path, typer.Option(metavar="FILE", help="Sentences, one per line, UTF-8.")],
    target: Annotated[Path, typer.Option(metavar="FILE", help="Translations, one per line.")],
    out: Annotated[
        Path | None, typer.Option(metavar="LINKS", help="File to write the links to.")
    ] = None,
    learn: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Learn an aligner from these sentences into this folder."),
    ] = None,
    aligner: Annotated[Path | None, typer.Option(metavar="DIR", help="Use this aligner.")] = None,
) -> None:
    """Align the words of parallel text.

    Words are separated by spaces; punctuation before and after a word is split off for training.
    Tokenize text of languages without spaces into words first.

    An aligner is trained on parallel text only: two HMMs, one per direction, which must agree. For
    the best links, train on the text that you align; use at least 20,000 pairs.

    **Examples**

        nmt align --source train.de --target train.en --learn models/aligner --out train.links

        nmt align --source test.de --target test.en --aligner models/aligner --out test.links

    **Output**, a line for each pair, such as `0-0 2-1`: the first source word is linked with the
    first target word, the third source word with the second target word (Pharaoh format).
    """
    if (learn is None) == (aligner is None):
        raise ConfigError(
            "align requires either --learn DIR, to train an aligner, or --aligner DIR, to use one"
        )
    if learn is None and out is None:
        raise ConfigError("--aligner requires --out LINKS, the file to write")
    if learn is not None:
        require_replaceable(learn, by=FORMAT)
    lines = list(zip(*read_columns(source, target), strict=True))
    if aligner:
        chosen = load_aligner(aligner)
    elif learn:
        chosen = learn_aligner(lines, report=show_step)
        write_aligner(learn, chosen)
    if out is not None:
        files.write_lines(out, map(format_links, chosen.align(lines)))


def show_step(step: str, log_likelihood: float) -> None:
    """Print a step of the training."""
    typer.echo(f"{step}: log-likelihood {log_likelihood:.0f}", err=True)
