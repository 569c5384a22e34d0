"""The work of the routes, without HTTP."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from nmt_core.documents.files import name_translation
from nmt_core.documents.formats import FORMATS
from nmt_core.documents.review import summarize_doubts
from nmt_core.server.answers import (
    AUTO,
    TranslatedFile,
    TranslatedText,
    describe_sentence,
    find_confidence,
    gather_answer,
    list_checks,
    list_details,
)
from nmt_core.server.asked import find_kind, find_tag, read_glossary
from nmt_core.server.detect import LanguageGuess, rank_known
from nmt_core.server.downloads import Downloads
from nmt_core.server.errors import RequestError, beyond_limit
from nmt_core.server.guard import hold_answer
from nmt_core.server.limits import Keys, RateLimit, User
from nmt_core.server.memory import ServedMemory
from nmt_core.server.metrics import Metrics
from nmt_core.server.models import Models
from nmt_core.server.processes import Processes
from nmt_core.server.scheduler import Scheduler, SearchRequest
from nmt_core.server.schemas import FileRequest, Match, SuggestRequest, TranslateRequest
from nmt_core.server.settings import ServerConfig
from nmt_core.server.suggestions import SuggestionBox
from nmt_core.server.texts import (
    CutSettings,
    Manuscript,
    Sent,
    check_text,
    find_places,
    prepare,
    prepare_apart,
    take_sample,
    write_apart,
)
from nmt_core.server.turns import Turns
from nmt_core.server.worker import Bounds
from nmt_core.translation.loading import count_cores
from nmt_core.translation.translation import Translation

TORCH = "torch"
WRONG_KEYS = 60
"""Wrong API keys that an address may send in a minute."""

SHORT_CHARACTERS = 5000
"""A text up to this is read and written at once; a longer one in another process."""

SURE = 50
"""Confidence below which a text of a list is taken to be in the language of the list."""

ResultT = TypeVar("ResultT")


class Service:
    """The server's models, limits, scheduler and worker processes.

    Args:
        config: bounds.
        models: the served models.
        keys: API keys; None if anybody may use the server.
    """

    def __init__(
        self,
        config: ServerConfig,
        models: Models,
        keys: Keys | None = None,
    ) -> None:
        self.config = config
        self.models = models
        self.keys = keys
        self.metrics = Metrics()
        self.rates = RateLimit()
        self.box = SuggestionBox(config, has_keys=keys is not None)
        self.memory = ServedMemory(config.memory, config.memory_threshold)
        self.downloads = Downloads()
        on_torch = any(model.translator.engine.name == TORCH for model in models.served)
        workers = 1 if on_torch else config.workers or count_cores()
        self.scheduler = Scheduler(config, self.metrics, workers)
        bounds = Bounds(config.document_bytes, config.document_seconds)
        self.processes = Processes(config.document_processes, bounds)
        self._moments: Turns

    def start(self) -> None:
        """Start the workers in the running event loop."""
        self._moments = Turns(1)
        self.processes.start()
        self.scheduler.start()

    async def stop(self) -> None:
        """Stop the workers."""
        await self.scheduler.stop()
        self.processes.stop()

    def admit(self, key: str | None, address: str) -> User:
        """Return the user of a request.

        Raises:
            RequestError: if a key is needed, and none or a wrong one was given.
        """
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
        """Make sure that a request is within bounds.

        Raises:
            RequestError: naming the limit.
        """
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
        check_text(list(texts))

    async def translate(self, user: User, asked: TranslateRequest) -> bytes:
        """Translate the texts of a request; return the JSON of a ``TranslateAnswer``.

        Raises:
            RequestError: if it is refused, or fails.
        """
        texts = asked.q if isinstance(asked.q, list) else [asked.q]
        self.check(texts, asked.alternatives)
        self.rates.spend(user, len(texts))
        whole = Manuscript(asked.format or "text", "\n".join(texts)[:SHORT_CHARACTERS])
        several = asked.source == AUTO and len(texts) > 1
        guess = await self._detect(user, whole, asked.target) if several else None
        works = [self._translate(user, asked, text, guess) for text in texts]
        done = await self._in_time(all_or_none(works))
        return gather_answer(asked, done, remembers=self.memory.is_there)

    async def _in_time(self, work: Awaitable[ResultT]) -> ResultT:
        """Return the result of work; cancel it when its time is over.

        Raises:
            RequestError: if the time is over.
        """
        seconds = self.config.work_seconds
        try:
            async with asyncio.timeout(seconds) as deadline:
                return await work
        except TimeoutError:
            if not deadline.expired():
                raise
            raise RequestError(
                503, f"this took longer than the {seconds:g} seconds that it may; send less at once"
            ) from None

    async def _translate(
        self, user: User, asked: TranslateRequest, text: str, of_all: LanguageGuess | None
    ) -> TranslatedText:
        sheet = Manuscript(asked.format or "text", text)
        guess = await self._detect(user, sheet, asked.target) if asked.source == AUTO else None
        if guess and of_all and guess.confidence < SURE:
            guess = of_all
        source = guess.language if guess else asked.source
        if source == asked.target and self.models.knows(source):
            return TranslatedText(text, guess, [], list_details([], after=""), [])
        model = self.models.find(source, asked.target)
        search = SearchRequest(
            model,
            n_best=1 + asked.alternatives,
            probabilities=asked.details,
            links=asked.details,
            tag=find_tag(asked.tag, model),
            glossary=read_glossary(asked.glossary, model.pair) if asked.glossary else None,
        )
        sent, translations, ways = await self._translate_sheet(user, search, sheet, asked.project)
        others = [*dict.fromkeys(way for way in ways if way != ways[0])]
        remembered = [best.origin == "memory" for best, *_ in translations]
        matches: dict[str, list[Match]] = {}
        if asked.details or asked.matches:
            new = [line for line, known in zip(sent.lines, remembered, strict=True) if not known]
            matches = await self.memory.match(user, model.pair, asked.project, new)
        details: Sequence[bytes] = ()
        if asked.details:
            sentences = [*zip(sent.lines, translations, strict=True)]
            details = await self._describe(user, sheet, ways[0], sentences, matches)
        checks = [check for best, *_ in translations for check in list_checks(best)]
        return TranslatedText(
            ways[0],
            guess,
            others,
            details,
            checks,
            find_confidence(translations),
            any(remembered),
            [match for found in matches.values() for match in found],
        )

    async def translate_file(
        self, user: User, asked: FileRequest, name: str, content: bytes
    ) -> TranslatedFile:
        """Translate a file, and keep it until it is fetched.

        Raises:
            RequestError: if it is refused, or fails.
            DocumentError: if it cannot be read.
        """
        kind = find_kind(name)
        self.rates.spend(user, max(1, len(content) // self.config.max_characters))
        return await self._in_time(self._translate_file(user, asked, kind, name, content))

    async def _translate_file(
        self, user: User, asked: FileRequest, kind: str, name: str, content: bytes
    ) -> TranslatedFile:
        sheet, mime_type = Manuscript(kind, content), FORMATS.load(kind).mime_type
        source = asked.source
        if source == AUTO:
            source = (await self._detect(user, sheet, asked.target)).language
        if source == asked.target and self.models.knows(source):
            key = self.downloads.keep(name, mime_type, content)
            return TranslatedFile(key, 0 if self.memory.is_there else None, 0)
        model = self.models.find(source, asked.target)
        search = SearchRequest(model, tag=find_tag(asked.tag, model))
        sent, translations, [translated] = await self._translate_sheet(user, search, sheet)
        translation_name = name_translation(Path(Path(name).name), asked.target).name
        key = self.downloads.keep(translation_name, mime_type, translated)
        remembered = sum(best.origin == "memory" for best, *_ in translations)
        best = dict(enumerate((best for best, *_ in translations), start=1))
        review = summarize_doubts(best, self.config.review_below)
        return TranslatedFile(key, remembered if self.memory.is_there else None, sent.left, review)

    async def suggest(self, user: User, asked: SuggestRequest) -> None:
        """Keep a suggested translation; it is on the disk when this returns.

        Raises:
            RequestError: if it is refused, or there is no room for it.
        """
        self.box.check(user, asked)
        source = asked.source
        if source == AUTO:
            source = (await self._detect(user, Manuscript("text", asked.q), asked.target)).language
        await self.box.keep(user, asked, self.models.find(source, asked.target))

    async def _translate_sheet(
        self, user: User, search: SearchRequest, sheet: Manuscript, project: str = ""
    ) -> tuple[Sent, list[list[Translation]], list[Any]]:
        """Return the lines of a text or file, their translations, and the whole ones."""
        translator = search.model.translator
        cut = CutSettings(
            search.model.pair,
            translator.source,
            translator.config.max_source_tokens - (search.tag is not None),
            self.config.max_tokens,
            self.config.review_below,
        )
        short = is_short(sheet)
        cut_text = prepare if short else prepare_apart
        sent = await self._do(user, sheet, cut_text, sheet, cut)
        asked = [*sent.wholes, *sent.list_plain()]
        known = await self.memory.translate(user, search.model.pair, project, asked)
        if whole := known.keys() & {*sent.wholes}:
            cut = cut._replace(whole=frozenset(whole))
            sent = await self._do(user, sheet, cut_text, sheet, cut)
        translations = await self._search_unknown(user, search, sent, known)
        if short:
            ways = await self._do(user, sheet, sent.write, translations, search.n_best)
        else:
            ways = await self._do(user, sheet, write_apart, sheet, cut, translations, search.n_best)
        return sent, translations, ways

    async def _search_unknown(
        self, user: User, search: SearchRequest, sent: Sent, known: Mapping[str, Translation]
    ) -> list[list[Translation]]:
        """Translate all lines but those that the memory has; lines with inner markup it has not."""
        recalled = [
            line in known and not mark for line, mark in zip(sent.lines, sent.marked, strict=True)
        ]
        left = sent.leave_out(recalled)
        search = search._replace(links=search.links or any(left.marked))
        found = iter(await self.scheduler.search(user.name, search, left.lines, left.tokens))
        return [
            [known[line]] if here else next(found)
            for line, here in zip(sent.lines, recalled, strict=True)
        ]

    async def _describe(
        self,
        user: User,
        sheet: Manuscript,
        translated: str,
        translations: Sequence[tuple[str, Sequence[Translation]]],
        matches: Mapping[str, list[Match]],
    ) -> list[bytes]:
        """Return the details of each sentence of a text.

        Each is written as JSON by itself, and the event loop runs after each.
        """
        lines = [line for line, _ in translations]
        written = [best.text or line for line, (best, *_) in translations]
        source_places, _ = await self._do(user, sheet, find_places, sheet.content, lines)
        target_places, after = await self._do(user, sheet, find_places, translated, written)
        places = map(list, zip(source_places, target_places, strict=True))
        pieces = []
        for (line, ways), both in zip(translations, places, strict=True):
            sentence = describe_sentence(both, ways, matches.get(line, []))
            pieces.append(sentence.model_dump_json(exclude_none=True).encode())
            hold_answer(len(pieces[-1]))
            await asyncio.sleep(0)
        return list_details(pieces, after=after)

    async def _detect(self, user: User, sheet: Manuscript, target: str) -> LanguageGuess:
        if not self.models.knows(target):
            self.models.find(target, target)
        among = self.models.sources(target) or self.models.list_codes()
        sample = await self._do(user, sheet, take_sample, sheet)
        return (await asyncio.to_thread(rank_known, sample, {*among, target}))[0]

    async def _do(
        self, user: User, sheet: Manuscript, do: Callable[..., ResultT], *arguments: Any
    ) -> ResultT:
        """Run a task on a text or file: short ones in this process, others in a worker.

        The event loop runs after each short task, so that others go on.
        """
        if not is_short(sheet):
            return await self.processes.run(user.name, do, *arguments)
        async with self._moments.take(user.name):
            await asyncio.sleep(0)
            return do(*arguments)


async def all_or_none(works: Sequence[Coroutine[Any, Any, ResultT]]) -> list[ResultT]:
    """Return the results of all works; cancel the others if one fails."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def is_short(sheet: Manuscript) -> bool:
    """Tell whether a text is short; a small file may still unpack to a large one."""
    return isinstance(sheet.content, str) and len(sheet.content) <= SHORT_CHARACTERS
