"""What the routes do with a request, apart from HTTP."""

import asyncio
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from nmt_core.documents.files import SUFFIXES, Format, find_format, name_translation
from nmt_core.documents.plan import Document
from nmt_core.errors import DocumentError
from nmt_core.server.detect import Guess, detect_language
from nmt_core.server.downloads import Downloads
from nmt_core.server.errors import RequestError, beyond_limit
from nmt_core.server.limits import Keys, RateLimit, User
from nmt_core.server.metrics import Metrics
from nmt_core.server.models import Models, ServedModel
from nmt_core.server.scheduler import Scheduler, Search
from nmt_core.server.schemas import (
    Alternative,
    Detected,
    FileRequest,
    SentenceDetails,
    TextDetails,
    TranslateAnswer,
    TranslateRequest,
    check_text,
)
from nmt_core.server.settings import ServerConfig
from nmt_core.server.texts import READERS, Place, Sent, find_places, plan_document, take_sample
from nmt_core.translation.loading import count_cores
from nmt_core.translation.translation import Translation

AUTO = "auto"
TORCH = "torch"
SHORT_CHARACTERS = 5000
"""A text up to this is prepared at once; a longer one in a thread, for others to go on."""

Result = TypeVar("Result")


class Translated(NamedTuple):
    """A text with its translations."""

    text: str
    detected: Guess | None
    alternatives: list[str]
    details: TextDetails | None


