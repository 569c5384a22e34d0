"""How far long work is, in bytes, for a person who waits at a terminal."""

import sys

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)


def bytes_bar(console: Console) -> Progress:
    """Return a bar with speed and time left; nothing is shown where nobody looks."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not sys.stderr.isatty(),
    )
