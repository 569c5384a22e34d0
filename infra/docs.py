"""Gather the documentation for the site that ``make docs`` builds, and the course as a notebook.

Usage: python -m infra.docs
Reads:  all tracked Markdown files and pictures
Writes: docs/course/course.ipynb, site/source/

Files keep their places, so that their links work. A link to another file of the repository leads to
its page at the address of the repository, ``project.urls`` of pyproject.toml.
"""

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

COURSE = Path("docs/course")

SOURCE = Path("site/source")

SHOWN = (".md", ".png")
"""Endings of the files that the site holds."""

LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^()#\s]+)(#[^()#\s]*)?\)")
"""A link to a file: its path and its anchor."""

BLOCK = re.compile(r"^```(\w*)\n((?:(?!```).*\n)*)```\n", re.MULTILINE)
"""The kind and the text of a block between fences."""


def list_pages(course: Path) -> list[Path]:
    """Return the pages of the course in order, its introduction first."""
    return [course / "README.md", *sorted(course.glob("[0-9]*.md"))]


def split_page(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a page with their kinds.

    These are ``markdown``, ``python``, ``bash``, and ``text`` for the output of the part before.
    """
    parts = BLOCK.split(text)
    for number in range(0, len(parts), BLOCK.groups + 1):
        if prose := parts[number].strip():
            yield "markdown", prose
        if number + 1 < len(parts):
            yield parts[number + 1] or "bash", parts[number + 2].strip()


def build_notebook(pages: Iterable[Path]) -> dict[str, Any]:
    """Return pages as a Jupyter notebook without outputs."""
    cells: list[dict[str, Any]] = []
    for kind, text in (part for page in pages for part in split_page(page.read_text("utf-8"))):
        if kind == "text":
            continue
        source = f"%%bash\n{text}" if kind == "bash" else text
        cell: dict[str, Any] = {"cell_type": "markdown", "id": str(len(cells)), "metadata": {}}
        if kind != "markdown":
            cell |= {"cell_type": "code", "execution_count": None, "outputs": []}
        cells.append({**cell, "source": source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def rewrite_links(path: Path, text: str, repository: str) -> str:
    """Return Markdown whose links to files outside the site lead to the repository."""

    def rewrite(match: re.Match[str]) -> str:
        target = (path.parent / match[1]).resolve()
        if target.suffix in SHOWN:
            return match[0]
        return f"]({repository}/blob/main/{target.relative_to(Path.cwd())}{match[2] or ''})"

    return LINK.sub(rewrite, text)


def main() -> None:
    """Write the notebook and the sources of the site."""
    notebook = json.dumps(build_notebook(list_pages(COURSE)), ensure_ascii=False, indent=1)
    (COURSE / "course.ipynb").write_text(f"{notebook}\n", encoding="utf-8")
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository = project["urls"]["Repository"]
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True)
    shutil.rmtree(SOURCE, ignore_errors=True)
    for path in map(Path, listed.stdout.split("\0")):
        if path.suffix not in SHOWN:
            continue
        copy = SOURCE / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            text = path.read_text(encoding="utf-8")
            copy.write_text(rewrite_links(path, text, repository), encoding="utf-8")
        else:
            shutil.copy(path, copy)


if __name__ == "__main__":
    main()
