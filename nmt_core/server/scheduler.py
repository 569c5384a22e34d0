"""The scheduler, which combines the requests of many users into batches.

A batch takes a portion of each queued request, user by user, so that a short sentence never waits
for a long text. A batch starts as soon as a worker is free. If it is smaller than the last batch
and other requests are active, it waits some milliseconds for further requests.
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
from nmt_core.server.errors import RequestError, describe_failure, slow_down
from nmt_core.server.metrics import Metrics
from nmt_core.server.models import ServedModel
from nmt_core.server.settings import ServerConfig
from nmt_core.text.translation import Translation
from nmt_core.translation.translator import Translator

_log = logging.getLogger(__name__)

INITIAL_SPEED = 2000.0
"""Expected tokens per second before the first measurement."""


class SearchRequest(NamedTuple):
    """Options of a search; requests with equal options can share a batch."""

    model: ServedModel
    n_best: int = 1
    probabilities: bool = False
    links: bool = False
    tag: str | None = None
    glossary: Glossary | None = None

    @property
    def translator(self) -> Translator:
        """The translator with the tag and the glossary; raises a ConfigError if it lacks one."""
        translator = self.model.translator.choose_tag(self.tag)
        return translator.add_glossary(self.glossary) if self.glossary else translator

    def run(self, lines: Sequence[str]) -> list[list[Translation]]:
        """Return the translations of each line, best first."""
        translator = self.translator
        return translator.search(
            lines,
            beam_size=max(self.n_best, translator.config.beam.beam_size),
            n_best=self.n_best,
            probabilities=self.probabilities,
            links=self.links,
        )

    @property
    def batch_key(self) -> tuple[object, ...]:
        """The key that requests of a batch must share."""
        return id(self.model), *self[1:-1], id(self.glossary)


@dataclass(eq=False)
class _Job:
    """A request in the queue, or partly in progress."""

    user: str
    search: SearchRequest
    lines: Sequence[str]
    tokens: Sequence[int]
    answer: "asyncio.Future[list[list[Translation]]]"
    translations: dict[int, list[Translation]] = field(default_factory=dict)
    started: int = 0
    """Number of lines that are translated or in a batch."""

    @property
    def waiting_tokens(self) -> int:
        """Tokens of the lines that are not in a batch yet."""
        return sum(self.tokens[self.started :])

    def take_lines(self, max_tokens: int, *, force: bool) -> range:
        """Return the numbers of the next lines within ``max_tokens``; at least 1 if ``force``."""
        first = self.started
        while self.started < len(self.lines):
            max_tokens -= self.tokens[self.started]
            if max_tokens < 0 and not (force and self.started == first):
                break
            self.started += 1
        return range(first, self.started)

    def add(self, portion: range, translations: Iterator[list[Translation]]) -> None:
        """Store the translations of a portion; the last portion completes the future."""
        self.translations |= zip(portion, translations, strict=False)
        if len(self.translations) == len(self.lines) and not self.answer.done():
            self.answer.set_result([self.translations[line] for line in range(len(self.lines))])


_Portion = tuple[_Job, range]
"""Some lines of a request."""


class Scheduler:
    """Translates the requests of many users in shared batches, ``workers`` batches at a time."""

    def __init__(self, config: ServerConfig, metrics: Metrics, workers: int = 1) -> None:
        self.worker_count = workers
        self._config = config
        self._metrics = metrics
        self._waiting: OrderedDict[str, deque[_Job]] = OrderedDict()
        self.tokens = 0
        """Source tokens in the queue."""
        self._arrived: asyncio.Event
        self._threads: ThreadPoolExecutor
        self._workers: list[asyncio.Task[None]] = []
        self._speed = INITIAL_SPEED
        self._since = 0.0  # arrival of the first request in the queue
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
        """Stop the workers; running batches finish."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def count_waiting(self) -> int:
        """Return the number of requests in the queue."""
        return sum(map(len, self._waiting.values()))

    async def search(
        self, user: str, search: SearchRequest, lines: Sequence[str], tokens: Sequence[int]
    ) -> list[list[Translation]]:
        """Return the translations of nonempty lines; cancellation removes them from the queue.

        ``tokens`` has the cost of each line.

        Raises:
            RequestError: if the queue is full, or the engine fails.
        """
        if not lines:
            return []
        self._check_queue(user, sum(tokens))
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

    def _check_queue(self, user: str, tokens: int) -> None:
        """Raise a RequestError if the queue is full.

        A request is always accepted if the queue is empty, or if its user has less than an equal
        share of the queue, because users take turns.
        """
        if not self.tokens or self.tokens + tokens <= self._config.queue_tokens:
            return
        own = sum(job.waiting_tokens for job in self._waiting.get(user, ()))
        users = len(self._waiting.keys() | {user})
        if own + tokens > self._config.queue_tokens / users:
            raise slow_down("the queue of the server is full", self.tokens / self._speed)

    def _remove(self, job: _Job) -> None:
        """Remove the remaining lines of a job from the queue."""
        if job.started == len(job.lines):
            return
        self.tokens -= job.waiting_tokens
        job.started = len(job.lines)
        jobs = self._waiting.get(job.user, deque())
        if job in jobs:
            jobs.remove(job)
        if not jobs:
            self._waiting.pop(job.user, None)

    async def _work(self) -> None:
        while True:
            await self._arrived.wait()
            await self._wait_for_requests()
            if batch := self._take_batch():
                try:
                    await self._translate(batch)
                except Exception as error:  # noqa: BLE001 - the worker must survive any error
                    for job, _ in batch:
                        self._fail(job, error)

    async def _wait_for_requests(self) -> None:
        """Wait briefly for more requests if the queue is smaller than the last batch."""
        is_single = self._last_jobs <= 1
        if is_single and not self._running:
            return
        expected_tokens = min(self._last_tokens, self._config.batch_tokens)
        end = self._since + self._config.wait_seconds
        while self.tokens < expected_tokens and time.monotonic() < end:  # noqa: ASYNC110 - a count
            await asyncio.sleep(0.001)

    def _take_batch(self) -> list[_Portion]:
        """Return a batch: portions of the users' requests, in turn, with equal options.

        Users without a portion come first in the next batch.
        """
        batch: list[_Portion] = []
        key, free, progress = None, self._config.batch_tokens, True
        while progress and free > 0:
            progress = False
            for user in list(self._waiting):
                jobs = self._waiting[user]
                job = next((job for job in jobs if key in (None, job.search.batch_key)), None)
                if job is None:
                    continue
                key = job.search.batch_key
                portion = job.take_lines(min(free, self._config.portion_tokens), force=not batch)
                if not portion:
                    free = 0
                    break
                progress = True
                batch.append((job, portion))
                tokens = sum(job.tokens[line] for line in portion)
                free -= tokens
                self.tokens -= tokens
                self._requeue(user, jobs, job)
        if not self._waiting:
            self._arrived.clear()
        return batch

    def _requeue(self, user: str, jobs: deque[_Job], job: _Job) -> None:
        """Move a request to the end of its user's requests, and the user behind other users."""
        jobs.remove(job)
        if job.started < len(job.lines):
            jobs.append(job)
        if jobs:
            self._waiting.move_to_end(user)
        else:
            del self._waiting[user]

    async def _translate(self, batch: list[_Portion]) -> None:
        """Translate a batch; if it fails, translate each portion alone to isolate the error."""
        search = batch[0][0].search
        lines = [job.lines[line] for job, portion in batch for line in portion]
        tokens = sum(job.tokens[line] for job, portion in batch for line in portion)
        began = time.monotonic()
        self._running += 1
        try:
            loop = asyncio.get_running_loop()
            translations = await loop.run_in_executor(self._threads, search.run, lines)
            assert len(translations) == len(lines)
        except Exception as error:  # noqa: BLE001 - any error must fail only its own request
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
        results = iter(translations)
        for job, portion in batch:
            job.add(portion, results)
        self._metrics.count_batch(search.model, translations, tokens)

    def _fail(self, job: _Job, error: Exception) -> None:
        self._metrics.failures.inc()
        _log.error("a request failed", extra={"failure": describe_failure(error)})
        if not job.answer.done():
            failed = "the text could not be translated; see the server's log"
            job.answer.set_exception(RequestError(500, failed))
