"""Cut a text or file into segments, and write its translations.

A document may take minutes and much memory, however small its file is. So files and long texts are
read and written in worker processes, whose memory and processor time are limited.
"""

import asyncio
import logging
import math
import os
import resource
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from anyio import BrokenWorkerProcess, CapacityLimiter, to_process

from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import Document
from nmt_core.documents.formats import FORMATS
from nmt_core.documents.html import read_html
from nmt_core.documents.plain_text import read_plain_text
from nmt_core.documents.plan import TOKEN_CHARACTERS, Plan, Segmenter
from nmt_core.server.errors import RequestError, describe_failure
from nmt_core.text.side import Side
from nmt_core.text.words import Translated

_log = logging.getLogger(__name__)

SAMPLE_CHARACTERS = 2000
"""Characters of a document that are enough to detect its language."""

LEAST_TOKENS = 4
"""The least cost of a segment, in tokens."""

SHORT_CHARACTERS = 5000
"""A text up to this length is read and written in this process; a longer one in a worker."""

NICE = 5
"""Niceness of workers: requests for sentences go first."""

ResultT = TypeVar("ResultT")


class SourceText(NamedTuple):
    """A text or file as the client sent it."""

    format: str
    content: str | bytes
    """Bytes of a file, or a string."""

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
        DocumentError: if it cannot be read, or has too many tokens.
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
        review_below: the confidence below which a unit is marked for review.
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


class Workers:
    """Runs tasks on texts: short ones here, others in worker processes, in turn by user.

    Args:
        count: processes.
        memory: bytes of a process; Linux alone enforces this.
        seconds: processor time of a task.
    """

    def __init__(self, count: int = 2, memory: int = 2**29, seconds: int = 30) -> None:
        self._memory, self._seconds = memory, seconds
        self._limiter = CapacityLimiter(count)
        self._users: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(
        self, user: str, source: SourceText, task: Callable[..., ResultT], *arguments: Any
    ) -> ResultT:
        """Run a task on a text; end its process if the caller is cancelled.

        A small file may unpack to a large one, so files are never short. Long tasks of one user run
        one after the other.

        Raises:
            DocumentError: if the task does, or takes more memory or processor time than it may.
            RequestError: if it fails otherwise.
        """
        if isinstance(source.content, str) and len(source.content) <= SHORT_CHARACTERS:
            await asyncio.sleep(0)  # others go on before each of many texts
            return task(source, *arguments)
        lock = self._users.setdefault(user, asyncio.Lock())
        limits = (self._memory, self._seconds)
        try:
            async with lock:
                return await to_process.run_sync(
                    run_limited, limits, task, (source, *arguments),
                    cancellable=True, limiter=self._limiter,
                )  # fmt: skip
        except (BrokenWorkerProcess, MemoryError):
            raise DocumentError(
                f"this document takes more than the {self._memory // 2**20} MiB of memory or the "
                f"{self._seconds} seconds of processor time that one may; cut it in parts"
            ) from None
        except RuntimeError as error:
            _log.error("a document failed", extra={"failure": str(error)})
            raise RequestError(
                500, "the text could not be translated; the server's log says why"
            ) from None


def run_limited(
    limits: tuple[int, int], task: Callable[..., ResultT], arguments: Sequence[Any]
) -> ResultT:
    """Run a task in a worker process; beyond its limits, the process ends.

    Args:
        limits: bytes of memory of the process, and seconds of processor time of the task.
        task: a function of a module.
        arguments: its arguments.

    Raises:
        DocumentError: if the task does.
        RuntimeError: if it fails otherwise, without text of the document.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # meant for the server, which ends this process
        signal.signal(number, signal.SIG_IGN)
    os.setpriority(os.PRIO_PROCESS, 0, NICE)
    memory, seconds = limits
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    used = math.ceil(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, hard))
    try:
        return task(*arguments)
    except DocumentError:
        raise
    except MemoryError:  # its memory may be in pieces, so that the next task would fail, too
        os._exit(1)
    except Exception as error:  # noqa: BLE001 - whatever it is, its message may hold text
        raise RuntimeError(describe_failure(error)) from None
