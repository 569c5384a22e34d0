"""Tables in Markdown, and parts of a page that a program writes anew."""

from collections.abc import Iterable, Sequence

WIDTH = 120
"""Characters of a text that are shown."""


def render_pipe_table(
    head: Sequence[str], body: Iterable[Sequence[str]], *, numbers: str = "---:"
) -> list[str]:
    """Return the lines of a table in Markdown, all columns but the first aligned as numbers."""
    rule = ["---", *(numbers for _ in head[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *body)]


def quote_text(text: str) -> str:
    """Return text of others as a cell shows it, and nothing of it as markup."""
    shown = text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"
    return f"`{shown.replace('`', ' ').replace('|', '¦')}`"


def find_markers(name: str) -> tuple[str, str]:
    """Return the hidden markers before and after a named part."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def replace_part(page: str, name: str, part: str, *, heading: str = "") -> str:
    """Return a page with another part between its markers.

    Args:
        page: the whole text.
        name: of the part.
        part: whole lines.
        heading: goes before it where the page has no such part yet, at its end.
    """
    begin, end = find_markers(name)
    before, _, rest = page.partition(begin)
    _, marked, after = rest.partition(end)
    return f"{before}{'' if marked else heading}{begin}\n{part}{end}{after or chr(10)}"
