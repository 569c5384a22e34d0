"""Cut a sent text or file into lines, and find sentences and translations in the texts.

All of this may run in a worker process: see ``processes.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from nmt_core.base.errors import DocumentError
from nmt_core.documents.formats import FORMATS
from nmt_core.documents.html import read_html
from nmt_core.documents.plain_text import read_plain_text
from nmt_core.documents.plan import TOKEN_CHARACTERS, Document, Plan, Segmenter
from nmt_core.server.errors import RequestError
from nmt_core.text.alignment import Translated
from nmt_core.text.side import Side

SAMPLE_CHARACTERS = 2000
"""Characters of a document that are enough to detect its language."""

LEAST_TOKENS = 4
"""The least cost of a line, in tokens."""


class Manuscript(NamedTuple):
    """A text or file as it was sent."""

    kind: str
    """A format of files, or of texts."""
    content: str | bytes

    def read(self, codes: tuple[str, str] | None = None) -> Document[Any]:
        """Parse the manuscript.

        Args:
            codes: of source and target, if they are known.

        Raises:
            DocumentError: if it cannot be read, or is of other languages.
        """
        if isinstance(self.content, str):
            is_html = self.kind == "html"
            return read_html(self.content, codes) if is_html else read_plain_text(self.content)
        return FORMATS.load(self.kind).read(self.content, codes)


class CutSettings(NamedTuple):
    """Settings by which a manuscript is cut into lines for a model."""

    codes: tuple[str, str]
    """Of the language of the manuscript, and of the one it is translated into."""
    side: Side
    most_of_line: int
    """Tokens of a line that the model reads."""
    most: int
    """Tokens of a manuscript."""
    review_below: float
    """The confidence below which a unit is marked for a person to look at."""
    whole: frozenset[str] = frozenset()
    """Passages that are translated as one sentence, each as a line."""


@dataclass(frozen=True)
class Sent:
    """A manuscript with the lines to translate."""

    lines: list[str]
    marked: list[bool]
    """Of each line, whether markup stands in it."""
    tokens: list[int]
    """What each line counts."""
    review_below: float
    document: Document[Any] | None = None
    plan: Plan | None = None
    """Of the document; both are left behind where another process has read it."""
    left: int = 0
    """Texts of the document that stay as they are."""
    wholes: Sequence[str] = ()
    """Passages of several sentences that a memory may have as a whole."""

    def list_plain(self) -> list[str]:
        """Return the lines without markup inside."""
        return [line for line, mark in zip(self.lines, self.marked, strict=True) if not mark]

    def leave_out(self, done: Sequence[bool]) -> "Sent":
        """Return the lines that are not done."""
        left = [number for number, each in enumerate(done) if not each]
        return Sent(
            [self.lines[number] for number in left],
            [self.marked[number] for number in left],
            [self.tokens[number] for number in left],
            self.review_below,
        )

    def write(self, translations: Sequence[Sequence[Translated]], ways: int = 1) -> list[Any]:
        """Return the document in several translations, the best first.

        Args:
            translations: of each line, best first; the last stands for missing ones.
            ways: how many documents.
        """
        assert self.document is not None
        assert self.plan is not None
        return [
            self.plan.write(
                self.document,
                [each[min(way, len(each) - 1)] for each in translations],
                self.review_below,
            )
            for way in range(ways)
        ]


def prepare(manuscript: Manuscript, cut: CutSettings) -> Sent:
    """Cut a manuscript into lines.

    Raises:
        DocumentError: if it cannot be read, or has more tokens than it may.
    """
    document = manuscript.read(cut.codes)
    passages = document.passages
    characters = sum(len(passage.text) for passage in passages)
    if characters > TOKEN_CHARACTERS * cut.most:  # too long by any count
        raise too_long(f"{characters:,} characters", cut)
    most = min(cut.most_of_line, Segmenter.most_tokens)
    plan = Plan(passages, Segmenter(cut.codes[0], cut.side.tokens, most), cut.whole)
    tokens = count_token_costs(cut.side, plan.lines, cut.most_of_line)
    if sum(tokens) > cut.most:
        raise too_long(f"{sum(tokens):,} tokens", cut)
    left = document.untranslated.total()
    return Sent(
        plan.lines, plan.marked, tokens, cut.review_below, document, plan, left, plan.wholes
    )


def count_token_costs(side: Side, lines: Sequence[str], most: int) -> list[int]:
    """Return the cost of each line: its tokens, up to those that the model reads."""
    return [min(most, max(LEAST_TOKENS, len(side.tokens(line)))) for line in lines]


def too_long(size: str, cut: CutSettings) -> DocumentError:
    """Return the error of a manuscript that is too long to be translated at once."""
    return DocumentError(
        f"this text has {size}, and {cut.most:,} tokens may be sent at once; cut it in parts"
    )


def prepare_apart(manuscript: Manuscript, cut: CutSettings) -> Sent:
    """Run ``prepare`` in a worker process, without returning the document."""
    return replace(prepare(manuscript, cut), document=None, plan=None)


def write_apart(
    manuscript: Manuscript,
    cut: CutSettings,
    translations: Sequence[Sequence[Translated]],
    ways: int = 1,
) -> list[Any]:
    """Run ``Sent.write`` in a worker process, which reads the manuscript again."""
    return prepare(manuscript, cut).write(translations, ways)


def take_sample(manuscript: Manuscript) -> str:
    """Return a sample of a manuscript for language detection.

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
    """The location of a piece in a text."""

    before: str
    """The text between it and the piece before."""
    text: str
    """As it stands there."""


def find_places(text: str, pieces: Sequence[str]) -> tuple[list[Place], str]:
    """Locate pieces in a text, in order; return their places and the text after the last.

    White space may differ from that of the pieces: a line may have been wrapped. A piece that is
    not found has an empty place.
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
    """Return the end of characters that begin at ``start``, ignoring white space between them."""
    at = start
    for character in wanted:
        while at < len(text) and text[at] != character and text[at].isspace():
            at += 1
        if text[at : at + 1] != character:
            return None
        at += 1
    return at


def check_text(texts: list[str]) -> None:
    """Make sure that texts hold whole characters.

    Raises:
        RequestError: if one holds half a character, as JSON can write it.
    """
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise RequestError(
                400, "a text holds half a character (a lone surrogate); send whole ones"
            ) from None
