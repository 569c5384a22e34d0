"""Promote versions, and read the champion."""


def promote(registry, version, expected, identity="p", **evidence):
    wish = {"promotion": identity, "by": "me", "reason": "better", "evidence": evidence}
    return registry.promote(version, expected=expected, **wish)


def number(registry):
    """Return the number of the champion; None without one."""
    champion = registry.champion()
    return champion.number if champion else None
