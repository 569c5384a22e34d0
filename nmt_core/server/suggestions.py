"""Suggestions of users, on their way into the journal of corrections."""

import asyncio
import logging

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.base.languages import Languages
from nmt_core.server.errors import RequestError, beyond_limit, missing
from nmt_core.server.models import ServedModel
from nmt_core.server.schemas import SuggestRequest
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import RateLimit, User
from nmt_core.translation.memory.correction import Suggestion
from nmt_core.translation.memory.journal import MOST_JOURNAL_BYTES, CorrectionJournal

_log = logging.getLogger(__name__)

DAY = 86_400.0
DAILY_BYTES = MOST_JOURNAL_BYTES // 64
"""Bytes of suggestions that a user may send in a day."""


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
