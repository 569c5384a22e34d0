"""Batches of tokens for the engine, from the requests of many users in turn.

A batch takes a portion of each waiting request, user by user, so that a short sentence never waits
for a long text. It begins as soon as a worker is free, but if it is smaller than the last it waits
some milliseconds while others are at work, for their users' next requests are on their way.
"""

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

from nmt_core.literals.glossary import Glossary
from nmt_core.server.errors import RequestError, describe_failure, too_many
from nmt_core.server.metrics import Metrics
from nmt_core.server.models import ServedModel
from nmt_core.server.settings import ServerConfig
from nmt_core.translation.translation import Translation

_log = logging.getLogger(__name__)

FIRST_SPEED = 2000.0
"""Tokens a second that are expected before any were translated."""


class SearchRequest(NamedTuple):
    """Options of a search; requests with the same options may share a batch."""

    model: ServedModel
    n_best: int = 1
    probabilities: bool = False
    links: bool = False
    tag: str | None = None
    glossary: Glossary | None = None

    def run(self, lines: Sequence[str]) -> list[list[Translation]]:
        """Translate, best first."""
        translator = self.model.translator
        if self.tag:
            translator = translator.choose_tag(self.tag)
        if self.glossary:
            translator = translator.add_glossary(self.glossary)
        return translator.search(
            lines,
            beam_size=max(self.n_best, translator.config.beam.beam_size),
            n_best=self.n_best,
            probabilities=self.probabilities,
            links=self.links,
        )

    @property
    def batch_key(self) -> tuple[object, ...]:
        """The key of requests that may share a batch."""
        return id(self.model), *self[1:-1], id(self.glossary)


@dataclass(eq=False)
class _Job:
    """A request that waits or is partly under way."""

    user: str
    search: SearchRequest
    lines: Sequence[str]
    tokens: Sequence[int]
    answer: "asyncio.Future[list[list[Translation]]]"
    translations: dict[int, list[Translation]] = field(default_factory=dict)
    begun: int = 0
    """Lines that are translated, or in a batch."""

    @property
    def waiting_tokens(self) -> int:
        """Tokens of the lines that wait."""
        return sum(self.tokens[self.begun :])

    def take(self, room: int, *, force: bool) -> range:
        """Return the numbers of the next lines that fit, and at least one with ``force``."""
        first = self.begun
        while self.begun < len(self.lines):
            room -= self.tokens[self.begun]
            if room < 0 and not (force and self.begun == first):
                break
            self.begun += 1
        return range(first, self.begun)

    def add(self, portion: range, translations: Iterator[list[Translation]]) -> None:
        """Add the next translations to a portion; the last portion completes the answer."""
        self.translations |= zip(portion, translations, strict=False)
        if len(self.translations) == len(self.lines) and not self.answer.done():
            self.answer.set_result([self.translations[line] for line in range(len(self.lines))])


_Portion = tuple[_Job, range]
"""Some lines of a request."""


