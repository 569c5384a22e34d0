"""Split a text or file into segments, and write its translations.

Worker processes parse files and long texts, because even small files can take minutes.
"""

import asyncio
import logging
import math
import os
import resource
import signal
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from anyio import BrokenWorkerProcess, CapacityLimiter, to_process

from nmt_core.base.errors import DocumentError
from nmt_core.documents.document import Document
from nmt_core.documents.formats import FORMATS
from nmt_core.documents.plain_text import read_plain_text
from nmt_core.documents.plan import TOKEN_CHARACTERS, Plan, Segmenter
from nmt_core.documents.segments import Passage
from nmt_core.server.errors import RequestError, describe_failure
from nmt_core.text.language_codes import LanguageCodes
from nmt_core.text.translation import Translation
from nmt_core.translation.translation import is_passage

_log = logging.getLogger(__name__)

MIN_COST = 4
"""Minimum cost of a segment, in tokens."""

SHORT_CHARACTERS = 5000
"""Maximum characters of a text that is parsed in this process instead of a worker process."""

NICE = 5
"""Niceness of worker processes, which gives sentences precedence over files."""

ResultT = TypeVar("ResultT")

CostedLine = tuple[str, bool, int]
"""A sentence as a line for a model, whether it contains markup, and its cost in tokens."""


class SourceText(NamedTuple):
    """A text or file as the client sent it."""

    format: str
    content: str | bytes
    """The bytes of a file, or a text."""
    languages: LanguageCodes | None = None
    """Codes of source and target language, if known."""

    def read(self) -> Document[Any]:
        """Return the parsed document."""
        if isinstance(self.content, bytes):
            return FORMATS.load(self.format).read(self.content, self.languages)
        if self.format == "html":
            from nmt_core.documents.html import read_html  # rarely needed

            return read_html(self.content, self.languages)
        return read_plain_text(self.content)

    def read_passages(self) -> tuple[Document[Any] | None, Sequence[Passage]]:
        """Return the document and its passages; a single line of text is a passage."""
        if self.format == "text" and isinstance(self.content, str) and is_passage(self.content):
            return None, [Passage((self.content,))]
        return (document := self.read()), document.passages


def segment_text(
    source: SourceText, segmenter: Segmenter, max_tokens: int, whole: Collection[str] = ()
) -> tuple[list[CostedLine], list[str], int]:
    """Split a text of at most ``max_tokens`` into segments; ``whole`` passages are not split.

    Returns:
        The segments, the passages of several sentences for which a memory may have a translation,
        and the number of texts that are not translated.
    """
    document, passages = source.read_passages()
    characters = sum(len(passage.text) for passage in passages)
    if characters > TOKEN_CHARACTERS * max_tokens:  # saves splitting a very long text
        raise _refuse_length(characters, "characters", max_tokens)
    plan = Plan(passages, segmenter, whole)
    costs = [count_cost(segmenter, line) for line in plan.lines]
    if sum(costs) > max_tokens:
        raise _refuse_length(sum(costs), "tokens", max_tokens)
    segments = [*zip(plan.lines, plan.marked, costs, strict=True)]
    return segments, plan.wholes, document.untranslated.total() if document else 0


def count_cost(segmenter: Segmenter, line: str) -> int:
    """Return the cost of a line: its number of tokens within the limits of a segment."""
    return min(segmenter.max_tokens, max(MIN_COST, len(segmenter.tokens(line))))


def _refuse_length(size: int, unit: str, max_tokens: int) -> DocumentError:
    return DocumentError(
        f"this text has {size:,} {unit}, but the limit is {max_tokens:,} tokens; split the text"
    )


def write_texts(
    source: SourceText,
    segmenter: Segmenter,
    whole: Collection[str],
    translations: Sequence[Sequence[Translation]],
    review_below: float,
) -> list[Any]:
    """Return the translations of a whole text, best first.

    If a segment has fewer translations, its last translation is repeated. The text is parsed again,
    because that is cheaper than storing or sending the parsed document.
    """
    document, passages = source.read_passages()
    plan = Plan(passages, segmenter, whole)
    ranked = [
        [best[min(rank, len(best) - 1)] for best in translations]
        for rank in range(max(map(len, translations), default=1))
    ]
    if document is None:
        return ["".join(map(str, plan.place(each)[0])) for each in ranked]
    return [plan.write(document, each, review_below) for each in ranked]


def take_sample(source: SourceText) -> str:
    """Return a sample of a text for language detection."""
    return source.read().take_sample()


class Workers:
    """Runs tasks on texts: short texts in this process, others in worker processes.

    A worker process has a memory limit in bytes (enforced on Linux only), and a limit of CPU time
    per task in seconds.
    """

    def __init__(self, count: int = 2, memory: int = 2**29, seconds: int = 30) -> None:
        self._memory, self._seconds = memory, seconds
        self._limiter = CapacityLimiter(count)
        self._users: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(
        self, user: str, source: SourceText, task: Callable[..., ResultT], *arguments: Any
    ) -> ResultT:
        """Return the result of a task on a text; cancellation ends its process.

        Files always run in a worker process, because a small file may unpack to a large one. Long
        tasks of a user run one after another. A task that exceeds its limits raises DocumentError.
        """
        if isinstance(source.content, str) and len(source.content) <= SHORT_CHARACTERS:
            await asyncio.sleep(0)  # lets other requests run between many texts
            return task(source, *arguments)
        lock = self._users.setdefault(user, asyncio.Lock())
        try:
            async with lock:
                return await to_process.run_sync(
                    run_limited, (self._memory, self._seconds), task, (source, *arguments),
                    cancellable=True, limiter=self._limiter,
                )  # fmt: skip
        except (BrokenWorkerProcess, MemoryError):
            raise DocumentError(
                f"this document takes more than {self._memory // 2**20} MiB of memory or "
                f"{self._seconds} seconds of CPU time; split the document"
            ) from None
        except RuntimeError as error:
            _log.error("a document failed", extra={"failure": str(error)})
            raise RequestError(
                500, "the text could not be translated; see the server's log"
            ) from None


def run_limited(
    limits: tuple[int, int], task: Callable[..., ResultT], arguments: Sequence[Any]
) -> ResultT:
    """Return the result of a task, with limits of memory (bytes) and CPU time (seconds).

    Runs in a worker process, which ends if a limit is exceeded. Errors other than a DocumentError
    become a RuntimeError without their message, which may contain user text.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # the server handles them and ends this process
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
    except MemoryError:  # memory may be fragmented, so the next task could fail, too
        os._exit(1)
    except Exception as error:  # noqa: BLE001 - the message of any error may contain user text
        raise RuntimeError(describe_failure(error)) from None
