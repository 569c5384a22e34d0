"""``nmt verify``: check an exported model."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from nmt_core.base import seal
from nmt_core.base.errors import BundleError
from nmt_core.cli.options import Device, Threads, open_translator
from nmt_core.translation.loading import list_usable_engines
from nmt_core.translation.trial import Mismatch, check_golden


def verify(
    *,
    model: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Exported model, language model, classifier or aligner."),
    ],
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Check a model: every file by its digest and, of a translator, its golden sentences.

    That finds accidents, not forgeries: to know who made a model, compare the digest shown with the
    `bundle_sha256` of the registry.

    Golden sentences are lines whose translations were kept when the model was exported, by each of
    its engines. Another processor may round otherwise and differ where two translations are almost
    equally good.

    **Example**

        nmt verify --model models/export
    """
    kind = seal.read_format(model)
    of_translator = isinstance(kind, int)
    known = seal.FORMAT if of_translator else kind
    seal.verify_bundle(model, known=known)
    console = Console()
    console.print(render_files(seal.read_manifest(model, known=known)))
    console.print(f"bundle_sha256: {seal.digest_bundle(model)}", soft_wrap=True)
    if not of_translator:
        console.print(f"Every file is as it was written ({kind}).")
        return
    changed = 0
    for engine in list_usable_engines(model):
        mismatches = check_golden(open_translator(model, device, threads, engine=engine), model)
        changed += len(mismatches)
        if mismatches:
            console.print(render_mismatches(mismatches, engine))
        else:
            console.print(f"{engine}: every golden sentence is translated as when it was exported.")
    if changed:
        raise BundleError(
            f"{model} translates {changed} of its golden sentences otherwise than when it was "
            f"exported; check device and library versions, and export it again if they are the same"
        )


def render_files(manifest: dict[str, Any]) -> Table:
    """Return the files of an exported model."""
    table = Table("file", Column("bytes", justify="right"), "SHA-256", title="As exported")
    for name, entry in manifest.items():
        table.add_row(Text(name), str(entry["bytes"]), entry["sha256"][:16])
    return table


def render_mismatches(mismatches: list[Mismatch], engine: str) -> Table:
    """Return the lines that are translated otherwise than they were."""
    table = Table("source", "when exported", "now", title=f"Changed: {engine}", title_style="red")
    for mismatch in mismatches:
        table.add_row(*(Text(field) for field in mismatch))
    return table
