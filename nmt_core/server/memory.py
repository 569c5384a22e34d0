"""The translation memory and the journal of suggestions, by which users give back."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.base.languages import Languages
from nmt_core.server.errors import RequestError, beyond_limit, missing
from nmt_core.server.models import LanguagePair, ServedModel
from nmt_core.server.schemas import Match, MatchPart, SuggestRequest
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import RateLimit, User
from nmt_core.translation.memory.correction import Suggestion
from nmt_core.translation.memory.journal import MOST_JOURNAL_BYTES, CorrectionJournal
from nmt_core.translation.memory.unit import MemoryScope
from nmt_core.translation.translation import Translation, remember_translation

_log = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

DAY = 86_400.0
DAILY_BYTES = MOST_JOURNAL_BYTES // 64
"""Bytes of suggestions that a user may send in a day."""

MAX_MATCHED = 50
"""Sentences of a text that are compared with those of the memory."""


class ServedMemory:
    """Approved translations, and those of similar sentences.

    Args:
        path: of the memory; None for none.
        threshold: similarity from which a unit is offered.

    Raises:
        CorpusError: if it is no memory of this version.
    """

    def __init__(self, path: Path | None, threshold: float) -> None:
        self.exists = path is not None
        self.problem = ""
        """Why it is not used now; empty if it is."""
        self.threshold = threshold
        if path is None:
            return
        from nmt_core.translation.memory import difference, store  # for few servers

        if not path.exists():
            _log.warning("the translation memory %s is new; nmt memory import fills it", path)
        self._memory = store.TranslationMemory(path)
        self._list_differences = difference.list_differences

    async def recall(
        self, user: User, pair: LanguagePair, project: str, lines: Sequence[str]
    ) -> dict[str, Translation]:
        """Return the approved translations of those lines that have one."""
        return await self._look_up(self._recall, _name_scope(user, pair, project), lines)

    def _recall(self, line: str, scope: MemoryScope) -> Translation | None:
        unit = self._memory.find_exact(line, scope)
        return remember_translation(unit.target) if unit else None

    async def match(
        self, user: User, pair: LanguagePair, project: str, lines: Sequence[str]
    ) -> dict[str, list[Match]]:
        """Return approved translations of sentences like the first :data:`MAX_MATCHED` lines."""
        first = [*dict.fromkeys(lines)][:MAX_MATCHED]
        return await self._look_up(self._match, _name_scope(user, pair, project), first)

    def _match(self, line: str, scope: MemoryScope) -> list[Match]:
        return [
            Match(
                source=unit.source,
                target=unit.target,
                score=round(unit.score, 4),
                difference=[
                    MatchPart(**part._asdict())
                    for part in self._list_differences(unit.source, line)
                ],
            )
            for unit in self._memory.search(line, scope, threshold=self.threshold, approved=True)
        ]

    async def _look_up(
        self,
        find: Callable[[str, MemoryScope], ResultT | None],
        scope: MemoryScope,
        lines: Sequence[str],
    ) -> dict[str, ResultT]:
        """Return what the memory has of lines; nothing if it fails, for translating goes on."""
        if not self.exists:
            return {}
        try:
            results = await asyncio.to_thread(lambda: {line: find(line, scope) for line in lines})
        except NmtError as error:
            if str(error) != self.problem:
                _log.warning("the translation memory is not used: %s", error)
            self.problem = str(error)
            return {}
        self.problem = ""
        return {line: result for line, result in results.items() if result is not None}


def _name_scope(user: User, pair: LanguagePair, project: str) -> MemoryScope:
    languages = Languages.model_construct(**pair._asdict())  # the operator may name them freely
    return MemoryScope(languages, project, user.key)


def open_journal(config: ServerConfig, *, has_keys: bool) -> CorrectionJournal | None:
    """Return the journal that keeps suggestions, if the server takes any.

    Raises:
        ConfigError: if those who may suggest have no keys, or there is no journal.
        CorpusError: if the journal cannot be read.
    """
    if config.suggestions == "off":
        return None
    if config.suggestions == "keys" and not has_keys:
        raise ConfigError(
            "--suggestions keys takes suggestions of users with API keys, and there are none; "
            "give --api-keys FILE, or --suggestions all"
        )
    if config.corrections is None:
        raise ConfigError(
            f"--suggestions {config.suggestions} keeps suggestions in a file; name it by "
            f"--corrections, such as corrections.jsonl"
        )
    journal = CorrectionJournal(config.corrections)
    journal.check()
    return journal


class SuggestionLimits:
    """Limits of suggestions: their length, and how many a user may send."""

    def __init__(self, config: ServerConfig) -> None:
        self._characters, self._rate = config.suggestion_characters, config.suggestion_rate
        self._suggestions = RateLimit()
        self._bytes = RateLimit(DAY, "bytes of suggestions a day")

    def check(self, user: User, request: SuggestRequest) -> None:
        """Count a suggestion; refuse one that is empty, too long or one too many."""
        texts = [request.q, request.s, request.before]
        for name, text in (("q", request.q), ("s", request.s)):
            if not text.strip():
                raise missing(name)
        if (longest := max(map(len, texts))) > self._characters:
            raise beyond_limit(longest, self._characters)
        self._suggestions.spend(User(user.name, self._rate), 1)
        self._bytes.spend(User(user.name, DAILY_BYTES), sum(len(text.encode()) for text in texts))


async def keep_suggestion(
    journal: CorrectionJournal, user: User, request: SuggestRequest, model: ServedModel
) -> None:
    """Append a suggestion to a journal; it is on the disk when this returns."""
    try:
        suggestion = Suggestion(
            languages=build(Languages, model.pair._asdict(), at="languages"),
            source=request.q,
            target=request.s,
            before=request.before,
            key=user.key,
            model=model.bundle.digest,
        )
        await asyncio.to_thread(journal.suggest, suggestion)
    except NmtError as error:
        _log.error("a suggestion could not be kept: %s", error)
        raise RequestError(
            507, "the server could not keep the suggestion, and its log says why; try later"
        ) from None
