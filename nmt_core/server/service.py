"""What the routes do with a request, apart from HTTP."""

import asyncio
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from nmt_core.server.detect import Guess, detect_language
from nmt_core.server.errors import RequestError
from nmt_core.server.layout import Layout, split_lines
from nmt_core.server.limits import Keys, RateLimit, User
from nmt_core.server.metrics import Metrics
from nmt_core.server.models import Models, ServedModel
from nmt_core.server.scheduler import Scheduler, Search
from nmt_core.server.schemas import (
    Alternative,
    Detected,
    SentenceDetails,
    TextDetails,
    TranslateAnswer,
    TranslateRequest,
    check_text,
)
from nmt_core.server.settings import ServerConfig
from nmt_core.translation.loading import count_cores
from nmt_core.translation.translation import Translation

AUTO = "auto"
TORCH = "torch"
SHORT_CHARACTERS = 5000
"""A text up to this is prepared at once; a longer one in a thread, for others to go on."""


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
            raise RequestError(403, "an API key is needed here; send it as api_key")
        return self.keys.find(key, self.config.rate_limit)

    def check(self, texts: Sequence[str], alternatives: int = 0) -> None:
        """Make sure that a request is within bounds.

        Raises:
            RequestError: naming the limit.
        """
        config = self.config
        if not any(texts):
            raise RequestError(400, "q is missing or empty; send the text to translate")
        if len(texts) > config.max_texts:
            raise RequestError(
                400, f"q may hold {config.max_texts} texts, got {len(texts)}; send fewer at once"
            )
        characters = sum(map(len, texts))
        if characters > config.max_characters:
            raise RequestError(
                400,
                f"q may hold {config.max_characters} characters, got {characters}; "
                f"send less at once",
            )
        if alternatives > config.max_alternatives:
            raise RequestError(
                400,
                f"alternatives may be {config.max_alternatives} at most, got {alternatives}; "
                f"ask for fewer",
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
        guess = None
        if asked.source == AUTO:
            guess = await self._detect(text, asked.target)
        source = guess.language if guess else asked.source
        if source == asked.target and self._knows(source):
            return Translated(text, guess, [], None)
        model = self.models.find(source, asked.target)
        layout = await self._lay_out(text, asked.format or "text")
        search = Search(
            model,
            n_best=1 + asked.alternatives,
            probabilities=asked.details,
            attention=asked.details,
        )
        found = await self.scheduler.search(user.name, search, layout.sentences)
        details = describe_text(model, layout, found) if asked.details else None
        ways = [
            layout.fill([pick(translations, rank).text for translations in found])
            for rank in range(1 + asked.alternatives)
        ]
        return Translated(
            ways[0], guess, [*dict.fromkeys(w for w in ways if w != ways[0])], details
        )

    async def _detect(self, text: str, target: str) -> Guess:
        among = self.models.sources(target)
        if not among:
            self.models.find(AUTO, target)
        return await asyncio.to_thread(detect_language, text, {*among, target})

    def _knows(self, code: str) -> bool:
        return any(code in model.pair for model in self.models.served)

    async def _lay_out(self, text: str, kind: str) -> Layout:
        if kind == "html":
            raise RequestError(400, "format html is not known here yet; send format text")
        if len(text) <= SHORT_CHARACTERS:
            return split_lines(text)
        return await asyncio.to_thread(split_lines, text)


def pick(translations: Sequence[Translation], rank: int) -> Translation:
    """Return a translation by rank, the last one where there are fewer."""
    return translations[min(rank, len(translations) - 1)]


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
    model: ServedModel, layout: Layout, found: Sequence[Sequence[Translation]]
) -> TextDetails:
    """Return how each sentence of a text was translated."""
    return TextDetails(
        sentences=[
            describe_sentence(model, before, sentence, translations)
            for before, sentence, translations in zip(
                layout.gaps, layout.sentences, found, strict=False
            )
        ],
        after=layout.gaps[-1],
    )


def describe_sentence(
    model: ServedModel, before: str, sentence: str, translations: Sequence[Translation]
) -> SentenceDetails:
    """Return how a sentence was translated."""
    best, *others = translations
    translator = model.translator
    threshold = translator.config.unsure_below
    attention = best.attention
    return SentenceDetails(
        before=before,
        source=sentence,
        text=best.text,
        score=best.score,
        unsure=best.score < (-math.inf if threshold is None else threshold),
        source_tokens=list(translator.source.tokens(sentence)),
        tokens=list(best.tokens),
        probabilities=[round(share, 4) for share in best.token_probabilities],
        attention=None if attention is None else attention.astype(float).round(4).tolist(),
        alternatives=[Alternative(text=one.text, score=one.score) for one in others],
    )
