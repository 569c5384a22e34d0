"""A text or file that was sent, cut into lines, and where translations stand in the result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nmt_core.documents.html import read_html
from nmt_core.documents.plain_text import read_plain_text
from nmt_core.documents.plan import Document, Plan, Segmenter
from nmt_core.server.models import ServedModel
from nmt_core.translation.translation import Translation

READERS: dict[str, Callable[[str], Document[str]]] = {"text": read_plain_text, "html": read_html}
"""What reads a text, by its format."""

SAMPLE_CHARACTERS = 2000
"""Of a document, that are enough to tell its language."""


class Place(NamedTuple):
    """Where something stands in a text."""

    before: str
    """What stands between it and the one before."""
    text: str
    """As it stands there."""


@dataclass(frozen=True)
class Sent:
    """A document with the lines to translate."""

    document: Document[Any]
    plan: Plan

    @property
    def lines(self) -> list[str]:
        """The lines to translate."""
        return self.plan.lines

    def write(self, found: Sequence[Sequence[Translation]], rank: int = 0) -> Any:
        """Return the document with the translations of a rank, the last one where there are fewer.

        Args:
            found: translations of each line, best first.
            rank: from 0.
        """
        chosen = [translations[min(rank, len(translations) - 1)] for translations in found]
        return self.document.write(self.plan.place(chosen))


def take_sample(document: Document[Any]) -> str:
    """Return some text of a document, by which its language is told."""
    sample = ""
    for passage in document.passages:
        if len(sample) >= SAMPLE_CHARACTERS:
            break
        sample += f"{passage.text[:SAMPLE_CHARACTERS]}\n"
    return sample


def plan_document(model: ServedModel, document: Document[Any]) -> Sent:
    """Find the sentences of a document."""
    tokens = model.translator.source.tokens
    plan = Plan(document.passages, Segmenter(model.pair.source, tokens))
    _ = plan.lines, plan.marked  # found here, where it may take its time
    return Sent(document, plan)


def find_places(text: str, pieces: Sequence[str]) -> tuple[list[Place], str]:
    """Return where pieces stand in a text, in order, and what stands after the last.

    White space may be another than in the pieces: a line may have been wrapped. A piece that is not
    found has an empty place.
    """
    places, at = [], 0
    for piece in pieces:
        start, end = _find(text, piece, at)
        places.append(Place(text[at:start], text[start:end]))
        at = end
    return places, text[at:]


def _find(text: str, piece: str, at: int) -> tuple[int, int]:
    wanted = "".join(piece.split())
    start = at
    while wanted and (start := text.find(wanted[0], start)) >= 0:
        end = _match(text, wanted, start)
        if end is not None:
            return start, end
        start += 1
    return at, at


def _match(text: str, wanted: str, start: int) -> int | None:
    """Return where characters end that begin at a place, white space between them or not."""
    at = start
    for character in wanted:
        while at < len(text) and text[at] != character and text[at].isspace():
            at += 1
        if text[at : at + 1] != character:
            return None
        at += 1
    return at
