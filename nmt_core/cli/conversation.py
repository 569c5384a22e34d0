"""``nmt translate --interactive``: a line is asked for, and its translation shown in colours."""

import io
import sys
import time
from contextlib import suppress
from importlib import import_module

from rich.console import Console
from rich.text import Text

from nmt_core.cli.lines import open_standard_input
from nmt_core.cli.translate_options import Beginnings, Search
from nmt_core.documents.review import list_doubts
from nmt_core.translation.translation import Translation

with suppress(ImportError):  # gives the prompt a history where there is one
    import_module("readline")

LEVELS = {"likely good": 0.75, "may need a change": 0.25, "look at this": 0.0}
UNSURE, SURE = 0.3, 0.7
"""Probabilities below and from which a token is shown in red and in green."""


def translate_interactively(search: Search, beginnings: Beginnings, flag_below: float) -> None:
    """Ask for lines and show their translations until there are no more."""
    open_standard_input()
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    console = Console(highlight=False)
    console.print("Write a line; end with Ctrl-D.", style="dim")
    while True:
        try:
            line = console.input("[bold cyan]> [/]")
        except (EOFError, KeyboardInterrupt):
            console.print()
            return
        began = time.perf_counter()
        [translations] = search([line], beginnings.next(1))
        milliseconds = (time.perf_counter() - began) * 1000
        for translation in translations:
            console.print(render_translation(translation))
        for doubt in list_doubts(translations[0], flag_below):
            console.print(f"{doubt[0].upper()}{doubt[1:]}.", style="yellow")
        console.print(f"{milliseconds:.0f} ms\n", style="dim")


def render_translation(translation: Translation) -> Text:
    """Return a translation, tokens in the colours of their probabilities, score and confidence."""
    text = Text(f"{translation.text}\n", style="bold")
    probabilities = translation.token_probabilities
    for token, probability in zip((*translation.tokens, "</s>"), probabilities, strict=False):
        colour = "red" if probability < UNSURE else "green" if probability >= SURE else "yellow"
        text.append(f"{token} ", style=f"not bold {colour}")
        text.append(f"{probability:.3f}  ", style="not bold dim")
    text.append(f"\nScore: {translation.score:.4f}", style="not bold")
    if (confidence := translation.confidence) is not None:
        level = next(level for level, bound in LEVELS.items() if confidence >= bound)
        text.append(f"  Confidence: {confidence:.2f}, {level}", style="not bold")
    return text
