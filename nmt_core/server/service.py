"""The implementation of the routes, without HTTP; a ``RequestError`` rejects a request."""

import asyncio
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from nmt_core.base.errors import ConfigError, DocumentError
from nmt_core.documents.document import name_translation
from nmt_core.documents.formats import FORMATS, find_format
from nmt_core.documents.review import summarize_doubts
from nmt_core.literals.glossary import Glossary
from nmt_core.server.answers import TranslatedText, write_answer
from nmt_core.server.errors import RequestError, text_limit_exceeded
from nmt_core.server.memory import (
    SUGGESTION_RATE,
    ServedMemory,
    append_suggestion,
    measure_suggestion,
    open_journal,
)
from nmt_core.server.metrics import Metrics
from nmt_core.server.models import AUTO, Models, ServedModel, detect_languages
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
    SHORT_CHARACTERS,
    SourceText,
    Workers,
    segment_text,
    take_sample,
    write_texts,
)
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import ApiKeys, RateLimit, User, find_user
from nmt_core.text.language_codes import LanguageCodes
from nmt_core.text.translation import Translation
from nmt_core.translation.loading import count_cores
from nmt_core.translation.memory.journal import CorrectionJournal

MAX_DETECTED = 5
"""Maximum languages in the result of a detection."""

WRONG_KEYS_PER_MINUTE = 60
"""Maximum invalid API keys per client and minute."""

MAX_GLOSSARY_LINES = 1000
"""Maximum lines of a request's glossary."""

FILE_SECONDS = 600.0
"""Seconds until a translated file expires."""

MAX_FILES_BYTES = 100_000_000
"""Maximum bytes of all translated files; beyond this, the oldest files are removed."""

StoredFile = tuple[float, str, str, bytes]
"""Expiry time, name, MIME type and content of a translated file."""


