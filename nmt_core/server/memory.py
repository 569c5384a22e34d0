"""The translation memory as the server asks it."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from nmt_core.base.errors import NmtError
from nmt_core.base.languages import Languages
from nmt_core.server.limits import User
from nmt_core.server.models import LanguagePair
from nmt_core.server.schemas import Match, MatchPart
from nmt_core.translation.memory.unit import MemoryMatch, MemoryScope
from nmt_core.translation.translation import Translation, remember_translation

_log = logging.getLogger(__name__)

FoundT = TypeVar("FoundT")

MOST_MATCHED = 50
"""Sentences of a text that are compared with those of the memory."""


class ServedMemory:
    """Translations that were approved, and those like them.

    Args:
        path: of the memory, or None.
        threshold: similarity from which a unit is offered.

    Raises:
        CorpusError: if it is no memory of this version.
    """

    def __init__(self, path: Path | None, threshold: float) -> None:
        self.is_there = path is not None
        self.problem = ""
        """Why it is not used now; empty if it is."""
        self.threshold = threshold
        if path is not None:
            from nmt_core.translation.memory.difference import list_differences  # optional
            from nmt_core.translation.memory.store import TranslationMemory

            if not path.exists():
                _log.warning("the translation memory %s is new; nmt memory import fills it", path)
            self._memory = TranslationMemory(path)
            self._differ = list_differences

    async def translate(
        self, user: User, pair: LanguagePair, project: str, lines: Sequence[str]
    ) -> dict[str, Translation]:
        """Return the approved translations of lines, of those that have one."""
        if not self.is_there:
            return {}
        scope = _name_scope(user, pair, project)

        def find() -> dict[str, Translation]:
            found = {line: self._memory.find_exact(line, scope) for line in lines}
            return {line: remember_translation(one.target) for line, one in found.items() if one}

        return await self._ask(find)

    async def match(
        self, user: User, pair: LanguagePair, project: str, lines: Sequence[str]
    ) -> dict[str, list[Match]]:
        """Return what is like lines, of the first :data:`MOST_MATCHED`."""
        if not self.is_there:
            return {}
        scope = _name_scope(user, pair, project)

        def search(line: str) -> list[Match]:
            found = self._memory.search(line, scope, threshold=self.threshold, approved=True)
            return [self._describe(line, one) for one in found]

        first = [*dict.fromkeys(lines)][:MOST_MATCHED]
        return await self._ask(lambda: {line: search(line) for line in first})

    async def _ask(self, find: Callable[[], dict[str, FoundT]]) -> dict[str, FoundT]:
        """Return what the memory knows; nothing where it fails, for translating goes on."""
        try:
            found = await asyncio.to_thread(find)
        except NmtError as error:
            if str(error) != self.problem:
                _log.warning("the translation memory is not used: %s", error)
            self.problem = str(error)
            return {}
        self.problem = ""
        return found

    def _describe(self, line: str, found: MemoryMatch) -> Match:
        parts = [MatchPart(**part._asdict()) for part in self._differ(found.source, line)]
        score = round(found.score, 4)
        return Match(source=found.source, target=found.target, score=score, difference=parts)


def _name_scope(user: User, pair: LanguagePair, project: str) -> MemoryScope:
    languages = Languages.model_construct(**pair._asdict())  # whatever an operator calls them
    return MemoryScope(languages, project, user.key)
