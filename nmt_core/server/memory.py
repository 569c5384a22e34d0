"""The server's translation memory and journal of suggestions."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.base.languages import Languages
from nmt_core.server.errors import RequestError, missing_parameter, text_limit_exceeded
from nmt_core.server.models import ServedModel
from nmt_core.server.schemas import Match, SuggestRequest
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import User
from nmt_core.text.language_codes import LanguageCodes
from nmt_core.text.translation import Translation
from nmt_core.translation.memory.journal import CorrectionJournal, Suggestion
from nmt_core.translation.memory.search import MemoryMatch, list_differences
from nmt_core.translation.memory.store import MemoryScope, TranslationMemory
from nmt_core.translation.translation import remember_translation

_log = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

MAX_MATCHED_SENTENCES = 50
"""Maximum sentences of a text to look up similar units for."""

MAX_SUGGESTION_CHARACTERS = 5000
"""Maximum characters of a suggestion, and of its source."""

SUGGESTION_RATE = 10_000
"""Maximum bytes of suggestions per user and minute, which is 14 MB per day."""


class ServedMemory:
    """A translation memory; ``threshold`` is the minimum similarity of a match, from 0 to 1."""

    def __init__(self, path: Path, threshold: float) -> None:
        self.threshold = threshold
        self.problem = ""
        """The last error; empty if the last look-up succeeded."""
        if not path.exists():
            _log.warning("the translation memory %s is new; fill it with nmt memory import", path)
        self._memory = TranslationMemory(path)

    async def recall(
        self, user: User, pair: LanguageCodes, project: str, lines: Sequence[str]
    ) -> dict[str, Translation]:
        """Return the approved translation of each line that has one."""
        scope = _name_scope(user, pair, project)
        units = await self._look_up(lambda line: self._memory.find_exact(line, scope), lines)
        return {line: remember_translation(unit.target) for line, unit in units.items() if unit}

    async def match(
        self, user: User, pair: LanguageCodes, project: str, lines: Sequence[str]
    ) -> dict[str, list[Match]]:
        """Return the similar units of each of the first ``MAX_MATCHED_SENTENCES`` lines."""
        scope, first = _name_scope(user, pair, project), [*dict.fromkeys(lines)]
        matches = await self._look_up(
            lambda line: self._memory.search(line, scope, threshold=self.threshold),
            first[:MAX_MATCHED_SENTENCES],
        )
        return {
            line: [describe_match(unit, line) for unit in units] for line, units in matches.items()
        }

    async def _look_up(
        self, find: Callable[[str], ResultT], lines: Sequence[str]
    ) -> dict[str, ResultT]:
        """Return the result for each line; if the memory fails, log the error and return {}."""
        try:
            results = await asyncio.to_thread(lambda: {line: find(line) for line in lines})
        except NmtError as error:
            if str(error) != self.problem:
                _log.warning("the translation memory is not used: %s", error)
            self.problem = str(error)
            return {}
        self.problem = ""
        return results


def describe_match(unit: MemoryMatch, line: str) -> Match:
    """Return a similar unit as JSON, with its differences from the line."""
    spans = list_differences(unit.source, line)
    difference = [{"kind": kind, "text": text} for kind, text in spans]
    return {**unit._asdict(), "score": round(unit.score, 4), "difference": difference}


def _name_scope(user: User, pair: LanguageCodes, project: str) -> MemoryScope:
    source, target = pair  # without validation, because operators may use other codes
    return MemoryScope(Languages.model_construct(source=source, target=target), project, user.key)


def open_journal(config: ServerConfig, *, has_keys: bool) -> CorrectionJournal:
    """Return the journal of suggestions."""
    if config.suggestions == "keys" and not has_keys:
        raise ConfigError("--suggestions keys requires --api-keys FILE")
    if config.corrections is None:
        raise ConfigError(f"--suggestions {config.suggestions} requires --corrections FILE")
    journal = CorrectionJournal(config.corrections)
    journal.check()
    return journal


def measure_suggestion(request: SuggestRequest) -> int:
    """Return the size of a suggestion in bytes."""
    for name, text in (("q", request.q), ("s", request.s)):
        if not text.strip():
            raise missing_parameter(name)
    texts = (request.q, request.s, request.before)
    if (longest := max(map(len, texts))) > MAX_SUGGESTION_CHARACTERS:
        raise text_limit_exceeded(longest, MAX_SUGGESTION_CHARACTERS)
    return len("".join(texts).encode())


async def append_suggestion(
    journal: CorrectionJournal, user: User, request: SuggestRequest, model: ServedModel
) -> None:
    """Append a suggestion to the journal, and wait until it is on disk."""
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
        _log.error("cannot store a suggestion: %s", error)
        raise RequestError(
            507, "the server cannot store the suggestion; see its log, and try again later"
        ) from None