class Scheduler:
    """Batches the requests of many users, ``workers`` of which are translated at a time."""

    def __init__(self, config: ServerConfig, metrics: Metrics, workers: int = 1) -> None:
        self.worker_count = workers
        self._config = config
        self._metrics = metrics
        self._waiting: OrderedDict[str, deque[_Job]] = OrderedDict()
        self.tokens = 0
        """Source tokens that wait."""
        self._arrived: asyncio.Event
        self._threads: ThreadPoolExecutor
        self._workers: list[asyncio.Task[None]] = []
        self._speed = FIRST_SPEED
        self._since = 0.0  # when the first of those that wait has come
        self._running = 0
        self._last_tokens, self._last_jobs = 0, 0
        metrics.queue_tokens.set_function(lambda: self.tokens)
        metrics.queue.set_function(self.count_waiting)

    def start(self) -> None:
        """Start the workers in the running event loop."""
        self._arrived = asyncio.Event()
        self._threads = ThreadPoolExecutor(self.worker_count, thread_name_prefix="translate")
        self._workers = [asyncio.create_task(self._work()) for _ in range(self.worker_count)]

    async def stop(self) -> None:
        """Stop taking batches; running ones finish."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def count_waiting(self) -> int:
        """Return how many requests have lines that wait."""
        return sum(map(len, self._waiting.values()))

    async def search(
        self, user: str, search: SearchRequest, lines: Sequence[str], tokens: Sequence[int]
    ) -> list[list[Translation]]:
        """Translate lines, none empty, with those of others; cancelling the caller removes them.

        Users take turns; ``tokens`` are the cost of each line. A RequestError says that too much
        waits already, or that the engine has failed.
        """
        if not lines:
            return []
        self._admit(user, sum(tokens))
        job = _Job(user, search, lines, tokens, asyncio.get_running_loop().create_future())
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting.setdefault(user, deque()).append(job)
        self.tokens += job.waiting_tokens
        self._arrived.set()
        try:
            return await job.answer
        finally:
            self._remove(job)

    def _admit(self, user: str, tokens: int) -> None:
        """Refuse a request that would wait too long.

        A request that is alone is always admitted. So is one whose user has less than an equal
        share of the queue waiting, for users take turns.
        """
        if not self.tokens or self.tokens + tokens <= self._config.queue_tokens:
            return
        own = sum(job.waiting_tokens for job in self._waiting.get(user, ()))
        users = len(self._waiting.keys() | {user})
        if own + tokens > self._config.queue_tokens / users:
            raise too_many(
                "the server has more to translate than it can", self.tokens / self._speed
            )

    def _remove(self, job: _Job) -> None:
        """Remove the waiting lines of a job."""
        if job.begun == len(job.lines):
            return
        self.tokens -= job.waiting_tokens
        job.begun = len(job.lines)
        jobs = self._waiting.get(job.user, deque())
        if job in jobs:
            jobs.remove(job)
        if not jobs:
            self._waiting.pop(job.user, None)

    async def _work(self) -> None:
        while True:
            await self._arrived.wait()
            await self._gather()
            if batch := self._take():
                try:
                    await self._translate(batch)
                except Exception as error:  # noqa: BLE001 - whatever it is, the worker goes on
                    for job, _ in batch:
                        self._fail(job, error)

    async def _gather(self) -> None:
        """Wait for more requests while others are active and the batch is smaller than the last."""
        alone = self._last_jobs <= 1
        if alone and not self._running:
            return
        enough = min(self._last_tokens, self._config.batch_tokens)
        end = self._since + self._config.wait_seconds
        while self.tokens < enough and time.monotonic() < end:  # noqa: ASYNC110 - a count
            await asyncio.sleep(0.001)

    def _take(self) -> list[_Portion]:
        """Return a portion of each request, in turn, all with the options of the first.

        Users without a portion come first the next time.
        """
        batch: list[_Portion] = []
        key, room, progress = None, self._config.batch_tokens, True
        while progress and room > 0:
            progress = False
            for user in list(self._waiting):
                jobs = self._waiting[user]
                job = next((job for job in jobs if key in (None, job.search.batch_key)), None)
                if job is None:
                    continue
                key = job.search.batch_key
                portion = job.take(min(room, self._config.portion_tokens), force=not batch)
                if not portion:
                    room = 0
                    break
                progress = True
                batch.append((job, portion))
                tokens = sum(job.tokens[line] for line in portion)
                room -= tokens
                self.tokens -= tokens
                self._move_back(user, jobs, job)
        if not self._waiting:
            self._arrived.clear()
        return batch

    def _move_back(self, user: str, jobs: deque[_Job], job: _Job) -> None:
        """Move a request behind the user's others, and the user behind other users."""
        jobs.remove(job)
        if job.begun < len(job.lines):
            jobs.append(job)
        if jobs:
            self._waiting.move_to_end(user)
        else:
            del self._waiting[user]

    async def _translate(self, batch: list[_Portion]) -> None:
        """Translate a batch; if it fails, each portion alone, so that only the culprit fails."""
        search = batch[0][0].search
        lines = [job.lines[line] for job, portion in batch for line in portion]
        tokens = sum(job.tokens[line] for job, portion in batch for line in portion)
        began = time.monotonic()
        self._running += 1
        try:
            loop = asyncio.get_running_loop()
            translations = await loop.run_in_executor(self._threads, search.run, lines)
            assert len(translations) == len(lines)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            translations = []
            if len(batch) == 1:
                self._fail(batch[0][0], error)
                return
        finally:
            self._running -= 1
            self._last_tokens, self._last_jobs = tokens, len({job for job, _ in batch})
        if not translations:
            for each in batch:
                await self._translate([each])
            return
        seconds = time.monotonic() - began
        self._speed += 0.1 * (tokens / max(seconds, 1e-3) - self._speed)
        rest = iter(translations)
        for job, portion in batch:
            job.add(portion, rest)
        self._metrics.count_batch(search.model, translations, tokens)

    def _fail(self, job: _Job, error: Exception) -> None:
        self._metrics.failures.inc()
        _log.error("a request failed", extra={"failure": describe_failure(error)})
        if not job.answer.done():
            failed = "the text could not be translated; the log of the server says why"
            job.answer.set_exception(RequestError(500, failed))
