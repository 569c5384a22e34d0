"""Things by name: ours from a table, those of others by the entry points of their packages."""

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pkgutil import resolve_name
from typing import Generic, TypeVar

from nmt_core.base.errors import ConfigError, suggest

Thing = TypeVar("Thing")


class Registry(Generic[Thing]):
    """Things of one kind, each loaded at its first use.

    Another package adds one by an entry point; for a ``Registry("a metric", "nmt.metrics", ...)``::

        [project.entry-points."nmt.metrics"]
        ter = "their_package.ter:Ter"

    Entry points are read only for names that are not ours, which are things or ``module:thing``.
    """

    def __init__(self, noun: str, group: str, ours: Mapping[str, Thing | str]) -> None:
        self.noun, self.group, self.ours = noun, group, ours

    def __iter__(self) -> Iterator[str]:
        """Yield all names, ours first."""
        yield from self.ours
        yield from (name for name in self._theirs() if name not in self.ours)

    def __contains__(self, name: object) -> bool:
        """Tell whether there is such a thing, without loading it."""
        return name in self.ours or name in self._theirs()

    def add(self, **things: Thing | str) -> None:
        """Add things of a package above that of the registry."""
        self.ours = {**self.ours, **things}

    def check(self, name: str) -> str:
        """Check a name without loading its thing, and return it.

        Raises:
            ValueError: if there is no such thing.
        """
        if name not in self:
            raise ValueError(f"{name!r} is not {self.noun}; {suggest(name, self)}")
        return name

    def load(self, name: str) -> Thing:
        """Load the thing of a name.

        Raises:
            ConfigError: if there is no such thing.
        """
        try:
            self.check(name)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        target = self.ours[name] if name in self.ours else self._theirs()[name]
        thing: Thing = resolve_name(target) if isinstance(target, str) else target
        return thing

    def _theirs(self) -> Mapping[str, str]:
        return _read_entry_points(self.group, tuple(sys.path))


@cache
def _read_entry_points(group: str, _path: tuple[str, ...]) -> Mapping[str, str]:
    """Return the values of a group's entry points by name; the path is a key of the cache."""
    from importlib import metadata  # slow, and seldom needed

    return {point.name: point.value for point in metadata.entry_points(group=group)}
