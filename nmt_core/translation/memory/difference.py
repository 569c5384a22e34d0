"""In which words two texts differ."""

from typing import Literal, NamedTuple

import regex
from rapidfuzz.distance import Levenshtein

_PIECE = regex.compile(r"\s+|[\p{L}\p{M}\p{N}_]+|.", regex.DOTALL)


class DifferentPart(NamedTuple):
    """A part of two texts."""

    kind: Literal["same", "old", "new"]
    """Whether both have it, only the old one, or only the new one."""
    text: str


def list_differences(old: str, new: str) -> list[DifferentPart]:
    """Return the parts of two texts, word by word: those without ``new`` parts are the old one."""
    before, after = _PIECE.findall(old), _PIECE.findall(new)
    parts = []
    for step in Levenshtein.opcodes(before, after):
        old_text = "".join(before[step.src_start : step.src_end])
        new_text = "".join(after[step.dest_start : step.dest_end])
        if step.tag == "equal":
            parts.append(DifferentPart("same", old_text))
            continue
        if old_text:
            parts.append(DifferentPart("old", old_text))
        if new_text:
            parts.append(DifferentPart("new", new_text))
    return parts


def format_differences(old: str, new: str) -> str:
    """Return the new text, with what the old one has ``[-so-]`` and what only it has ``{+so+}``."""
    marks = {"same": "{}", "old": "[-{}-]", "new": "{{+{}+}}"}
    return "".join(marks[kind].format(text) for kind, text in list_differences(old, new))
