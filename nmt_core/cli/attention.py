"""``nmt translate --attention``: pictures of where translations looked."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_core.base.errors import ConfigError
from nmt_core.base.packages import advise_installing, is_installed
from nmt_core.cli.search_options import Search

if TYPE_CHECKING:  # drawing takes a second to import
    from nmt_core.evaluation.attention import Look
    from nmt_core.translation.translation import Translation
    from nmt_core.translation.translator import Translator

Attention = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder for pictures of what each translation looked at."),
]

MOST_PICTURES = 100
"""Lines that are drawn, the first ones; nobody looks through more."""

MOST_TOKENS = 100
"""Tokens of a side beyond which nobody can read a picture."""


@dataclass
class AttentionPictures:
    """Remembers where translations looked, and draws it.

    Attributes:
        folder: where to write; it must not be there.
        translator: what translates.

    Raises:
        ConfigError: if the folder is there, or nothing can draw.
    """

    folder: Path
    translator: "Translator"
    looks: "dict[int, Look]" = field(default_factory=dict)
    """By the number of the line."""
    lines: int = 0
    """That were translated."""
    left_out: int = 0
    """Of those that have tokens."""

    def __post_init__(self) -> None:
        if self.folder.exists():
            raise ConfigError(
                f"--attention {self.folder} is there already; name a folder that is not, for it is "
                f"written as a whole"
            )
        if not (is_installed("matplotlib") and is_installed("jaxtyping")):
            raise ConfigError(
                f"--attention needs matplotlib, which is not installed; run: "
                f"{advise_installing('matplotlib')}"
            )

    def watch(self, search: Search) -> Search:
        """Return the same search, which also remembers where the best of each line looked."""

        def watched(lines: Sequence[str], begin: Sequence[str]) -> "list[list[Translation]]":
            found = search(lines, begin)
            for line, (best, *_) in zip(lines, found, strict=True):
                self._remember(line, best)
            return found

        return watched

    def draw(self) -> None:
        """Write the pictures; say on standard error what was left out."""
        from nmt_core.evaluation.attention import draw_looks  # noqa: PLC0415 - takes a second

        draw_looks(self.folder, self.looks)
        if self.left_out:
            typer.echo(
                f"{self.left_out} lines are not drawn in {self.folder}: more than "
                f"{MOST_PICTURES} lines, or {MOST_TOKENS} tokens",
                err=True,
            )

    def _remember(self, line: str, best: "Translation") -> None:
        from nmt_core.translation.attention import trace_attention  # noqa: PLC0415 - takes a second

        self.lines += 1
        read = self.translator.source.tokens(line)
        if not read:
            return
        if len(self.looks) == MOST_PICTURES or max(len(read), len(best.tokens)) > MOST_TOKENS:
            self.left_out += 1
            return
        look = trace_attention(self.translator, line, best)
        if look is None:
            raise ConfigError("this model has no attention; leave --attention out")
        self.looks[self.lines] = look
