"""``nmt corrections`` and ``nmt memory``: corrections of users, and approved translations."""

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import read_languages
from nmt_core.cli.lines import decode_argument
from nmt_core.translation.memory.journal import (
    KEY_CHARACTERS,
    Correction,
    CorrectionJournal,
    Suggestion,
    select_corrections,
)
from nmt_core.translation.memory.pairs import read_pair_file, write_pair_file

if TYPE_CHECKING:
    from nmt_core.translation.memory.store import MemoryScope, TranslationMemory

corrections = typer.Typer(
    help="Decide on corrections.",
    add_completion=False,
    rich_markup_mode="markdown",
    no_args_is_help=True,
)
memory = typer.Typer(
    help="Keep approved translations.",
    add_completion=False,
    rich_markup_mode="markdown",
    no_args_is_help=True,
)

SHORTEST_DIGEST = 8
"""Characters of a digest that name a key."""

JournalOption = Annotated[
    Path, typer.Option(metavar="FILE", help="Journal of nmt serve --corrections.")
]
IdsOption = Annotated[
    list[str] | None, typer.Argument(metavar="ID", help="As nmt corrections list shows it.")
]
PairOption = Annotated[str, typer.Option(metavar="DE-EN", help="Source and target language.")]
ServedMemoryOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Memory of nmt serve --memory, too.")
]
MemoryOption = Annotated[Path, typer.Option(metavar="FILE", help="The memory, one SQLite file.")]
ProjectOption = Annotated[str, typer.Option(metavar="NAME", help="Units of this project alone.")]
KeyOption = Annotated[
    str,
    typer.Option(metavar="HEX", help="Units of an API key, by 16 digits of its SHA-256."),
]


@corrections.command("list")
def list_corrections(*, journal: JournalOption) -> None:
    """List corrections, the newest last, with tabs between the fields.

    They are: id, status (suggested, approved or dropped), time, digest of the key, languages,
    source, correction, translation before. Control characters are escaped, as in Python.
    """
    for each in _read(journal):
        own = each.suggestion
        pair = " ".join(own.languages.codes)
        fields = [each.id, each.status, own.time, own.key or "-", pair]
        fields += [own.source, own.target, own.before]
        typer.echo("\t".join(map(escape_unprintable, fields)))


@corrections.command()
def approve(
    *,
    ids: IdsOption = None,
    journal: JournalOption,
    every: Annotated[bool, typer.Option("--all", help="Approve all that are suggested.")] = False,
    memory: ServedMemoryOption = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Let the memory serve them to users of any key.")
    ] = False,
) -> None:
    """Approve corrections: they are learnt and, with `--memory`, served from now on.

    Of several that give one source other translations, the one approved last holds.
    """
    suggested = [each.id for each in _read(journal) if every and each.status == "suggested"]
    chosen = suggested if every else _require_ids(ids)
    approved = CorrectionJournal(journal).decide("approved", chosen)
    if memory:
        _make_memory(memory).remember(approved, shared=shared)
    typer.echo(f"approved: {len(approved)}")


@corrections.command()
def drop(
    *, ids: IdsOption = None, journal: JournalOption, memory: ServedMemoryOption = None
) -> None:
    """Drop corrections: they are not learnt, also if they are suggested again."""
    _read(journal)
    dropped = CorrectionJournal(journal).decide("dropped", _require_ids(ids))
    if memory:
        _make_memory(memory).delete(origins=[each.id for each in dropped])
    typer.echo(f"dropped: {len(dropped)}")


@corrections.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="It ends in .tmx.")],
    *,
    journal: JournalOption,
    languages: PairOption,
) -> None:
    """Write the approved corrections to a file that `download.corpora` reads.

    Each stands there once; of those that contradict each other, the newest.
    """
    pair = read_languages(languages)
    chosen = select_corrections(_read(journal), pair)
    written = write_pair_file(file, ((each.source, each.target) for each in chosen), pair)
    typer.echo(f"exported: {written}")


@corrections.command()
def delete(
    *,
    ids: IdsOption = None,
    journal: JournalOption,
    key_digest: Annotated[
        str | None,
        typer.Option(metavar="HEX", help="All of an API key, by the beginning of its digest."),
    ] = None,
    memory: ServedMemoryOption = None,
) -> None:
    """Delete what a user gave from the journal, and so from the next training text.

    The file is written anew, whole or not at all; nothing of what is deleted stays in it, nor, with
    `--memory`, in the memory that it was approved for.
    """
    if key_digest and len(key_digest) < SHORTEST_DIGEST:
        raise ConfigError(f"--key-digest needs {SHORTEST_DIGEST} characters or more of the digest")
    chosen = ids or [] if key_digest else _require_ids(ids)
    is_meant = partial(_is_meant, chosen, key_digest or "")
    known = [each for each in _read(journal) if is_meant(each)]
    if memory:  # before the journal forgets which are meant
        key = (key_digest or "")[:KEY_CHARACTERS]
        _make_memory(memory).delete(origins=[each.id for each in known], key=key)
    typer.echo(f"deleted: {len(CorrectionJournal(journal).delete(is_meant))}")


