"""Registries of implementations by name, built in or from other packages."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import Generic, TypeVar

from nmt_core.base.errors import ConfigError, suggest

Entry = TypeVar("Entry")


@dataclass(eq=False)
class Registry(Generic[Entry]):
    """Implementations of one kind, which are imported at their first use.

    Another package adds one by an entry point; for a ``Registry("a metric", "nmt.metrics", ...)``::

        [project.entry-points."nmt.metrics"]
        ter = "their_package.ter:Ter"

    Entry points are read only for names that are not in ``builtins``, whose values are
    implementations or their ``module:name``.
    """

    noun: str
    group: str
    builtins: Mapping[str, Entry | str]

    def __iter__(self) -> Iterator[str]:
        """Yield all names, the built-in ones first."""
        yield from self.builtins
        yield from (name for name in self._entry_points() if name not in self.builtins)

    def __contains__(self, name: object) -> bool:
        """Return whether the name is registered, without loading its implementation."""
        return name in self.builtins or name in self._entry_points()

    def add(self, **entries: Entry | str) -> None:
        """Add implementations from a room that the room of the registry must not import."""
        self.builtins = {**self.builtins, **entries}

    def check(self, name: str) -> str:
        """Return a registered name, without loading its implementation.

        Raises:
            ValueError: if the name is not registered.
        """
        if name not in self:
            raise ValueError(self._explain_unknown(name))
        return name

    def load(self, name: str) -> Entry:
        """Import and return an implementation.

        Raises:
            ConfigError: if the name is not registered.
        """
        target = self.builtins.get(name) or self._entry_points().get(name)
        if target is None:
            raise ConfigError(self._explain_unknown(name))
        entry: Entry = resolve_name(target) if isinstance(target, str) else target
        return entry

    def _explain_unknown(self, name: str) -> str:
        return f"{name!r} is not {self.noun}; {suggest(name, self)}"

    def _entry_points(self) -> Mapping[str, str]:
        return _read_entry_points(self.group, tuple(sys.path))


@cache
def _read_entry_points(group: str, _path: tuple[str, ...]) -> Mapping[str, str]:
    """Return the values of a group's entry points by name; ``_path`` is a key of the cache."""
    from importlib import metadata  # slow, and seldom needed

    return {point.name: point.value for point in metadata.entry_points(group=group)}
