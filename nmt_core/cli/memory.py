"""``nmt memory``: approved translations, and those like a text."""

from pathlib import Path
from typing import Annotated

import typer

from nmt_core.base.errors import ConfigError
from nmt_core.cli.corrections import escape_unprintable
from nmt_core.cli.lines import decode_argument
from nmt_core.translation.memory.difference import format_differences
from nmt_core.translation.memory.pairs import read_languages, read_pair_file, write_pair_file
from nmt_core.translation.memory.store import TranslationMemory
from nmt_core.translation.memory.unit import THRESHOLD, MemoryScope, MemoryUnit

memory = typer.Typer(
    help="Keep approved translations, and find those like a text.",
    add_completion=False,
    rich_markup_mode="markdown",
    no_args_is_help=True,
)

MemoryFile = Annotated[
    Path, typer.Option("--memory", metavar="FILE", help="The memory, one SQLite file.")
]
LanguagesOption = Annotated[
    str, typer.Option("--languages", metavar="DE-EN", help="Source and target language.")
]
ProjectOption = Annotated[
    str, typer.Option("--project", metavar="NAME", help="Units of this project alone.")
]
KeyOption = Annotated[
    str,
    typer.Option(
        "--key-digest", metavar="HEX", help="Units of an API key, by 16 digits of its SHA-256."
    ),
]


@memory.command("import")
def import_units(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Such as one of TMX or TSV.")],
    *,
    memory: MemoryFile,
    languages: LanguagesOption,
    project: ProjectOption = "",
    key_digest: KeyOption = "",
    unapproved: Annotated[
        bool, typer.Option("--unapproved", help="Keep them for nmt memory search alone.")
    ] = False,
) -> None:
    """Put the translated units of a file into the memory, which is made if need be.

    They are served as approved. A unit whose source is there takes the place of the old one.

    **Example**

        nmt memory import --memory memory.db --languages de-en old.tmx
    """
    scope = MemoryScope(read_languages(languages), project, key_digest)
    units = (MemoryUnit(*pair) for pair in read_pair_file(file, scope.languages))
    put = TranslationMemory(memory).put(scope, units, approved=not unapproved)
    typer.echo(f"imported: {put}")


@memory.command("export")
def export_units(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="It ends in .tmx or .tsv.")],
    *,
    memory: MemoryFile,
    languages: LanguagesOption,
    project: ProjectOption = "",
    key_digest: KeyOption = "",
) -> None:
    """Write the approved units of a language pair, project and key to a file."""
    scope = MemoryScope(read_languages(languages), project, key_digest)
    units = _open_memory(memory).read(scope)
    pairs = ((unit.source, unit.target) for unit in units)
    typer.echo(f"exported: {write_pair_file(file, pairs, scope.languages)}")


@memory.command("search")
def search_memory(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A sentence.")],
    *,
    memory: MemoryFile,
    languages: LanguagesOption,
    project: ProjectOption = "",
    key_digest: KeyOption = "",
    threshold: Annotated[
        float, typer.Option(metavar="S", min=0.01, max=1, help="Least similarity.")
    ] = THRESHOLD,
    most: Annotated[int, typer.Option("--most", metavar="N", min=1, help="How many.")] = 5,
) -> None:
    """Show the units most like a text, the most similar first, with tabs between the fields.

    They are: similarity, what differs, translation. `[-so-]` stands in the memory alone, `{+so+}`
    in the text alone. Similarity is 1 less the characters that are put in, left out or exchanged,
    as a share of the longer text.
    """
    scope = MemoryScope(read_languages(languages), project, key_digest)
    sentence = decode_argument(text, name="TEXT")
    for one in _open_memory(memory).search(sentence, scope, threshold=threshold, most=most):
        shown = [f"{one.score:.2f}", format_differences(one.source, sentence), one.target]
        typer.echo("\t".join(map(escape_unprintable, shown)))


@memory.command("list")
def list_memory_scopes(*, memory: MemoryFile) -> None:
    """List language pairs, projects and keys, and how many units each has."""
    for (pair, project, key), count in _open_memory(memory).list_scopes():
        fields = [" ".join(pair.codes), project or "-", key or "-", str(count)]
        typer.echo("\t".join(map(escape_unprintable, fields)))


def _open_memory(path: Path) -> TranslationMemory:
    """Open a memory that is there.

    Raises:
        ConfigError: if it is not.
    """
    if not path.exists():
        raise ConfigError(f"{path} does not exist; nmt memory import makes it")
    return TranslationMemory(path)
