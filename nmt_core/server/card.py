"""Short facts from a model card, for users of the page."""

import re
from pathlib import Path

CARD = "README.md"
"""The file of a bundle."""

MOST_CHARACTERS = 100_000
"""Of a card."""

ROW = re.compile(r"^\| (corpus|BLEU|chrF) \| (\S.*) \|$", re.MULTILINE)


def read_card(folder: Path) -> str:
    """Return the card of a bundle that was verified, in Markdown; nothing where it has none."""
    try:
        with (folder / CARD).open(encoding="utf-8", errors="replace") as file:
            return file.read(MOST_CHARACTERS)
    except FileNotFoundError:
        return ""


def summarize_card(card: str) -> tuple[str, str]:
    """Return the corpus and the score that a card names; empty where it names none."""
    rows = {name: value.replace("\\|", "|") for name, value in reversed(ROW.findall(card))}
    score = next((f"{name} {rows[name]}" for name in ("BLEU", "chrF") if name in rows), "")
    return rows.get("corpus", ""), score
