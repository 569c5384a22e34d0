"""Suggestions of users, on their way into the journal of corrections."""

import asyncio
import logging

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.base.languages import Languages
from nmt_core.server.errors import RequestError, beyond_limit, missing
from nmt_core.server.models import ServedModel
from nmt_core.server.request_fields import check_characters
from nmt_core.server.schemas import SuggestRequest
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import RateLimit, User
from nmt_core.translation.memory.correction import Suggestion
from nmt_core.translation.memory.journal import MOST_JOURNAL_BYTES, CorrectionJournal

_log = logging.getLogger(__name__)

DAY = 86_400.0
DAILY_BYTES = MOST_JOURNAL_BYTES // 64
"""Bytes of suggestions that a user may send in a day."""


class SuggestionBox:
    """Keeps suggestions in a journal, within limits.

    Args:
        config: who may suggest, how much and how often.
        has_keys: whether users have API keys.

    Raises:
        ConfigError: if those who may suggest have no keys, or there is no journal.
        CorpusError: if the journal cannot be read.
    """

    def __init__(self, config: ServerConfig, *, has_keys: bool) -> None:
        self.config = config
        self.journal: CorrectionJournal | None = None
        self.rates = RateLimit()
        self.bytes = RateLimit(DAY, "bytes of suggestions a day")
        if config.suggestions == "off":
            return
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
        self.journal = CorrectionJournal(config.corrections)
        self.journal.check()

    def open(self) -> CorrectionJournal:
        """Return the journal.

        Raises:
            RequestError: if no suggestions are taken, in LibreTranslate's words.
        """
        if self.journal is None:
            raise RequestError(403, "Suggestions are disabled on this server.")
        return self.journal

    def check(self, user: User, request: SuggestRequest) -> None:
        """Make sure that a suggestion is within its limits, and count it.

        Raises:
            RequestError: naming the limit.
        """
        texts = [request.q, request.s, request.before]
        check_characters(texts)
        for name, text in (("q", request.q), ("s", request.s)):
            if not text.strip():
                raise missing(name)
        longest, limit = max(map(len, texts)), self.config.suggestion_characters
        if longest > limit:
            raise beyond_limit(longest, limit)
        self.rates.spend(User(user.name, self.config.suggestion_rate), 1)
        size = sum(len(text.encode()) for text in texts)
        self.bytes.spend(User(user.name, DAILY_BYTES), size)

    async def keep(self, user: User, request: SuggestRequest, model: ServedModel) -> None:
        """Append a suggestion; it is on the disk when this returns.

        Raises:
            RequestError: if there is no room.
        """
        journal = self.open()
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
