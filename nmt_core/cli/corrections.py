"""``nmt corrections`` and ``nmt memory``: corrections from users, and translation memories."""

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import read_languages
from nmt_core.cli.lines import decode_argument
from nmt_core.cli.options import open_memory
from nmt_core.corpora.formats.opening import read_pair_file
from nmt_core.corpora.formats.translations import write_pair_file
from nmt_core.translation.memory.journal import (
    KEY_CHARACTERS,
    Correction,
    CorrectionJournal,
    Suggestion,
    select_corrections,
)

if TYPE_CHECKING:
    from nmt_core.translation.memory.store import MemoryScope

make_group = partial(
    typer.Typer, add_completion=False, rich_markup_mode="markdown", no_args_is_help=True
)
corrections = make_group(help="Review corrections of users.")
memory = make_group(help="Manage a translation memory.")

MIN_DIGEST_CHARACTERS = 8
"""Minimum length of a digest's prefix that selects a key."""

JournalOption = Annotated[
    Path, typer.Option(metavar="FILE", help="Journal of nmt serve --corrections.")
]
IdsOption = Annotated[
    list[str] | None, typer.Argument(metavar="ID", help="Id from nmt corrections list.")
]
PairOption = Annotated[str, typer.Option(metavar="DE-EN", help="Source and target language.")]
ServedMemoryOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also update the memory of nmt serve --memory.")
]
MemoryOption = Annotated[Path, typer.Option(metavar="FILE", help="The memory, one SQLite file.")]
ProjectOption = Annotated[str, typer.Option(metavar="NAME", help="Only units of this project.")]
KeyOption = Annotated[
    str, typer.Option(metavar="HEX", help="Units of an API key, by 16 digits of its SHA-256.")
]


@corrections.command("list")
def list_corrections(*, journal: JournalOption) -> None:
    """List corrections, the newest last, with tabs between the fields.

    The fields are: id, status (suggested, approved or dropped), time, digest of the key, languages,
    source, correction, previous translation. Control characters are escaped as in Python.
    """
    for each in _read(journal):
        entry = each.suggestion
        pair = " ".join(entry.languages.codes)
        fields = [each.id, each.status, entry.time, entry.key or "-", pair]
        fields += [entry.source, entry.target, entry.before]
        typer.echo("\t".join(map(escape_unprintable, fields)))


@corrections.command()
def approve(
    *,
    ids: IdsOption = None,
    journal: JournalOption,
    every: Annotated[bool, typer.Option("--all", help="Approve all suggestions.")] = False,
    memory: ServedMemoryOption = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Serve them from the memory to users of any key.")
    ] = False,
) -> None:
    """Approve corrections for fine-tuning and, with `--memory`, for the server.

    If corrections of the same source differ, the last approved correction wins.
    """
    suggested = [each.id for each in _read(journal) if every and each.status == "suggested"]
    chosen = suggested if every else _require_ids(ids)
    approved = CorrectionJournal(journal).decide("approved", chosen)
    if memory:
        open_memory(memory, must_exist=False).remember(approved, shared=shared)
    typer.echo(f"approved: {len(approved)}")


@corrections.command()
def drop(
    *, ids: IdsOption = None, journal: JournalOption, memory: ServedMemoryOption = None
) -> None:
    """Drop corrections: fine-tuning ignores them, even if they are suggested again."""
    _read(journal)
    dropped = CorrectionJournal(journal).decide("dropped", _require_ids(ids))
    if memory:
        open_memory(memory, must_exist=False).delete(origins=[each.id for each in dropped])
    typer.echo(f"dropped: {len(dropped)}")


