"""Some go on at the same time, of each user one: who asks for much waits for themselves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class Turns:
    """Places, of which a user has at most one; to be made in the event loop that runs.

    Args:
        count: of places.
    """

    def __init__(self, count: int) -> None:
        self._places = asyncio.Semaphore(count)
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def take(self, user: str) -> AsyncIterator[None]:
        """Wait for a place, and hold it: behind other requests of the user, then in turn."""
        own = self._own.setdefault(user, asyncio.Lock())
        async with own, self._places:
            yield
