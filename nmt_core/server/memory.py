"""The translation memory and the journal of suggestions."""

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
from nmt_core.server.schemas import Match, SuggestRequest
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import User
from nmt_core.translation.memory.journal import CorrectionJournal, Suggestion
from nmt_core.translation.memory.store import MemoryScope
from nmt_core.translation.translation import Translation, remember_translation

_log = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

MAX_MATCHED = 50
"""Sentences of a text that are compared with those of the memory."""

MAX_SUGGESTED = 5000
"""Characters of a suggestion, and of its source."""

SUGGESTIONS_PER_MINUTE = 30


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
        from nmt_core.translation.memory import search, store  # needs rapidfuzz

        if not path.exists():
            _log.warning("the translation memory %s is new; nmt memory import fills it", path)
        self._memory = store.TranslationMemory(path)
        self._list_differences = search.list_differences

    async def recall(
        self, user: User, pair: LanguagePair, project: str, lines: Sequence[str]
    ) -> dict[str, Translation]:
        """Return the approved translations of those lines that have one."""
        return await self._look_up(self._recall, _name_scope(user, pair, project), lines)

    def _recall(self, line: str, scope: MemoryScope) -> Translation | None:
        match = self._memory.find_exact(line, scope)
        return remember_translation(match.target) if match else None

    async def match(
        self, user: User, pair: LanguagePair, project: str, lines: Sequence[str]
    ) -> dict[str, list[Match]]:
        """Return approved translations of sentences like the first :data:`MAX_MATCHED` lines."""
        first = [*dict.fromkeys(lines)][:MAX_MATCHED]
        return await self._look_up(self._match, _name_scope(user, pair, project), first)

    def _match(self, line: str, scope: MemoryScope) -> list[Match]:
        return [
            Match(
                source=match.source,
                target=match.target,
                score=round(match.score, 4),
                difference=[
                    {"kind": kind, "text": text}
                    for kind, text in self._list_differences(match.source, line)
                ],
            )
            for match in self._memory.search(line, scope, threshold=self.threshold)
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
        raise ConfigError("--suggestions keys requires --api-keys FILE")
    if config.corrections is None:
        raise ConfigError(f"--suggestions {config.suggestions} requires --corrections FILE")
    journal = CorrectionJournal(config.corrections)
    journal.check()
    return journal


def check_suggestion(request: SuggestRequest) -> None:
    """Refuse a suggestion that is empty or too long."""
    for name, text in (("q", request.q), ("s", request.s)):
        if not text.strip():
            raise missing(name)
    if (longest := max(map(len, (request.q, request.s, request.before)))) > MAX_SUGGESTED:
        raise beyond_limit(longest, MAX_SUGGESTED)


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
