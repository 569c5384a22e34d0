"""``nmt verify``: check an exported model."""

from pathlib import Path
from typing import Annotated

import typer

from nmt_core.base import seal
from nmt_core.base.errors import BundleError
from nmt_core.cli.options import Device, Threads, open_translator
from nmt_core.translation.loading import list_usable_engines
from nmt_core.translation.trial import check_golden


def verify(
    *,
    model: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Exported model, language model, classifier or aligner."),
    ],
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Check an exported model.

    The command compares the digest of every file. For a translator, it also translates the golden
    sentences with each engine and compares the result with the export. Another processor rounds
    differently, so a few sentences may differ.

    This finds accidents, not forgeries: to know who made a model, compare the printed digest with
    the `bundle_sha256` in the registry.

    **Example**

        nmt verify --model models/export
    """
    kind = seal.read_manifest(model, expected=None)["format"]
    of_translator = isinstance(kind, int)
    seal.verify_bundle(model, expected=seal.FORMAT if of_translator else str(kind))
    typer.echo(f"bundle_sha256: {seal.digest_bundle(model)}")
    typer.echo("All files are intact.")
    if not of_translator:
        return
    changed = 0
    for engine in list_usable_engines(model):
        mismatches = check_golden(open_translator(model, device, threads, engine=engine), model)
        changed += len(mismatches)
        for source, before, now in mismatches:
            typer.echo(f"{engine}: {source!r} was translated as {before!r}, and now as {now!r}")
        if not mismatches:
            typer.echo(f"{engine}: all golden sentences are translated as at the time of export.")
    if changed:
        raise BundleError(
            f"{model} translates {changed} golden sentences differently than at the time of "
            f"export; check device and library versions, and export it again if they are the same"
        )
