"""Cut a text or file into segments, and write its translations.

Small files may take minutes and much memory, so files and long texts are read in worker processes.
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
from nmt_core.server.errors import RequestError, describe_failure
from nmt_core.text.language_codes import LanguageCodes
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

CostedLine = tuple[str, bool, int]
"""A sentence as a line for a model, whether markup stands inside it, and its cost in tokens."""


class SourceText(NamedTuple):
    """A text or file as the client sent it."""

    format: str
    content: str | bytes
    """Bytes of a file, or a string."""
    languages: LanguageCodes | None = None
    """Codes of source and target, if they are known."""

    def read(self) -> Document[Any]:
        """Parse the text or file, unless it is of other languages."""
        if isinstance(self.content, bytes):
            return FORMATS.load(self.format).read(self.content, self.languages)
        if self.format == "html":
            from nmt_core.documents.html import read_html  # few requests need it

            return read_html(self.content, self.languages)
        return read_plain_text(self.content)


def cut_text(
    source: SourceText, segmenter: Segmenter, max_tokens: int, whole: Collection[str] = ()
) -> tuple[list[CostedLine], list[str], int]:
    """Cut a text of at most ``max_tokens`` into segments; ``whole`` passages are one each.

    Returns:
        the segments, the passages of several sentences that a memory may have as a whole, and the
        number of texts that stay as they are.
    """
    document = source.read()
    characters = sum(len(passage.text) for passage in document.passages)
    if characters > TOKEN_CHARACTERS * max_tokens:  # too long by any count
        raise _refuse_length(characters, "characters", max_tokens)
    plan = Plan(document.passages, segmenter, whole)
    costs = [count_cost(segmenter, line) for line in plan.lines]
    if sum(costs) > max_tokens:
        raise _refuse_length(sum(costs), "tokens", max_tokens)
    segments = [*zip(plan.lines, plan.marked, costs, strict=True)]
    return segments, plan.wholes, document.untranslated.total()


def count_cost(segmenter: Segmenter, line: str) -> int:
    """Return the cost of a line: its tokens, up to those of a segment."""
    return min(segmenter.most_tokens, max(LEAST_TOKENS, len(segmenter.tokens(line))))


def _refuse_length(size: int, unit: str, max_tokens: int) -> DocumentError:
    return DocumentError(
        f"this text has {size:,} {unit}, and {max_tokens:,} tokens may be sent at once; cut it in "
        f"parts"
    )


def write_texts(
    source: SourceText,
    segmenter: Segmenter,
    whole: Collection[str],
    translations: Sequence[Sequence[Translated]],
    review_below: float,
) -> list[Any]:
    """Return a text, cut as before, in several translations, the best first.

    Of the translations of a segment the last stands for missing ones. Parsing the text once more is
    cheaper than to keep or to send what was parsed.
    """
    document = source.read()
    plan = Plan(document.passages, segmenter, whole)
    return [
        plan.write(
            document, [best[min(rank, len(best) - 1)] for best in translations], review_below
        )
        for rank in range(max(map(len, translations), default=1))
    ]


def take_sample(source: SourceText) -> str:
    """Return a sample of a text for language detection."""
    sample = ""
    for passage in source.read().passages:
        if len(sample) >= SAMPLE_CHARACTERS:
            break
        sample += f"{passage.text[:SAMPLE_CHARACTERS]}\n"
    return sample


class Workers:
    """Runs tasks on texts: short ones here, others in worker processes, in turn by user.

    A process has limits of memory (bytes; Linux alone enforces this) and of processor time a task.
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
        one after the other. A task raises a DocumentError, as does one that exceeds its limits.
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
    """Run a task in a worker process, which ends beyond its limits of memory and processor time.

    A RuntimeError stands for other errors than a DocumentError, since they may hold user text.
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
