"""A text or file that was sent, cut into lines, and where translations stand in the result.

All of it may be done in another process than the one that answers: see ``processes.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nmt_core.base.errors import DocumentError
from nmt_core.documents.alignment import Translated
from nmt_core.documents.formats import FORMATS
from nmt_core.documents.html import read_html
from nmt_core.documents.plain_text import read_plain_text
from nmt_core.documents.plan import TOKEN_CHARACTERS, Document, Plan, Segmenter
from nmt_core.documents.translator import SourceSide

READERS: dict[str, Callable[[str], Document[str]]] = {"text": read_plain_text, "html": read_html}
"""What reads a text, by its format."""

SAMPLE_CHARACTERS = 2000
"""Of a document, that are enough to tell its language."""

LEAST_TOKENS = 4
"""What a line counts at least, since each costs something."""


class Manuscript(NamedTuple):
    """A text or file as it was sent."""

    kind: str
    """A format of files, or of texts."""
    content: str | bytes

    def read(self) -> Document[Any]:
        """Find what of it is translated.

        Raises:
            DocumentError: if it cannot be read.
        """
        if isinstance(self.content, str):
            return READERS[self.kind](self.content)
        return FORMATS.load(self.kind).read(self.content)


class CutSettings(NamedTuple):
    """How a manuscript becomes lines for a model."""

    language: str
    """The manuscript's."""
    side: SourceSide
    most_of_line: int
    """Tokens of a line that the model reads."""
    most: int
    """Tokens of a manuscript."""


@dataclass(frozen=True)
class Sent:
    """A manuscript with the lines to translate."""

    lines: list[str]
    marked: list[bool]
    """Of each line, whether markup stands in it."""
    tokens: list[int]
    """What each line counts."""
    document: Document[Any] | None = None
    plan: Plan | None = None
    """Of the document; both are left behind where another process has read it."""

    def write(self, found: Sequence[Sequence[Translated]], ways: int = 1) -> list[Any]:
        """Return the document in several translations, the best first.

        Args:
            found: translations of each line, best first; the last stands for those that are not.
            ways: how many documents.
        """
        assert self.document is not None
        assert self.plan is not None
        return [
            self.document.write(self.plan.place([each[min(way, len(each) - 1)] for each in found]))
            for way in range(ways)
        ]


def prepare(manuscript: Manuscript, cut: CutSettings) -> Sent:
    """Find the lines of a manuscript.

    Raises:
        DocumentError: if it cannot be read, or has more tokens than it may.
    """
    document = manuscript.read()
    passages = document.passages
    characters = sum(len(passage.text) for passage in passages)
    if characters > TOKEN_CHARACTERS * cut.most:  # nobody need count
        raise too_long(f"{characters:,} characters", cut)
    plan = Plan(passages, Segmenter(cut.language, cut.side.tokens))
    tokens = count_token_costs(cut.side, plan.lines, cut.most_of_line)
    if sum(tokens) > cut.most:
        raise too_long(f"{sum(tokens):,} tokens", cut)
    return Sent(plan.lines, plan.marked, tokens, document, plan)


def count_token_costs(side: SourceSide, lines: Sequence[str], most: int) -> list[int]:
    """Return what each line counts: its tokens, as far as the model reads it."""
    return [min(most, max(LEAST_TOKENS, len(side.tokens(line)))) for line in lines]


def too_long(size: str, cut: CutSettings) -> DocumentError:
    """Return that a manuscript is too long to be translated at once."""
    return DocumentError(
        f"this text has {size}, and {cut.most:,} tokens may be sent at once; cut it in parts"
    )


def prepare_apart(manuscript: Manuscript, cut: CutSettings) -> Sent:
    """Do as ``prepare`` in another process, where the document is left behind."""
    sent = prepare(manuscript, cut)
    return Sent(sent.lines, sent.marked, sent.tokens)


def write_apart(
    manuscript: Manuscript, cut: CutSettings, found: Sequence[Sequence[Translated]], ways: int = 1
) -> list[Any]:
    """Do as ``Sent.write`` in another process, which reads the manuscript again."""
    return prepare(manuscript, cut).write(found, ways)


def take_sample(manuscript: Manuscript) -> str:
    """Return some text of a manuscript, by which its language is told.

    Raises:
        DocumentError: if it cannot be read.
    """
    sample = ""
    for passage in manuscript.read().passages:
        if len(sample) >= SAMPLE_CHARACTERS:
            break
        sample += f"{passage.text[:SAMPLE_CHARACTERS]}\n"
    return sample


class Place(NamedTuple):
    """Where something stands in a text."""

    before: str
    """What stands between it and the one before."""
    text: str
    """As it stands there."""


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