@corrections.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Such as one of TMX or XLIFF.")],
    *,
    journal: JournalOption,
    languages: PairOption,
    approved: Annotated[
        bool, typer.Option("--approved", help="Approve them, as a translator's work.")
    ] = False,
) -> None:
    """Add the translated units of a file to the journal as suggestions, or as approved.

    Files are of any format of parallel text: TMX, XLIFF, PO, TSV, CSV, XLSX. Units that are not
    translated are left out.
    """
    pair, entries = read_languages(languages), CorrectionJournal(journal)
    added = entries.suggest(
        *(
            Suggestion(languages=pair, source=source, target=target)
            for source, target in dict.fromkeys(read_pair_file(file, pair))
        )
    )
    if approved and added:
        entries.decide("approved", added)
    typer.echo(f"imported: {len(added)}")


@memory.command("import")
def import_units(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Such as one of TMX or TSV.")],
    *,
    memory: MemoryOption,
    languages: PairOption,
    project: ProjectOption = "",
    key_digest: KeyOption = "",
) -> None:
    """Put the translated units of a file into the memory; make it if it is missing.

    They are served as approved. A unit whose source is there replaces the old one.
    """
    from nmt_core.translation.memory.store import MemoryUnit

    scope = _make_scope(languages, project, key_digest)
    units = (MemoryUnit(*pair) for pair in read_pair_file(file, scope.languages))
    typer.echo(f"imported: {_make_memory(memory).put(scope, units)}")


@memory.command("export")
def export_units(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="It ends in .tmx.")],
    *,
    memory: MemoryOption,
    languages: PairOption,
    project: ProjectOption = "",
    key_digest: KeyOption = "",
) -> None:
    """Write the units of a language pair, project and key to a file."""
    scope = _make_scope(languages, project, key_digest)
    pairs = ((unit.source, unit.target) for unit in _open_memory(memory).read(scope))
    typer.echo(f"exported: {write_pair_file(file, pairs, scope.languages)}")


@memory.command("search")
def search_memory(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A sentence.")],
    *,
    memory: MemoryOption,
    languages: PairOption,
    project: ProjectOption = "",
    key_digest: KeyOption = "",
    threshold: Annotated[
        float, typer.Option(metavar="S", min=0.01, max=1, help="Least similarity.")
    ] = 0.75,
    most: Annotated[int, typer.Option("--most", metavar="N", min=1, help="How many.")] = 5,
) -> None:
    """Show the units most like a text, the most similar first, with tabs between the fields.

    They are: similarity, what differs, translation. `[-so-]` stands in the memory alone, `{+so+}`
    in the text alone. Similarity is 1 less the characters that are put in, left out or exchanged,
    as a share of the longer text.
    """
    from nmt_core.translation.memory.search import format_differences

    scope = _make_scope(languages, project, key_digest)
    sentence = decode_argument(text, name="TEXT")
    for match in _open_memory(memory).search(sentence, scope, threshold=threshold, most=most):
        difference = format_differences(match.source, sentence)
        shown = [f"{match.score:.2f}", difference, match.target]
        typer.echo("\t".join(map(escape_unprintable, shown)))


def escape_unprintable(text: str) -> str:
    """Return text with what a terminal would not show, or obey, as escapes."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def _make_memory(path: Path) -> "TranslationMemory":
    from nmt_core.translation.memory.store import TranslationMemory  # optional

    return TranslationMemory(path)


def _make_scope(languages: str, project: str, key_digest: str) -> "MemoryScope":
    from nmt_core.translation.memory.store import MemoryScope  # optional

    return MemoryScope(read_languages(languages), project, key_digest)


def _open_memory(path: Path) -> "TranslationMemory":
    """Open a memory, which must exist."""
    if not path.exists():
        raise ConfigError(f"{path} does not exist; nmt memory import makes it")
    return _make_memory(path)


def _read(journal: Path) -> list[Correction]:
    """Return the corrections of a journal, which must exist."""
    if not journal.exists():
        raise ConfigError(f"{journal} does not exist; name the file of nmt serve --corrections")
    return CorrectionJournal(journal).read()


def _require_ids(ids: Collection[str] | None) -> Collection[str]:
    if not ids:
        raise ConfigError("no correction is named; give ids as nmt corrections list shows them")
    return ids


def _is_meant(ids: Collection[str], key_digest: str, correction: Correction) -> bool:
    """Tell whether a correction has one of some ids, or is of a key."""
    key = correction.suggestion.key
    is_of_key = key.startswith(key_digest) or key_digest.startswith(key)
    return correction.id in ids or bool(key and key_digest and is_of_key)
