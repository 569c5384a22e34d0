"""Cut a text or file into segments, and write its translations; workers may run all of it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import Document
from nmt_core.documents.formats import FORMATS
from nmt_core.documents.html import read_html
from nmt_core.documents.plain_text import read_plain_text
from nmt_core.documents.plan import TOKEN_CHARACTERS, Plan, Segmenter
from nmt_core.text.side import Side
from nmt_core.text.words import Translated

SAMPLE_CHARACTERS = 2000
"""Characters of a document that are enough to detect its language."""

LEAST_TOKENS = 4
"""The least cost of a segment, in tokens."""


class SourceText(NamedTuple):
    """A text or file as the client sent it."""

    format: str
    content: str | bytes
    """A string if it is no file."""

    def read(self, languages: tuple[str, str] | None = None) -> Document[Any]:
        """Parse the text or file.

        Args:
            languages: codes of source and target, if they are known.

        Raises:
            DocumentError: if it cannot be read, or is of other languages.
        """
        if isinstance(self.content, bytes):
            return FORMATS.load(self.format).read(self.content, languages)
        if self.format == "html":
            return read_html(self.content, languages)
        return read_plain_text(self.content)


class CutSettings(NamedTuple):
    """Settings by which a text is cut into segments for a model."""

    languages: tuple[str, str]
    """Codes of source and target."""
    side: Side
    segment_tokens: int
    """Tokens of a segment that the model reads."""
    max_tokens: int
    """Tokens of a whole text."""
    whole: frozenset[str] = frozenset()
    """Passages of several sentences that are one segment each."""


class SourceSegment(NamedTuple):
    """A sentence of a text, as a line for a model."""

    line: str
    has_markup: bool
    """Whether markup stands inside the line."""
    tokens: int
    """Its cost in tokens."""


class CutText(NamedTuple):
    """A text, cut into segments."""

    segments: list[SourceSegment]
    passages: list[str]
    """Passages of several sentences that a memory may have as a whole."""
    untranslated: int
    """Texts of the document that stay as they are."""


def cut_text(source: SourceText, settings: CutSettings) -> CutText:
    """Cut a text into segments.

    Raises:
        DocumentError: if it cannot be read, or has more tokens than it may.
    """
    document, plan = _plan(source, settings)
    costs = count_costs(settings.side, plan.lines, settings.segment_tokens)
    _check_length(sum(costs), "tokens", settings)
    segments = [*map(SourceSegment, plan.lines, plan.marked, costs)]
    return CutText(segments, plan.wholes, document.untranslated.total())


def write_texts(
    source: SourceText,
    settings: CutSettings,
    translations: Sequence[Sequence[Translated]],
    review_below: float,
    count: int,
) -> list[Any]:
    """Return a text in several translations, the best first.

    Parsing it once more is cheaper than to keep or to send what was parsed.

    Args:
        source: the text.
        settings: those by which it was cut.
        translations: of each segment, best first; the last stands for missing ones.
        review_below: the confidence below which a unit is marked for a person to look at.
        count: number of whole texts.
    """
    document, plan = _plan(source, settings)
    return [
        plan.write(
            document,
            [best_first[min(rank, len(best_first) - 1)] for best_first in translations],
            review_below,
        )
        for rank in range(count)
    ]


def _plan(source: SourceText, settings: CutSettings) -> tuple[Document[Any], Plan]:
    document = source.read(settings.languages)
    characters = sum(len(passage.text) for passage in document.passages)
    if characters > TOKEN_CHARACTERS * settings.max_tokens:  # too long by any count
        _check_length(characters, "characters", settings)
    most = min(settings.segment_tokens, Segmenter.most_tokens)
    segmenter = Segmenter(settings.languages[0], settings.side.tokens, most)
    return document, Plan(document.passages, segmenter, settings.whole)


def _check_length(size: int, unit: str, settings: CutSettings) -> None:
    if size > settings.max_tokens:
        raise DocumentError(
            f"this text has {size:,} {unit}, and {settings.max_tokens:,} tokens may be sent at "
            f"once; cut it in parts"
        )


def count_costs(side: Side, lines: Sequence[str], most: int) -> list[int]:
    """Return the cost of each line: its tokens, up to those that the model reads."""
    return [min(most, max(LEAST_TOKENS, len(side.tokens(line)))) for line in lines]


def take_sample(source: SourceText) -> str:
    """Return a sample of a text for language detection.

    Raises:
        DocumentError: if it cannot be read.
    """
    sample = ""
    for passage in source.read().passages:
        if len(sample) >= SAMPLE_CHARACTERS:
            break
        sample += f"{passage.text[:SAMPLE_CHARACTERS]}\n"
    return sample
