"""The work of the routes, without HTTP; a ``RequestError`` refuses a request."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from nmt_core.base.errors import DocumentError
from nmt_core.documents.formats import FORMATS, find_format, name_translation
from nmt_core.documents.review import summarize_doubts
from nmt_core.server.answers import TranslatedText, write_answer
from nmt_core.server.downloads import Downloads
from nmt_core.server.errors import RequestError, beyond_limit
from nmt_core.server.languages import AUTO, detect_languages
from nmt_core.server.memory import (
    ServedMemory,
    SuggestionLimits,
    keep_suggestion,
    open_journal,
)
from nmt_core.server.metrics import Metrics
from nmt_core.server.models import Models, ServedModel
from nmt_core.server.request_fields import (
    SentFile,
    check_request_tag,
    read_glossary,
)
from nmt_core.server.scheduler import Scheduler, SearchRequest
from nmt_core.server.schemas import (
    Detected,
    DetectRequest,
    FileAnswer,
    FileRequest,
    Match,
    PairRequest,
    SuggestRequest,
    TranslateRequest,
)
from nmt_core.server.segmentation import (
    CutSettings,
    CutText,
    SourceSegment,
    SourceText,
    cut_text,
    take_sample,
    write_texts,
)
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import ApiKeys, RateLimit, User
from nmt_core.server.worker_pool import FairSlots, WorkerLimits, WorkerPool
from nmt_core.translation.loading import count_cores
from nmt_core.translation.memory.journal import CorrectionJournal
from nmt_core.translation.translation import Translation

TORCH = "torch"
WRONG_KEYS = 60
"""Wrong API keys that an address may send in a minute."""

SHORT_CHARACTERS = 5000
"""A text up to this is read and written at once; a longer one in a worker."""

SURE = 50
"""Confidence below which a text of a list is taken to be in the language of the list."""

MAX_DETECTED = 5
"""Languages that a detection names."""

ResultT = TypeVar("ResultT")


class Service:
    """The server's models, limits, scheduler and workers.

    Args:
        config: limits.
        models: the served models.
        keys: API keys; None if anybody may use the server.
    """

    def __init__(self, config: ServerConfig, models: Models, keys: ApiKeys | None = None) -> None:
        self.config = config
        self.models = models
        self.keys = keys
        self.metrics = Metrics()
        self.rates = RateLimit()
        self.journal = open_journal(config, has_keys=keys is not None)
        self.suggestion_limits = SuggestionLimits(config)
        self.memory = ServedMemory(config.memory, config.memory_threshold)
        self.downloads = Downloads()
        on_torch = any(model.translator.engine.name == TORCH for model in models.served)
        batches = 1 if on_torch else config.workers or count_cores()
        self.scheduler = Scheduler(config, self.metrics, batches)
        limits = WorkerLimits(config.document_bytes, config.document_seconds)
        self.pool = WorkerPool(config.document_processes, limits)
        self._short_tasks: FairSlots

    def start(self) -> None:
        """Start the scheduler and the workers in the running event loop."""
        self._short_tasks = FairSlots(1)
        self.pool.start()
        self.scheduler.start()

    async def stop(self) -> None:
        """Stop the scheduler and the workers."""
        await self.scheduler.stop()
        self.pool.stop()

    def admit(self, key: str | None, address: str) -> User:
        """Return the user of a request; refuse a wrong key, and none if one is needed."""
        if self.keys is None:
            return User(address, self.config.rate_limit)
        if not key:
            raise RequestError(400, "Please contact the server operator to get an API key")
        guesses = User(f"wrong keys of {address}", WRONG_KEYS)
        self.rates.spend(guesses, 1)  # before the look-up, or 403 and 200 would tell keys apart
        user = self.keys.find(key, self.config.rate_limit)
        self.rates.spend(guesses, -1)
        return user

    def check(self, texts: Sequence[str], alternatives: int = 0) -> None:
        """Refuse texts or alternatives beyond their limits."""
        config = self.config
        if len(texts) > config.max_texts:
            raise beyond_limit(len(texts), config.max_texts)
        characters = sum(map(len, texts))
        if characters > config.max_characters:
            raise beyond_limit(characters, config.max_characters)
        if alternatives > config.max_alternatives:
            raise RequestError(
                400,
                f"Invalid request: alternatives parameter must be <= {config.max_alternatives}",
            )

    async def translate(self, user: User, request: TranslateRequest) -> bytes:
        """Translate the texts of a request; return the JSON of a ``TranslateAnswer``."""
        texts = request.q if isinstance(request.q, list) else [request.q]
        self.check(texts, request.alternatives)
        self.rates.spend(user, len(texts))
        format_, guess = request.format or "text", None
        async with limit_time(self.config.work_seconds):
            if request.source == AUTO and len(texts) > 1:
                beginning = SourceText(format_, "\n".join(texts)[:SHORT_CHARACTERS])
                guess = await self._detect(user, beginning, request.target)
            sources = [SourceText(format_, text) for text in texts]
            translated = await all_or_none(
                [self._translate_text(user, request, source, guess) for source in sources]
            )
            answer = partial(write_answer, request, translated, has_memory=self.memory.exists)
            return await asyncio.to_thread(answer) if request.details else answer()

    async def _translate_text(
        self, user: User, request: TranslateRequest, source: SourceText, of_list: Detected | None
    ) -> TranslatedText:
        text = str(source.content)
        model, guess = await self._choose_model(user, source, request, of_list)
        if model is None:
            return TranslatedText(text, [text], guess)
        search = SearchRequest(
            model,
            n_best=1 + request.alternatives,
            probabilities=request.details,
            links=request.details,
            tag=check_request_tag(request.tag, model),
            glossary=read_glossary(request.glossary, model.pair) if request.glossary else None,
        )
        cut, translations, texts = await self._translate(user, search, source, request.project)
        lines = [segment.line for segment in cut.segments]
        matches: Mapping[str, list[Match]] = {}
        if request.details or request.matches:
            best = zip(lines, translations, strict=True)
            new = [line for line, (first, *_) in best if first.origin != "memory"]
            matches = await self.memory.match(user, model.pair, request.project, new)
        return TranslatedText(text, texts, guess, lines, translations, matches)

    async def translate_file(
        self, user: User, request: FileRequest, file: SentFile
    ) -> tuple[str, FileAnswer]:
        """Translate a file, and keep it until it is fetched; return its key and the answer."""
        try:
            source = SourceText(find_format(file.name), file.content)
        except DocumentError:
            raise RequestError(400, "Invalid request: file format not supported") from None
        self.rates.spend(user, max(1, len(file.content) // self.config.max_characters))
        name, content, untranslated = file.name, file.content, 0
        best: dict[int, Translation] = {}
        async with limit_time(self.config.work_seconds):
            model, _ = await self._choose_model(user, source, request)
            if model:
                search = SearchRequest(model, tag=check_request_tag(request.tag, model))
                cut, translations, [content] = await self._translate(user, search, source)
                name = name_translation(Path(Path(name).name), request.target).name
                best = dict(enumerate((first for first, *_ in translations), start=1))
                untranslated = cut.untranslated
        remembered = sum(translation.origin == "memory" for translation in best.values())
        answer = FileAnswer(
            translatedFileUrl="",
            memory=remembered if self.memory.exists else None,
            left=untranslated or None,
            review=summarize_doubts(best, self.config.review_below) or None,
        )
        return self.downloads.add(name, FORMATS.load(source.format).mime_type, content), answer

    async def suggest(self, user: User, request: SuggestRequest) -> None:
        """Keep a suggested translation; it is on the disk when this returns."""
        journal = self.open_journal()
        self.suggestion_limits.check(user, request)
        model, _ = await self._choose_model(user, SourceText("text", request.q), request)
        model = model or self.models.find(request.target, request.target)
        await keep_suggestion(journal, user, request, model)

    def open_journal(self) -> CorrectionJournal:
        """Return the journal of suggestions, or refuse in LibreTranslate's words."""
        if self.journal is None:
            raise RequestError(403, "Suggestions are disabled on this server.")
        return self.journal

    async def detect(self, user: User, request: DetectRequest) -> list[Detected]:
        """Return the likeliest languages of a text, the likeliest first."""
        texts = request.q if isinstance(request.q, list) else [request.q]
        self.check(texts)
        self.rates.spend(user, len(texts))
        ranked = await asyncio.to_thread(detect_languages, "\n".join(texts), self.models.codes)
        return ranked[:MAX_DETECTED]

    async def _choose_model(
        self,
        user: User,
        source: SourceText,
        request: PairRequest,
        of_list: Detected | None = None,
    ) -> tuple[ServedModel | None, Detected | None]:
        """Return the model of a text, and its language if it was detected.

        There is no model for a text in the target language.
        """
        language, guess = request.source, None
        if language == AUTO:
            guess = await self._detect(user, source, request.target)
            guess = of_list if of_list and guess.confidence < SURE else guess
            language = guess.language
        if language == request.target and language in self.models.codes:
            return None, guess
        return self.models.find(language, request.target), guess

    async def _detect(self, user: User, source: SourceText, target: str) -> Detected:
        if target not in self.models.codes:
            self.models.find(target, target)  # which says so
        among = self.models.list_sources(target) or self.models.codes
        sample = await self._run(user, source, take_sample, source)
        return (await asyncio.to_thread(detect_languages, sample, {*among, target}))[0]

    async def _translate(
        self, user: User, search: SearchRequest, source: SourceText, project: str = ""
    ) -> tuple[CutText, list[list[Translation]], list[Any]]:
        """Return the segments of a text or file, their translations, and the whole ones."""
        translator, pair = search.model.translator, search.model.pair
        segment_tokens = translator.config.max_source_tokens - (search.tag is not None)
        settings = CutSettings(pair, translator.source, segment_tokens, self.config.max_tokens)
        cut = await self._run(user, source, cut_text, source, settings)
        plain = [segment.line for segment in cut.segments if not segment.has_markup]
        known = await self.memory.recall(user, pair, project, [*cut.passages, *plain])
        if whole := known.keys() & {*cut.passages}:
            settings = settings._replace(whole=frozenset(whole))
            cut = await self._run(user, source, cut_text, source, settings)
        translations = await self._search(user, search, cut.segments, known)
        write = partial(write_texts, review_below=self.config.review_below, count=search.n_best)
        texts = await self._run(user, source, write, source, settings, translations)
        return cut, translations, texts

    async def _search(
        self,
        user: User,
        search: SearchRequest,
        segments: Sequence[SourceSegment],
        known: Mapping[str, Translation],
    ) -> list[list[Translation]]:
        """Translate segments, but those that a memory knows; it knows none with markup."""
        is_new = [segment.has_markup or segment.line not in known for segment in segments]
        new = [segment for segment, wanted in zip(segments, is_new, strict=True) if wanted]
        search = search._replace(links=search.links or any(each.has_markup for each in new))
        lines, tokens = [each.line for each in new], [each.tokens for each in new]
        results = iter(await self.scheduler.search(user.name, search, lines, tokens))
        return [
            next(results) if wanted else [known[segment.line]]
            for segment, wanted in zip(segments, is_new, strict=True)
        ]

    async def _run(
        self, user: User, source: SourceText, task: Callable[..., ResultT], *arguments: Any
    ) -> ResultT:
        """Run a task on a short text in this process, and on others in a worker.

        A small file may unpack to a large one, so files are never short. The event loop runs after
        each short task, so that others go on.
        """
        if isinstance(source.content, bytes) or len(source.content) > SHORT_CHARACTERS:
            return await self.pool.run(user.name, task, *arguments)
        async with self._short_tasks.take(user.name):
            await asyncio.sleep(0)
            return task(*arguments)


async def all_or_none(works: Sequence[Coroutine[Any, Any, ResultT]]) -> list[ResultT]:
    """Return the results of all works; cancel the others if one fails."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


@asynccontextmanager
async def limit_time(seconds: float) -> AsyncIterator[None]:
    """Cancel and refuse the work within when its time is over."""
    try:
        async with asyncio.timeout(seconds) as deadline:
            yield
    except TimeoutError:
        if not deadline.expired():
            raise
        raise RequestError(
            503, f"this took longer than the {seconds:g} seconds that it may; send less at once"
        ) from None
