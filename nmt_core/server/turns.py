"""Fair turns: several tasks at a time, but one per user."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class Turns:
    """Slots, at most one per user; create it in the running event loop.

    Args:
        count: number of slots.
    """

    def __init__(self, count: int) -> None:
        self._places = asyncio.Semaphore(count)
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def take(self, user: str) -> AsyncIterator[None]:
        """Wait for a slot and hold it: first behind the user's other tasks, then in turn."""
        own = self._own.setdefault(user, asyncio.Lock())
        async with own, self._places:
            yield