@corrections.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Output file, .tmx.")],
    *,
    journal: JournalOption,
    languages: PairOption,
) -> None:
    """Write the approved corrections to a file that `download.corpora` reads.

    The file has the newest correction of each source.
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
        typer.Option(metavar="HEX", help="All of an API key, by the start of its digest."),
    ] = None,
    memory: ServedMemoryOption = None,
) -> None:
    """Delete corrections of a user from the journal, so that later trainings do not use them.

    The file is rewritten completely or not at all. Afterwards it does not contain the deleted text,
    and with `--memory`, neither does the memory.
    """
    if key_digest and len(key_digest) < MIN_DIGEST_CHARACTERS:
        raise ConfigError(
            f"--key-digest requires at least {MIN_DIGEST_CHARACTERS} characters of the digest"
        )
    chosen = ids or [] if key_digest else _require_ids(ids)
    is_selected = partial(_is_selected, chosen, key_digest or "")
    selected = [each for each in _read(journal) if is_selected(each)]
    if memory:  # first, because it needs the ids from the journal
        key = (key_digest or "")[:KEY_CHARACTERS]
        origins = [each.id for each in selected]
        open_memory(memory, must_exist=False).delete(origins=origins, key=key)
    typer.echo(f"deleted: {len(CorrectionJournal(journal).delete(is_selected))}")


@corrections.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Such as a TMX or XLIFF file.")],
    *,
    journal: JournalOption,
    languages: PairOption,
    approved: Annotated[
        bool, typer.Option("--approved", help="Approve them, as a translator's work.")
    ] = False,
) -> None:
    """Add the translated units of a file to the journal, as suggested or approved corrections.

    The file may have any format of parallel text: TMX, XLIFF, PO, TSV, CSV, XLSX. Untranslated
    units are skipped.
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
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Such as a TMX or TSV file.")],
    *,
    memory: MemoryOption,
    languages: PairOption,
    project: ProjectOption = "",
    key_digest: KeyOption = "",
) -> None:
    """Import the translated units of a file into the memory, which is created if it is missing.

    The units count as approved. A unit replaces an existing unit of the same source.
    """
    from nmt_core.translation.memory.store import MemoryUnit

    scope = _make_scope(languages, project, key_digest)
    units = (MemoryUnit(*pair) for pair in read_pair_file(file, scope.languages))
    typer.echo(f"imported: {open_memory(memory, must_exist=False).put(scope, units)}")


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
    pairs = ((unit.source, unit.target) for unit in open_memory(memory).read(scope))
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
        float, typer.Option(metavar="S", min=0.01, max=1, help="Minimum similarity.")
    ] = 0.75,
    most: Annotated[int, typer.Option("--most", metavar="N", min=1, help="Maximum matches.")] = 5,
) -> None:
    """Show the units most similar to a text, best first, with tabs between the fields.

    The fields are: similarity, difference, translation. `[-so-]` is only in the memory, `{+so+}`
    only in the text. Similarity is 1 minus the character edits divided by the length of the longer
    text.
    """
    from nmt_core.translation.memory.search import format_differences

    scope = _make_scope(languages, project, key_digest)
    sentence = decode_argument(text, name="TEXT")
    for match in open_memory(memory).search(sentence, scope, threshold=threshold, most=most):
        difference = format_differences(match.source, sentence)
        shown = [f"{match.score:.2f}", difference, match.target]
        typer.echo("\t".join(map(escape_unprintable, shown)))


def escape_unprintable(text: str) -> str:
    """Return text with unprintable and control characters escaped."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def _make_scope(languages: str, project: str, key_digest: str) -> "MemoryScope":
    from nmt_core.translation.memory.store import MemoryScope  # optional

    return MemoryScope(read_languages(languages), project, key_digest)


def _read(journal: Path) -> list[Correction]:
    """Return the corrections of a journal, which must exist."""
    if not journal.exists():
        raise ConfigError(f"{journal} does not exist; give the file of nmt serve --corrections")
    return CorrectionJournal(journal).read()


def _require_ids(ids: Collection[str] | None) -> Collection[str]:
    if not ids:
        raise ConfigError("no correction is selected; give ids from nmt corrections list")
    return ids


def _is_selected(ids: Collection[str], key_digest: str, correction: Correction) -> bool:
    """Return whether a correction has one of some ids, or belongs to a key."""
    key = correction.suggestion.key
    is_of_key = key.startswith(key_digest) or key_digest.startswith(key)
    return correction.id in ids or bool(key and key_digest and is_of_key)
