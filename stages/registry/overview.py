"""Overview of a registry: its versions, and doubts about promoting one."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from rich.console import Group
from rich.table import Table
from rich.text import Text

from nmt_core.evaluation.registered import METRICS, find_label
from stages.registry.exported import ARCHITECTURE, CORPUS, PAIRS, TEST_SET
from stages.registry.registry import CHAMPION, Registry
from stages.registry.versions import Version

USELESS_BLEU = 10.0
"""Below, people hardly get the gist of a translation."""

UNKNOWN = "–"


def render_versions(registry: Registry) -> Group:
    """Return all versions, newest first: a table for each test set, within which scores compare."""
    champion = registry.champion()
    serving = champion.number if champion else None
    groups: dict[str, list[Version]] = {}
    for version in registry.versions().values():
        groups.setdefault(version.tags.get(TEST_SET, ""), []).append(version)
    if not groups:
        return Group(Text(f"{registry.name}: {registry.advise()}"))
    tables = (
        render_group(registry.name, test_set, versions, serving)
        for test_set, versions in groups.items()
    )
    note = Text("Scores compare within a table, which is of one test set.", style="dim")
    return Group(*tables, *([note] if len(groups) > 1 else []))


def render_group(
    name: str, test_set: str, versions: Sequence[Version], serving: int | None
) -> Table:
    """Return the versions that were tested on one test set, for a page of 80 columns."""
    corpora = (each.tags.get(CORPUS, "").split(", ") for each in versions)
    named = dict.fromkeys([name, *chain(*corpora), test_set and f"test set {test_set[:8]}"])
    title = ", ".join(filter(None, named))
    overview = Table(title=title, title_justify="left", box=None, pad_edge=False)
    names = [name for name in METRICS if any(name in version.tags for version in versions)]
    overview.add_column("", justify="right", no_wrap=True)
    overview.add_column("", no_wrap=True)
    for heading in ("model", "pairs", *map(find_label, names)):
        overview.add_column(heading, justify="left" if heading == "model" else "right")
    overview.add_column("since, by whom and why")
    for version in versions:
        tags = version.tags
        shown = (tags.get(name, UNKNOWN) for name in (ARCHITECTURE, PAIRS, *names))
        overview.add_row(
            str(version.number), render_state(version, serving), *shown, render_event(tags)
        )
    return overview


def render_state(version: Version, serving: int | None) -> Text:
    """Return whether a version is champion, or was withdrawn."""
    if version.number == serving:
        return Text(CHAMPION, style="bold green")
    return Text("withdrawn" if "rolled_back_at" in version.tags else "")


def render_event(tags: Mapping[str, str]) -> Text:
    """Describe the last event of a version in a sentence."""
    at, by, reason = find_last_event(tags)
    return Text(f"{at[:16].replace('T', ' ')} by {by}: {reason}" if by else at)


def find_last_event(tags: Mapping[str, str]) -> tuple[str, str, str]:
    """Return date, user and reason of a version's last promotion, restoration or withdrawal."""
    events = {
        "promoted": ("promoted_at", "promoted_by", "reason"),
        **{
            event: (f"{event}_at", f"{event}_by", f"{event}_reason")
            for event in ("rolled_back", "restored")
        },
    }
    names_of_events = [names for names in events.values() if names[0] in tags]
    if not names_of_events:
        return UNKNOWN, "", ""
    at, by, reason = (
        tags.get(name, "") for name in max(names_of_events, key=lambda names: tags[names[0]])
    )
    return at, by, reason


def list_doubts(version: Version, champion: Version | None) -> Iterator[str]:
    """Yield doubts about making a version champion, a sentence each."""
    new = version.tags
    bleu = float(new.get("bleu", "nan"))
    if bleu < USELESS_BLEU:
        yield f"version {version.number} has a BLEU of {bleu:g}: few of its translations are of use"
    if champion is None or champion.number == version.number:
        return
    old = champion.tags
    names = f"version {version.number} and version {champion.number}, the champion,"
    if TEST_SET in old and old[TEST_SET] != new.get(TEST_SET):
        corpora = " and ".join(tags.get(CORPUS, "another corpus") for tags in (new, old))
        yield f"{names} were tested on different sentences ({corpora}): their scores do not compare"
        return
    for name in METRICS:
        if name in new and name in old and is_worse(name, new[name], old[name]):
            yield f"{names} have a {find_label(name)} of {new[name]} and {old[name]}"
            return


def is_worse(metric: str, new: str, old: str) -> bool:
    """Tell whether a score is worse than another."""
    gain = float(new) - float(old)
    return gain < 0 if METRICS.load(metric).higher_is_better else gain > 0
