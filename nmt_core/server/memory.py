"""The translation memory, as the server looks texts up in it."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from nmt_core.base.errors import NmtError
from nmt_core.base.languages import Languages
from nmt_core.server.models import LanguagePair
from nmt_core.server.schemas import Match, MatchPart
from nmt_core.server.users import User
from nmt_core.translation.memory.unit import MemoryScope
from nmt_core.translation.translation import Translation, remember_translation

_log = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

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
