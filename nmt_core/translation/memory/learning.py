"""What is approved enters a memory; what is dropped or deleted leaves it."""

from collections.abc import Iterable

from nmt_core.translation.memory.correction import Correction
from nmt_core.translation.memory.store import TranslationMemory
from nmt_core.translation.memory.unit import MemoryScope, MemoryUnit


def remember_corrections(
    memory: TranslationMemory, corrections: Iterable[Correction], *, shared: bool
) -> int:
    """Put approved corrections into a memory, the newest last; return how many.

    Args:
        memory: to put them into.
        corrections: others than approved ones are left out.
        shared: whether everybody is served them, or only the users of the key that gave each.
            Without keys, all users are one.
    """
    units: dict[MemoryScope, list[MemoryUnit]] = {}
    for each in sorted(corrections, key=lambda one: one.place):
        if each.status == "approved":
            told = each.suggestion
            scope = MemoryScope(told.languages, key="" if shared else told.key)
            units.setdefault(scope, []).append(MemoryUnit(told.source, told.target, each.id))
    return sum(memory.put(scope, some) for scope, some in units.items())


def forget_corrections(
    memory: TranslationMemory, corrections: Iterable[Correction], *, key: str = ""
) -> int:
    """Delete what comes of corrections, and all of a key, from a memory; return how many units."""
    return memory.delete(origins=[each.id for each in corrections], key=key)
