"""``nmt corrections``: what users suggested, and what becomes of it."""

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages
from nmt_core.translation.memory.correction import (
    KEY_CHARACTERS,
    Correction,
    CorrectionStatus,
    Suggestion,
)
from nmt_core.translation.memory.journal import CorrectionJournal
from nmt_core.translation.memory.pairs import read_languages, read_pair_file, write_pair_file
from nmt_core.translation.memory.selection import select_corrections

corrections = typer.Typer(
    help="Decide on corrections that users suggested, and export or delete them.",
    add_completion=False,
    rich_markup_mode="markdown",
    no_args_is_help=True,
)

if TYPE_CHECKING:
    from nmt_core.translation.memory.store import TranslationMemory

PORTION = 1000
"""Suggestions of a file that are appended at once."""

JournalOption = Annotated[
    Path, typer.Option("--journal", metavar="FILE", help="Journal of nmt serve --corrections.")
]
IdsOption = Annotated[
    list[str] | None, typer.Argument(metavar="ID", help="As nmt corrections list shows it.")
]
KeyDigestOption = Annotated[
    str | None,
    typer.Option(metavar="HEX", help="What was given with this API key, by its digest's begin."),
]
ReasonOption = Annotated[str, typer.Option(metavar="TEXT", help="Why, for whoever reads it later.")]
PairOption = Annotated[
    str | None,
    typer.Option("--languages", metavar="DE-EN", help="Source and target language."),
]
MemoryOption = Annotated[
    Path | None, typer.Option("--memory", metavar="FILE", help="Memory of nmt serve --memory, too.")
]
StatusOption = Annotated[
    CorrectionStatus | None, typer.Option(metavar="STATUS", help="suggested, approved or dropped.")
]

SHORTEST_DIGEST = 8
"""Characters of a digest that name a key."""


@corrections.command("list")
def list_corrections(
    *,
    journal: JournalOption,
    status: StatusOption = None,
    key_digest: KeyDigestOption = None,
    languages: PairOption = None,
) -> None:
    """List corrections, the newest last, with tabs between the fields.

    They are: id, status, how often it was given, when first, digest of the key, languages, source,
    correction, translation before, reason. Characters that a terminal does not show are escaped, as
    in Python.
    """
    pair = languages and read_languages(languages)
    for each in _read(journal):
        suggestion = each.suggestion
        if (
            (status in (None, each.status))
            and (not pair or suggestion.languages == pair)
            and _is_of(each, key_digest)
        ):
            fields = [each.id, each.status, str(each.times), each.time, suggestion.key or "-"]
            fields += [
                " ".join(suggestion.languages.codes),
                suggestion.source,
                suggestion.target,
                suggestion.before,
            ]
            typer.echo("\t".join(escape_unprintable(field) for field in [*fields, each.reason]))


@corrections.command()
def approve(
    *,
    ids: IdsOption = None,
    journal: JournalOption,
    key_digest: KeyDigestOption = None,
    every: Annotated[bool, typer.Option("--all", help="Approve all that are suggested.")] = False,
    reason: ReasonOption = "",
    memory: MemoryOption = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Let the memory serve them to users of any key.")
    ] = False,
) -> None:
    """Approve corrections: they are learnt and, with `--memory`, served from now on.

    Of several that give one source other translations, the one approved last holds.
    """
    entries = CorrectionJournal(journal)
    chosen = _choose(entries, ids, key_digest, every=every)
    approved = entries.decide("approved", chosen, reason=reason)
    if memory:
        _open_memory(memory).remember(approved, shared=shared)
    typer.echo(f"approved: {len(approved)}")


@corrections.command()
def drop(
    *,
    ids: IdsOption = None,
    journal: JournalOption,
    key_digest: KeyDigestOption = None,
    reason: ReasonOption = "",
    memory: MemoryOption = None,
) -> None:
    """Drop corrections: they are not learnt, also if they are suggested again."""
    entries = CorrectionJournal(journal)
    chosen = _choose(entries, ids, key_digest, every=False)
    dropped = entries.decide("dropped", chosen, reason=reason)
    _forget(memory, dropped)
    typer.echo(f"dropped: {len(dropped)}")


@corrections.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="It ends in .tsv or .tmx.")],
    *,
    journal: JournalOption,
    languages: PairOption = None,
    undecided: Annotated[
        bool, typer.Option("--undecided", help="Export what is merely suggested, too.")
    ] = False,
) -> None:
    """Write the approved corrections to a file that `download.corpora` reads.

    Each stands there once; of those that contradict each other, the newest approved one.
    """
    known = _read(journal)
    pair = _find_languages(languages, {each.suggestion.languages for each in known})
    chosen = select_corrections(known, pair, undecided=undecided)
    written = write_pair_file(file, ((each.source, each.target) for each in chosen), pair)
    typer.echo(f"exported: {written}")