class Service:
    """All that a server needs to answer.

    Args:
        config: bounds.
        models: what translates.
        keys: API keys; None where everybody may use the server.
    """

    def __init__(self, config: ServerConfig, models: Models, keys: Keys | None = None) -> None:
        self.config = config
        self.models = models
        self.keys = keys
        self.metrics = Metrics()
        self.rates = RateLimit()
        self.downloads = Downloads()
        on_torch = any(model.translator.engine.name == TORCH for model in models.served)
        workers = 1 if on_torch else config.workers or count_cores()
        self.scheduler = Scheduler(config, self.metrics, workers)

    def admit(self, key: str | None, address: str) -> User:
        """Return who sends a request.

        Raises:
            RequestError: if a key is needed, and none or a wrong one was given.
        """
        if self.keys is None:
            return User(address, self.config.rate_limit)
        if not key:
            raise RequestError(
                400, "Please contact the server operator to get an API key, and send it as api_key"
            )
        return self.keys.find(key, self.config.rate_limit)

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

    async def translate(self, user: User, asked: TranslateRequest) -> TranslateAnswer:
        """Answer a request to translate.

        Raises:
            RequestError: if it is refused, or fails.
        """
        texts = asked.q if isinstance(asked.q, list) else [asked.q]
        self.check(texts, asked.alternatives)
        self.rates.spend(user, len(texts))
        done = await asyncio.gather(*(self._translate(user, asked, text) for text in texts))
        return gather_answer(asked, done)

    async def _translate(self, user: User, asked: TranslateRequest, text: str) -> Translated:
        document = await self._apart(len(text), READERS[asked.format or "text"], text)
        guess = await self._detect(document, asked.target) if asked.source == AUTO else None
        source = guess.language if guess else asked.source
        if source == asked.target and self.models.knows(source):
            return Translated(text, guess, [], None)
        model = self.models.find(source, asked.target)
        sent = await self._apart(len(text), plan_document, model, document)
        search = Search(
            model,
            n_best=1 + asked.alternatives,
            probabilities=asked.details,
            attention=asked.details,
        )
        found = await self._search(user, search, sent)
        ways = [
            await self._apart(len(text), sent.write, found, rank)
            for rank in range(1 + asked.alternatives)
        ]
        others = [*dict.fromkeys(way for way in ways if way != ways[0])]
        details = describe_text(model, text, ways[0], sent.lines, found) if asked.details else None
        return Translated(ways[0], guess, others, details)

    async def translate_file(
        self, user: User, asked: FileRequest, name: str, content: bytes
    ) -> str:
        """Translate a file, and return the key by which it is fetched.

        Raises:
            RequestError: if it is refused, or fails.
            DocumentError: if it cannot be read.
        """
        kind = find_kind(name)
        self.rates.spend(user, max(1, len(content) // self.config.max_characters))
        document = await asyncio.to_thread(kind.read, content)
        source = asked.source
        if source == AUTO:
            source = (await self._detect(document, asked.target)).language
        if source == asked.target and self.models.knows(source):
            return self.downloads.keep(name, kind.mime_type, content)
        model = self.models.find(source, asked.target)
        sent = await asyncio.to_thread(plan_document, model, document)
        found = await self._search(user, Search(model), sent)
        written = await asyncio.to_thread(sent.write, found)
        translated = written.encode() if isinstance(written, str) else written
        called = name_translation(Path(Path(name).name), asked.target).name
        return self.downloads.keep(called, kind.mime_type, translated)

    async def _search(self, user: User, search: Search, sent: Sent) -> list[list[Translation]]:
        """Translate all lines; those with markup inside tell at what they looked."""
        kinds = {False: search, True: search._replace(attention=True)}
        if search.attention or not any(sent.plan.marked):
            return await self.scheduler.search(user.name, search, sent.lines)
        found = [
            self.scheduler.search(user.name, kinds[wanted], pick(sent, marked=wanted))
            for wanted in (False, True)
        ]
        plain, marked = map(iter, await asyncio.gather(*found))
        return [next(marked if mark else plain) for mark in sent.plan.marked]

    async def _detect(self, document: Document[Any], target: str) -> Guess:
        if not self.models.knows(target):
            self.models.find(target, target)
        among = self.models.sources(target) or self.models.list_codes()
        return await asyncio.to_thread(detect_language, take_sample(document), {*among, target})

    async def _apart(self, characters: int, do: Callable[..., Result], *arguments: Any) -> Result:
        """Do at once what takes a moment; what takes longer, in a thread, for others to go on."""
        if characters <= SHORT_CHARACTERS:
            return do(*arguments)
        return await asyncio.to_thread(do, *arguments)


def find_kind(name: str) -> Format:
    """Return the kind of a file by the end of its name.

    Raises:
        RequestError: if it is of no kind that is translated, in LibreTranslate's words.
    """
    try:
        return find_format(name)
    except DocumentError:
        known = ", ".join(SUFFIXES)
        raise RequestError(
            400, f"Invalid request: file format not supported; send one of {known}"
        ) from None


def pick(sent: Sent, *, marked: bool) -> list[str]:
    """Return the lines with markup inside, or those without."""
    return [line for line, mark in zip(sent.lines, sent.plan.marked, strict=True) if mark is marked]


def gather_answer(asked: TranslateRequest, done: Sequence[Translated]) -> TranslateAnswer:
    """Return the answer in the shape of the question: lists for a list."""
    several = isinstance(asked.q, list)

    def shape(values: list[Any]) -> Any:
        return values if several else values[0]

    answer: dict[str, Any] = {"translatedText": shape([one.text for one in done])}
    if asked.source == AUTO:
        guesses = [one.detected or Guess(asked.target, 0.0) for one in done]
        answer["detectedLanguage"] = shape([Detected(**guess._asdict()) for guess in guesses])
    if asked.alternatives:
        answer["alternatives"] = shape([one.alternatives for one in done])
    if asked.details:
        empty = TextDetails(sentences=[], after="")
        answer["details"] = shape([one.details or empty for one in done])
    return TranslateAnswer(**answer)


def describe_text(
    model: ServedModel,
    text: str,
    translated: str,
    lines: Sequence[str],
    found: Sequence[Sequence[Translation]],
) -> TextDetails:
    """Return how each sentence of a text was translated."""
    there, _ = find_places(text, lines)
    here, after = find_places(
        translated, [best.text or line for line, (best, *_) in zip(lines, found, strict=True)]
    )
    return TextDetails(
        sentences=[
            describe_sentence(model, line, places, translations)
            for line, *places, translations in zip(lines, there, here, found, strict=True)
        ],
        after=after,
    )


def describe_sentence(
    model: ServedModel, line: str, places: list[Place], translations: Sequence[Translation]
) -> SentenceDetails:
    """Return how a sentence was translated.

    Args:
        model: that did it.
        line: the sentence as the model got it.
        places: of the sentence in the text, and of its translation in the translated text.
        translations: best first.
    """
    there, here = places
    best, *others = translations
    translator = model.translator
    threshold = translator.config.unsure_below
    attention = best.attention
    return SentenceDetails(
        source_before=there.before,
        source=there.text,
        before=here.before,
        text=here.text,
        score=best.score,
        unsure=best.score < (-math.inf if threshold is None else threshold),
        source_tokens=list(translator.source.tokens(line)),
        tokens=list(best.tokens),
        probabilities=[round(share, 4) for share in best.token_probabilities],
        attention=None if attention is None else attention.astype(float).round(4).tolist(),
        alternatives=[Alternative(text=one.text, score=one.score) for one in others],
    )
