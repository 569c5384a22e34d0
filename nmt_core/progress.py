"""How far long work is, in bytes, for a person who waits at a terminal."""

import sys

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    Task,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text
from typing_extensions import override


def bytes_bar(console: Console) -> Progress:
    """Return a bar with speed and time left; nothing is shown where nobody looks."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        _SpeedOnceKnown(),
        TimeRemainingColumn(),
        console=console,
        disable=not sys.stderr.isatty(),
    )


class _SpeedOnceKnown(TransferSpeedColumn):
    @override
    def render(self, task: Task) -> Text:
        return super().render(task) if task.finished_speed or task.speed else Text()