@corrections.command()
def delete(
    *,
    ids: IdsOption = None,
    journal: JournalOption,
    key_digest: KeyDigestOption = None,
    memory: MemoryOption = None,
) -> None:
    """Delete what a user gave from the journal, and so from the next training text.

    The file is written anew, whole or not at all; nothing of what is deleted stays in it, nor, with
    `--memory`, in the memory that it was approved for.

    **Example**

        nmt corrections delete --journal corrections.jsonl --key-digest 1f825aa2
    """
    _require_choice(ids, key_digest)
    wanted = set(ids or [])

    def is_meant(each: Correction) -> bool:
        return each.id in wanted or (bool(key_digest) and _is_of(each, key_digest))

    entries = CorrectionJournal(journal)
    known = [each for each in _read(journal) if is_meant(each)]
    _forget(memory, known, (key_digest or "")[:KEY_CHARACTERS])  # before what is meant is unknown
    gone = entries.delete(is_meant)
    typer.echo(f"deleted: {len(gone)}")


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
    """Take the translated units of a file into the journal as suggestions, or as approved.

    Files are of any format of parallel text: TMX, XLIFF, PO, TSV, CSV, XLSX. Units that are not
    translated are left out.
    """
    assert languages is not None  # typer asks for it
    pair, entries = read_languages(languages), CorrectionJournal(journal)
    taken: list[str] = []
    portion: list[Suggestion] = []
    for source, target in dict.fromkeys(read_pair_file(file, pair)):
        portion.append(Suggestion(languages=pair, source=source, target=target))
        if len(portion) == PORTION:
            taken += entries.suggest(*portion)
            portion.clear()
    taken += entries.suggest(*portion) if portion else []
    if approved and taken:
        entries.decide("approved", taken, reason=f"imported from {file.name}")
    typer.echo(f"imported: {len(taken)}")


def _open_memory(path: Path) -> "TranslationMemory":
    from nmt_core.translation.memory.store import TranslationMemory  # optional

    return TranslationMemory(path)


def _forget(memory: Path | None, gone: Collection[Correction], key: str = "") -> None:
    if memory:
        _open_memory(memory).delete(origins=[each.id for each in gone], key=key)


def escape_unprintable(text: str) -> str:
    """Return text with what a terminal would not show, or obey, as escapes."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def _read(journal: Path) -> list[Correction]:
    """Return the corrections of a journal, which must be there.

    Raises:
        ConfigError: if it is not.
    """
    if not journal.exists():
        raise ConfigError(f"{journal} does not exist; name the file of nmt serve --corrections")
    return CorrectionJournal(journal).read()


def _choose(
    entries: CorrectionJournal, ids: Collection[str] | None, key_digest: str | None, *, every: bool
) -> list[str]:
    """Return the ids that are given, or those of a key, or of all that are suggested."""
    known = _read(entries.path)
    if not every:
        _require_choice(ids, key_digest)
    chosen: Callable[[Correction], bool] = (
        (lambda each: each.status == "suggested")
        if every
        else (lambda each: key_digest is not None and _is_of(each, key_digest))
    )
    return [*(ids or []), *(each.id for each in known if chosen(each))]


def _require_choice(ids: Iterable[str] | None, key_digest: str | None) -> None:
    if not ids and not key_digest:
        raise ConfigError("nothing says which corrections are meant; give ids, or --key-digest")


def _is_of(correction: Correction, key_digest: str | None) -> bool:
    """Tell whether a correction was given with a key; with any, if none is named.

    Raises:
        ConfigError: if the digest is too short to name one.
    """
    if key_digest is None:
        return True
    if len(key_digest) < SHORTEST_DIGEST:
        raise ConfigError(f"--key-digest needs {SHORTEST_DIGEST} characters or more of the digest")
    key = correction.suggestion.key
    return bool(key) and (key.startswith(key_digest) or key_digest.startswith(key))


def _find_languages(given: str | None, known: Collection[Languages]) -> Languages:
    """Return the languages that are given, or the only ones that there are.

    Raises:
        ConfigError: if there are none or several.
    """
    if given:
        return read_languages(given)
    if len(known) == 1:
        return next(iter(known))
    pairs = ", ".join(sorted("-".join(each.codes) for each in known)) or "none"
    raise ConfigError(f"name the languages by --languages; the journal has: {pairs}")
