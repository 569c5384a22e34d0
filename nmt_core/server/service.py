"""The work of the routes, without HTTP; a ``RequestError`` refuses a request."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from nmt_core.base.errors import ConfigError, DocumentError
from nmt_core.documents.formats import FORMATS, find_format, name_translation
from nmt_core.documents.review import summarize_doubts
from nmt_core.literals.glossary import Glossary
from nmt_core.server.answers import TranslatedText, write_answer
from nmt_core.server.errors import RequestError, beyond_limit
from nmt_core.server.memory import (
    SUGGESTED_PER_MINUTE,
    ServedMemory,
    check_suggestion,
    keep_suggestion,
    open_journal,
)
from nmt_core.server.metrics import Metrics
from nmt_core.server.models import AUTO, LanguagePair, Models, ServedModel, detect_languages
from nmt_core.server.scheduler import Scheduler, SearchRequest
from nmt_core.server.schemas import (
    Detected,
    DetectRequest,
    FileAnswer,
    FileRequest,
    Match,
    PairRequest,
    SentFile,
    SuggestRequest,
    TranslateRequest,
)
from nmt_core.server.segmentation import (
    SHORT_CHARACTERS,
    CutSettings,
    CutText,
    SourceText,
    Workers,
    cut_text,
    take_sample,
    write_texts,
)
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import ApiKeys, RateLimit, User, find_user
from nmt_core.translation.loading import count_cores
from nmt_core.translation.memory.journal import CorrectionJournal
from nmt_core.translation.translation import Translation

MAX_DETECTED = 5
"""Languages that a detection names."""

WRONG_KEYS = 60
"""Wrong API keys that a client may send in a minute."""

MAX_GLOSSARY_LINES = 1000
"""Lines of the glossary of a request."""

FILE_SECONDS = 600.0
"""Seconds for which a translated file is kept."""

MAX_FILES_BYTES = 100_000_000
"""Bytes of all translated files together; beyond this, the oldest are removed."""


class TranslatedFile(NamedTuple):
    """A translated file, kept in memory until it expires."""

    name: str
    mime_type: str
    content: bytes
    until: float


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
        self.journal = open_journal(config, has_keys=keys is not None)
        self.memory = ServedMemory(config.memory, config.memory_threshold)
        on_torch = any(model.translator.engine.name == "torch" for model in models.served)
        batches = 1 if on_torch else config.workers or count_cores()
        self.scheduler = Scheduler(config, self.metrics, batches)
        self._workers = Workers()
        self._rates, self._suggested = RateLimit(), RateLimit("bytes of suggestions")
        self._files: dict[str, TranslatedFile] = {}

    def admit(self, key: str | None, address: str) -> User:
        """Return the user of a request; refuse a wrong key, and none if one is needed."""
        if self.keys is None:
            return User(address, self.config.rate_limit)
        if not key:
            raise RequestError(400, "Please contact the server operator to get an API key")
        guesses = User(f"wrong keys of {address}", WRONG_KEYS)
        self._rates.spend(guesses, 1)  # before the look-up, or 403 and 200 would tell keys apart
        user = find_user(self.keys, key, self.config.rate_limit)
        self._rates.spend(guesses, -1)
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
        self._rates.spend(user, len(texts))
        sources = [SourceText(request.format or "text", text) for text in texts]
        async with limit_time(self.config.work_seconds):
            beginning = sources[0]
            if len(sources) > 1:  # all have the language of the whole list
                beginning = SourceText(beginning.format, "\n".join(texts)[:SHORT_CHARACTERS])
            model, guess = await self._choose_model(user, beginning, request)
            if model is None:
                translated = [TranslatedText(text, [text]) for text in texts]
            else:
                translated = await self._translate_texts(user, model, request, sources)
            return await asyncio.to_thread(
                write_answer, request, translated, guess, has_memory=self.memory.exists
            )

    async def _translate_texts(
        self,
        user: User,
        model: ServedModel,
        request: TranslateRequest,
        sources: Sequence[SourceText],
    ) -> list[TranslatedText]:
        search = SearchRequest(
            model,
            n_best=1 + request.alternatives,
            probabilities=request.details,
            links=request.details,
            tag=check_request_tag(request.tag, model),
            glossary=read_glossary(request.glossary, model.pair) if request.glossary else None,
        )
        translated = await self._translate(user, search, sources, request.project)
        matches: Mapping[str, list[Match]] = {}
        if request.details or request.matches:
            new = [
                segment.line
                for cut, translations, _ in translated
                for segment, (best, *_) in zip(cut.segments, translations, strict=True)
                if best.origin != "memory"
            ]
            matches = await self.memory.match(user, model.pair, request.project, new)
        return [
            TranslatedText(
                str(source.content),
                texts,
                [each.line for each in cut.segments],
                best_first,
                matches,
            )
            for source, (cut, best_first, texts) in zip(sources, translated, strict=True)
        ]

    async def translate_file(
        self, user: User, request: FileRequest, file: SentFile
    ) -> tuple[str, FileAnswer]:
        """Translate a file, and keep it until it is fetched; return its key and the answer."""
        try:
            source = SourceText(find_format(file.name), file.content)
        except DocumentError:
            raise RequestError(400, "Invalid request: file format not supported") from None
        self._rates.spend(user, max(1, len(file.content) // self.config.max_characters))
        name, content, untranslated = file.name, file.content, 0
        best: dict[int, Translation] = {}
        async with limit_time(self.config.work_seconds):
            model, _ = await self._choose_model(user, source, request)
            if model:
                search = SearchRequest(model, tag=check_request_tag(request.tag, model))
                [(cut, translations, [content])] = await self._translate(user, search, [source])
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
        return self.keep_file(name, FORMATS.load(source.format).mime_type, content), answer

    def keep_file(self, name: str, mime_type: str, content: bytes) -> str:
        """Keep a translated file and return the key by which it is fetched."""
        self._remove_files(len(content))
        key = secrets.token_urlsafe(16)
        self._files[key] = TranslatedFile(name, mime_type, content, time.monotonic() + FILE_SECONDS)
        return key

    def fetch_file(self, key: str) -> TranslatedFile:
        """Return a file that was kept, unless it has expired."""
        self._remove_files(0)
        if key not in self._files:
            raise RequestError(
                404,
                f"this file is not here; translations are kept for {FILE_SECONDS / 60:g} minutes",
            )
        return self._files[key]

    def _remove_files(self, coming: int) -> None:
        """Remove expired files, and the oldest if there are too many bytes."""
        now = time.monotonic()
        left = MAX_FILES_BYTES - coming - sum(len(file.content) for file in self._files.values())
        for key, file in list(self._files.items()):
            if file.until < now or left < 0:
                left += len(file.content)
                del self._files[key]

    async def suggest(self, user: User, request: SuggestRequest) -> None:
        """Keep a suggested translation; it is on the disk when this returns."""
        journal = self.open_journal()
        check_suggestion(request)
        size = sum(len(text.encode()) for text in (request.q, request.s, request.before))
        self._suggested.spend(User(user.name, SUGGESTED_PER_MINUTE), size)
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
        self._rates.spend(user, len(texts))
        ranked = await asyncio.to_thread(detect_languages, "\n".join(texts), self.models.codes)
        return ranked[:MAX_DETECTED]

    async def _choose_model(
        self, user: User, source: SourceText, request: PairRequest
    ) -> tuple[ServedModel | None, Detected | None]:
        """Return the model of a text, and its language if it was detected.

        There is no model for a text in the target language.
        """
        language, target, guess = request.source, request.target, None
        if language == AUTO:
            if target not in self.models.codes:
                self.models.find(target, target)  # which says so
            among = self.models.list_sources(target) or self.models.codes
            sample = await self._workers.run(user.name, source, take_sample)
            guess = (await asyncio.to_thread(detect_languages, sample, {*among, target}))[0]
            language = guess.language
        if language == target and language in self.models.codes:
            return None, guess
        return self.models.find(language, target), guess

    async def _translate(
        self, user: User, search: SearchRequest, sources: Sequence[SourceText], project: str = ""
    ) -> list[tuple[CutText, list[list[Translation]], list[Any]]]:
        """Return for each text its segments, their translations, and the whole translations.

        Sentences that the memory has are taken from it; all others are translated together.
        """
        translator, pair = search.model.translator, search.model.pair
        segment_tokens = translator.config.max_source_tokens - (search.tag is not None)
        settings = CutSettings(pair, translator.source, segment_tokens, self.config.max_tokens)
        run = self._workers.run
        cuts = [await run(user.name, source, cut_text, settings) for source in sources]
        passages = [passage for cut in cuts for passage in cut.passages]
        plain = [each.line for cut in cuts for each in cut.segments if not each.has_markup]
        known = await self.memory.recall(user, pair, project, [*passages, *plain])
        if whole := known.keys() & {*passages}:
            settings = settings._replace(whole=frozenset(whole))
            cuts = [await run(user.name, source, cut_text, settings) for source in sources]
        segments = [segment for cut in cuts for segment in cut.segments]
        recalled = [None if each.has_markup else known.get(each.line) for each in segments]
        new = [each for each, done in zip(segments, recalled, strict=True) if done is None]
        search = search._replace(links=search.links or any(each.has_markup for each in new))
        lines, tokens = [each.line for each in new], [each.tokens for each in new]
        results = iter(await self.scheduler.search(user.name, search, lines, tokens))
        translations = iter([[done] if done else next(results) for done in recalled])
        by_text = [[next(translations) for _ in cut.segments] for cut in cuts]
        below, count = self.config.review_below, search.n_best
        texts = [
            await run(user.name, source, write_texts, settings, own, below, count)
            for source, own in zip(sources, by_text, strict=True)
        ]
        return [*zip(cuts, by_text, texts, strict=True)]


def check_request_tag(tag: str | None, model: ServedModel) -> str | None:
    """Return the tag of a request; refuse one that the model does not know."""
    try:
        if tag is not None:
            model.translator.choose_tag(tag)
    except ConfigError as error:
        raise RequestError(400, f"Invalid request: {error}") from None
    return tag


@lru_cache(maxsize=64)
def read_glossary(text: str, pair: LanguagePair) -> Glossary:
    """Return the glossary of a request; equal ones are one, so that requests share batches."""
    lines = text.splitlines()
    if len(lines) > MAX_GLOSSARY_LINES:
        raise RequestError(
            400,
            f"Invalid request: glossary has {len(lines):,} lines, and at most "
            f"{MAX_GLOSSARY_LINES:,} are allowed",
        )
    try:
        return Glossary.parse(lines, pair, name="glossary")
    except ConfigError as error:
        raise RequestError(400, f"Invalid request: {error}") from None


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
