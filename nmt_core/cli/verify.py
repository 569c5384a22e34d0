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

    Every file is checked by its digest, and of a translator also its golden sentences: lines whose
    translations were kept when the model was exported, by each of its engines. Another processor
    may round otherwise and differ where two translations are almost equally good.

    That finds accidents, not forgeries: to know who made a model, compare the digest shown with the
    `bundle_sha256` of the registry.

    **Example**

        nmt verify --model models/export
    """
    kind = seal.read_format(model)
    of_translator = isinstance(kind, int)
    seal.verify_bundle(model, expected=seal.FORMAT if of_translator else kind)
    typer.echo(f"bundle_sha256: {seal.digest_bundle(model)}")
    typer.echo("Every file is as it was written.")
    if not of_translator:
        return
    changed = 0
    for engine in list_usable_engines(model):
        mismatches = check_golden(open_translator(model, device, threads, engine=engine), model)
        changed += len(mismatches)
        for source, before, now in mismatches:
            typer.echo(f"{engine}: {source!r} was translated as {before!r}, and now as {now!r}")
        if not mismatches:
            typer.echo(f"{engine}: every golden sentence is translated as when it was exported.")
    if changed:
        raise BundleError(
            f"{model} translates {changed} of its golden sentences otherwise than when it was "
            f"exported; check device and library versions, and export it again if they are the same"
        )
