"""Gather the documentation for the site that ``make docs`` builds.

Usage: python -m infra.docs
Reads:  all tracked Markdown files and pictures
Writes: site/source/

Files keep their places, so that their links work. A link to another file of the repository leads to
its page at the address of the repository, ``project.urls`` of pyproject.toml.
"""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

SOURCE = Path("site/source")

SHOWN = (".md", ".png")
"""Endings of the files that the site holds."""

LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
"""A link to a file: its path and its anchor."""


def rewrite_links(path: Path, text: str, repository: str) -> str:
    """Return Markdown whose links to files outside the site lead to the repository."""

    def rewrite(match: re.Match[str]) -> str:
        target = (path.parent / match[1]).resolve()
        if target.suffix in SHOWN:
            return match[0]
        return f"]({repository}/blob/main/{target.relative_to(Path.cwd())}{match[2] or ''})"

    return LINK.sub(rewrite, text)


def main() -> None:
    """Write the sources of the site."""
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