class Service:
    """The server's models, limits, scheduler and workers; without ``keys``, open to everybody."""

    def __init__(self, config: ServerConfig, models: Models, keys: ApiKeys | None = None) -> None:
        self.config = config
        self.models = models
        self.keys = keys
        self.metrics = Metrics()
        self.journal: CorrectionJournal | None = None
        if config.suggestions != "off":
            self.journal = open_journal(config, has_keys=keys is not None)
        self.memory: ServedMemory | None = None
        if config.memory:
            self.memory = ServedMemory(config.memory, config.memory_threshold)
        on_torch = any(model.translator.engine.name == "torch" for model in models.served)
        batches = 1 if on_torch else config.workers or count_cores()
        self.scheduler = Scheduler(config, self.metrics, batches)
        self._workers = Workers()
        self._rates, self._suggested = RateLimit(), RateLimit("bytes of suggestions")
        self._files: dict[str, StoredFile] = {}

    def authenticate(self, key: str | None, address: str) -> User:
        """Return the user of a request; raise a RequestError for a missing or invalid key."""
        if self.keys is None:
            return User(address, self.config.rate_limit)
        if not key:
            raise RequestError(400, "Please contact the server operator to get an API key")
        guesses = User(f"wrong keys of {address}", WRONG_KEYS_PER_MINUTE)
        self._rates.spend(guesses, 1)  # before the look-up, so that 429 hides valid keys, too
        user = find_user(self.keys, key, self.config.rate_limit)
        self._rates.spend(guesses, -1)
        return user

    def check_limits(self, user: User, texts: Sequence[str], alternatives: int = 0) -> None:
        """Count the user's texts; raise a RequestError if texts or alternatives exceed limits."""
        config, characters = self.config, sum(map(len, texts))
        for size, limit in ((len(texts), config.max_texts), (characters, config.max_characters)):
            if size > limit:
                raise text_limit_exceeded(size, limit)
        if alternatives > config.max_alternatives:
            raise RequestError(
                400, f"Invalid request: alternatives parameter must be <= {config.max_alternatives}"
            )
        self._rates.spend(user, len(texts))

    async def translate(self, user: User, request: TranslateRequest) -> bytes:
        """Translate the texts of a request; return a ``TranslateAnswer`` as JSON."""
        texts = request.q if isinstance(request.q, list) else [request.q]
        self.check_limits(user, texts, request.alternatives)
        sources = [SourceText(request.format, text) for text in texts]
        beginning = sources[0]
        if len(sources) > 1:  # one language is detected for the whole list
            beginning = beginning._replace(content="\n".join(texts)[:SHORT_CHARACTERS])
        model, guess = await self._choose_model(user, beginning, request)
        translated = [TranslatedText(text, [text]) for text in texts]
        matches: Mapping[str, list[Match]] = {}
        if model:
            search = SearchRequest(
                model,
                n_best=1 + request.alternatives,
                probabilities=request.details,
                links=request.details,
                tag=request.tag,
                glossary=read_glossary(request.glossary, model.pair) if request.glossary else None,
            )
            translated = await self._translate(user, search, sources, request.project)
            if self.memory and (request.details or request.matches):
                sentences = [sentence for text in translated for sentence in text.sentences]
                new = [line for line, (best, *_) in sentences if best.origin != "memory"]
                matches = await self.memory.match(user, model.pair, request.project, new)
        write = partial(write_answer, request, translated, guess, matches if self.memory else None)
        return await asyncio.to_thread(write) if request.details else write()  # details take long

    async def translate_file(
        self, user: User, request: FileRequest, name: str, content: bytes
    ) -> tuple[str, FileAnswer]:
        """Translate and store a file; return its key and the response without the URL."""
        try:
            source = SourceText(find_format(name), content)
        except DocumentError:
            raise RequestError(400, "Invalid request: file format not supported") from None
        self._rates.spend(user, max(1, len(content) // self.config.max_characters))
        text = TranslatedText(content, [content])
        model, _ = await self._choose_model(user, source, request)
        if model:
            [text] = await self._translate(user, SearchRequest(model, tag=request.tag), [source])
            name = name_translation(Path(Path(name).name), request.target).name
        best = dict(enumerate((first for _, (first, *_) in text.sentences), start=1))
        remembered = sum(translation.origin == "memory" for translation in best.values())
        answer = FileAnswer(
            translatedFileUrl="",
            memory=remembered if self.memory else None,
            left=text.untranslated or None,
            review=summarize_doubts(best, self.config.review_below) or None,
        )
        return self.keep_file(name, FORMATS.load(source.format).mime_type, text.texts[0]), answer

    def keep_file(self, name: str, mime_type: str, content: bytes) -> str:
        """Store a translated file; return its key for ``fetch_file``."""
        self._remove_files(len(content))
        key = secrets.token_urlsafe(16)
        self._files[key] = time.monotonic() + FILE_SECONDS, name, mime_type, content
        return key

    def fetch_file(self, key: str) -> StoredFile:
        """Return a stored file; raise a RequestError if it has expired."""
        self._remove_files(0)
        if key not in self._files:
            raise RequestError(
                404,
                f"this file has expired after {FILE_SECONDS / 60:g} minutes; translate it again",
            )
        return self._files[key]

    def _remove_files(self, new_bytes: int) -> None:
        """Remove expired files, and the oldest files if a new file exceeds the limit."""
        now = time.monotonic()
        stored = sum(len(content) for *_, content in self._files.values())
        free = MAX_FILES_BYTES - new_bytes - stored
        for key, (expiry, *_, content) in list(self._files.items()):
            if expiry < now or free < 0:
                free += len(content)
                del self._files[key]

    async def suggest(self, user: User, request: SuggestRequest) -> None:
        """Store a suggested translation, and wait until it is on disk."""
        journal = self.open_journal()
        self._suggested.spend(User(user.name, SUGGESTION_RATE), measure_suggestion(request))
        model, _ = await self._choose_model(user, SourceText("text", request.q), request)
        model = model or self.models.find(request.target, request.target)
        await append_suggestion(journal, user, request, model)

    def open_journal(self) -> CorrectionJournal:
        """Return the journal of suggestions; raise LibreTranslate's error if there is none."""
        if self.journal is None:
            raise RequestError(403, "Suggestions are disabled on this server.")
        return self.journal

    async def detect(self, user: User, request: DetectRequest) -> list[Detected]:
        """Return the most likely languages of a text, most likely first."""
        texts = request.q if isinstance(request.q, list) else [request.q]
        self.check_limits(user, texts)
        ranked = await asyncio.to_thread(detect_languages, "\n".join(texts), self.models.codes)
        return ranked[:MAX_DETECTED]

    async def _choose_model(
        self, user: User, source: SourceText, request: PairRequest
    ) -> tuple[ServedModel | None, Detected | None]:
        """Return the model for a text, and its language if it was detected.

        The model is None if the text is already in the target language.
        """
        language, target, guess = request.source, request.target, None
        if language == AUTO:
            if target not in self.models.codes:
                self.models.find(target, target)  # raises the error
            among = self.models.list_sources(target) or self.models.codes
            sample = await self._workers.run(user.name, source, take_sample)
            guess = (await asyncio.to_thread(detect_languages, sample, {*among, target}))[0]
            language = guess.language
        if language == target and language in self.models.codes:
            return None, guess
        return self.models.find(language, target), guess

    async def _translate(
        self, user: User, search: SearchRequest, sources: Sequence[SourceText], project: str = ""
    ) -> list[TranslatedText]:
        """Return the translated texts.

        The memory translates the sentences that it has; the scheduler gets all other sentences
        together.
        """
        config, pair = self.config, search.model.pair
        segmenter = replace(search.translator.segmenter, language=pair[0])
        run = partial(self._workers.run, user.name)
        task = (segment_text, segmenter, config.max_tokens)
        sources = [source._replace(languages=pair) for source in sources]
        segmented = [await run(source, *task) for source in sources]
        remembered: Mapping[str, Translation] = {}
        whole: set[str] = set()
        if self.memory:
            passages = {passage for _, wholes, _ in segmented for passage in wholes}
            plain = [line for own, *_ in segmented for line, is_marked, _ in own if not is_marked]
            remembered = await self.memory.recall(user, pair, project, [*passages, *plain])
            if whole := passages & remembered.keys():
                segmented = [await run(source, *task, whole) for source in sources]
        segments = [segment for own, *_ in segmented for segment in own]
        recalled = [None if is_marked else remembered.get(line) for line, is_marked, _ in segments]
        new = [each for each, done in zip(segments, recalled, strict=True) if done is None]
        search = search._replace(links=search.links or any(is_marked for _, is_marked, _ in new))
        lines, costs = [line for line, *_ in new], [cost for *_, cost in new]
        results = iter(await self.scheduler.search(user.name, search, lines, costs))
        translations = iter([[done] if done else next(results) for done in recalled])
        translated = []
        for source, (own, _, untranslated) in zip(sources, segmented, strict=True):
            best = [next(translations) for _ in own]
            texts = await run(source, write_texts, segmenter, whole, best, config.review_below)
            sentences = [*zip((line for line, *_ in own), best, strict=True)]
            translated.append(TranslatedText(source.content, texts, sentences, untranslated))
        return translated


@lru_cache(maxsize=64)
def read_glossary(text: str, pair: LanguageCodes) -> Glossary:
    """Return a request's glossary; cached, so that requests with equal glossaries share batches."""
    lines = text.splitlines()
    if len(lines) > MAX_GLOSSARY_LINES:
        raise ConfigError(f"glossary has {len(lines):,} lines; the limit is {MAX_GLOSSARY_LINES:,}")
    return Glossary.parse(lines, pair, name="glossary")
