"""``nmt translate --attention``: pictures of where translations looked."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import typer

from nmt_core.base.errors import ConfigError
from nmt_core.cli.translate_options import Search
from nmt_core.evaluation.attention import Look, draw_looks
from nmt_core.translation.attention import trace_attention
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator

MOST_PICTURES = 100
"""Number of lines that are drawn, the first ones."""

MOST_TOKENS = 100
"""Tokens of a side beyond which a picture is unreadable."""


@dataclass
class AttentionPictures:
    """Collects attention maps of translations, and draws them.

    Attributes:
        folder: where to write; it must not be there.
        translator: translates.

    Raises:
        ConfigError: if the folder is there.
    """

    folder: Path
    translator: Translator
    looks: dict[int, Look] = field(default_factory=dict)
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

    def watch(self, search: Search) -> Search:
        """Return a search that also collects the attention of each line's best translation."""

        def watched(lines: Sequence[str], begin: Sequence[str]) -> list[list[Translation]]:
            translations = search(lines, begin)
            for line, (best, *_) in zip(lines, translations, strict=True):
                self._remember(line, best)
            return translations

        return watched

    def draw(self) -> None:
        """Write the pictures; name the lines that are left out on standard error."""
        draw_looks(self.folder, self.looks)
        if self.left_out:
            typer.echo(
                f"{self.left_out} lines are not drawn in {self.folder}: more than "
                f"{MOST_PICTURES} lines, or {MOST_TOKENS} tokens",
                err=True,
            )

    def _remember(self, line: str, best: Translation) -> None:
        self.lines += 1
        text = self.translator.source.tokenize(line)
        if not text.tokens:
            return
        if (
            len(self.looks) == MOST_PICTURES
            or max(len(text.tokens), len(best.tokens)) > MOST_TOKENS
        ):
            self.left_out += 1
            return
        look = trace_attention(self.translator, text, best)
        if look is None:
            raise ConfigError("this model has no attention; leave --attention out")
        self.looks[self.lines] = look


@contextmanager
def draw_attention(translator: Translator, folder: Path, search: Search) -> Iterator[Search]:
    """Yield a search whose attention maps are drawn at the end.

    Raises:
        ConfigError: if the folder is there.
    """
    pictures = AttentionPictures(folder, translator)
    yield pictures.watch(search)
    pictures.draw()
