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
from nmt_core.server.models import ServedModel
from nmt_core.server.schemas import Match, SuggestRequest
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import User
from nmt_core.text.language_codes import LanguageCodes
from nmt_core.translation.memory.journal import CorrectionJournal, Suggestion
from nmt_core.translation.memory.search import MemoryMatch, list_differences
from nmt_core.translation.memory.store import MemoryScope, TranslationMemory
from nmt_core.translation.translation import Translation, remember_translation

_log = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

MAX_MATCHED = 50
"""Sentences of a text that are compared with those of the memory."""

MAX_SUGGESTED = 5000
"""Characters of a suggestion, and of its source."""

SUGGESTED_PER_MINUTE = 10_000
"""Bytes of suggestions that a user may send in a minute: at most 14 MB a day."""


class ServedMemory:
    """Approved translations, and those of sentences of at least a similarity."""

    def __init__(self, path: Path, threshold: float) -> None:
        self.threshold = threshold
        self.problem = ""
        """Why it is not used now; empty if it is."""
        if not path.exists():
            _log.warning("the translation memory %s is new; nmt memory import fills it", path)
        self._memory = TranslationMemory(path)

    async def recall(
        self, user: User, pair: LanguageCodes, project: str, lines: Sequence[str]
    ) -> dict[str, Translation]:
        """Return the approved translations of those lines that have one."""
        scope = _name_scope(user, pair, project)
        found = await self._look_up(lambda line: self._memory.find_exact(line, scope), lines)
        return {line: remember_translation(unit.target) for line, unit in found.items() if unit}

    async def match(
        self, user: User, pair: LanguageCodes, project: str, lines: Sequence[str]
    ) -> dict[str, list[Match]]:
        """Return approved translations of sentences like the first ``MAX_MATCHED`` lines."""
        scope, first = _name_scope(user, pair, project), [*dict.fromkeys(lines)][:MAX_MATCHED]
        found = await self._look_up(
            lambda line: self._memory.search(line, scope, threshold=self.threshold), first
        )
        return {
            line: [describe_match(unit, line) for unit in units] for line, units in found.items()
        }

    async def _look_up(
        self, find: Callable[[str], ResultT], lines: Sequence[str]
    ) -> dict[str, ResultT]:
        """Return what the memory has of lines; nothing if it fails, for translating goes on."""
        try:
            found = await asyncio.to_thread(lambda: {line: find(line) for line in lines})
        except NmtError as error:
            if str(error) != self.problem:
                _log.warning("the translation memory is not used: %s", error)
            self.problem = str(error)
            return {}
        self.problem = ""
        return found


def describe_match(unit: MemoryMatch, line: str) -> Match:
    """Return a unit that is like a line, with what differs."""
    parts = list_differences(unit.source, line)
    difference = [{"kind": kind, "text": text} for kind, text in parts]
    return {**unit._asdict(), "score": round(unit.score, 4), "difference": difference}


def _name_scope(user: User, pair: LanguageCodes, project: str) -> MemoryScope:
    source, target = pair  # which the operator may name freely
    return MemoryScope(Languages.model_construct(source=source, target=target), project, user.key)


def open_journal(config: ServerConfig, *, has_keys: bool) -> CorrectionJournal:
    """Return the journal that keeps suggestions, unless users lack keys or it cannot be read."""
    if config.suggestions == "keys" and not has_keys:
        raise ConfigError("--suggestions keys requires --api-keys FILE")
    if config.corrections is None:
        raise ConfigError(f"--suggestions {config.suggestions} requires --corrections FILE")
    journal = CorrectionJournal(config.corrections)
    journal.check()
    return journal


def measure_suggestion(request: SuggestRequest) -> int:
    """Return the bytes of a suggestion; refuse one that is empty or too long."""
    for name, text in (("q", request.q), ("s", request.s)):
        if not text.strip():
            raise missing(name)
    texts = (request.q, request.s, request.before)
    if (longest := max(map(len, texts))) > MAX_SUGGESTED:
        raise beyond_limit(longest, MAX_SUGGESTED)
    return len("".join(texts).encode())


async def keep_suggestion(
    journal: CorrectionJournal, user: User, request: SuggestRequest, model: ServedModel
) -> None:
    """Append a suggestion to a journal; it is on the disk when this returns."""
    source, target = model.pair
    try:
        suggestion = Suggestion(
            languages=build(Languages, {"source": source, "target": target}, at="languages"),
            source=request.q,
            target=request.s,
            before=request.before,
            key=user.key,
            model=model.digest,
        )
        await asyncio.to_thread(journal.suggest, suggestion)
    except NmtError as error:
        _log.error("a suggestion could not be kept: %s", error)
        raise RequestError(
            507, "the server could not keep the suggestion, and its log says why; try later"
        ) from None
