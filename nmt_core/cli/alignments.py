"""``nmt translate --alignments``: which word of a translation stands for which of its source."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from nmt_core.base.errors import ConfigError

if TYPE_CHECKING:  # takes a moment to import, and most translations need none of it
    from nmt_core.translation.translation import Translation
    from nmt_core.translation.translator import Translator

Alignments = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write there which words translate which, as 0-0 2-1."),
]
AlignerFolder = Annotated[
    Path | None,
    typer.Option(
        "--aligner",
        metavar="DIR",
        help="Aligner of nmt align for --alignments. \\[default: the model's attention]",
    ),
]


class Linking(Protocol):
    """Says which words of a line and of its translations go together."""

    def __call__(self, line: str, found: "Sequence[Translation]") -> Iterator[str]:
        """Yield the links of each translation in Pharaoh format."""


Keep = Callable[[str, "Sequence[Translation]"], None]
"""Takes a line and its translations."""


def choose_linking(
    translator: "Translator", alignments: Path | None, aligner: Path | None
) -> Linking | None:
    """Return what finds the links that were asked for, None if none were.

    Raises:
        ConfigError: if an aligner has nothing to do, or the model has no attention.
        BundleError: if the aligner is not what was learnt.
    """
    if alignments is None:
        if aligner is not None:
            raise ConfigError("--aligner finds links of words; add --alignments FILE to keep them")
        return None
    if aligner is None:
        return link_by_attention(translator)
    from nmt_core.alignment.bundle import load_aligner  # noqa: PLC0415 - takes a moment
    from nmt_core.alignment.links import format_links  # noqa: PLC0415 - takes a moment

    learnt = load_aligner(aligner)
    return lambda line, found: map(format_links, learnt.align([(line, one.text) for one in found]))


def link_by_attention(translator: "Translator") -> Linking:
    """Return what links each word of a translation to the source word that it looked at most.

    Raises:
        ConfigError: if the model has no attention.
    """
    from nmt_core.alignment.links import format_links  # noqa: PLC0415 - takes a moment
    from nmt_core.documents.alignment import NOTHING, align  # noqa: PLC0415 - takes a moment
    from nmt_core.documents.sentences import Span  # noqa: PLC0415 - takes a moment

    if not translator.has_attention:
        raise ConfigError(
            "this model has no attention, which would tell which words translate which; "
            "give an aligner by --aligner DIR (see nmt align --help)"
        )

    def link(line: str, found: "Sequence[Translation]") -> Iterator[str]:
        source = [Span(*word.span()) for word in re.finditer(r"\S+", line)]
        tokens = translator.source.tokens(line)[: translator.config.max_source_tokens]
        for one in found:
            target = [Span(*word.span()) for word in re.finditer(r"\S+", one.text)]
            if not source or not target:
                yield ""
                continue
            looked = one
            if one.attention is None:
                looked = one._replace(attention=translator.attention(line, one))
            stands = align(line, source, tokens, looked, one.text, target)
            yield format_links(
                (word, place) for place, word in enumerate(stands) if word != NOTHING
            )

    return link


@contextmanager
def keep_links(path: Path | None, linking: Linking | None) -> Iterator[Keep]:
    """Yield what writes the links of each line to a file, which appears whole at the end.

    Without a path or anything that finds links, that does nothing.
    """
    if path is None or linking is None:
        yield lambda _line, _found: None
        return
    from nmt_core.base import files  # noqa: PLC0415 - takes a moment

    with files.whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        yield lambda line, found: file.writelines(f"{links}\n" for links in linking(line, found))
