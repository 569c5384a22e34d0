"""Promote versions, and ask who is champion."""

from stages.registry.registry import Promotion


def promote(registry, version, expected, identity="p", **evidence):
    asked = Promotion(id=identity, by="me", reason="better", evidence=evidence)
    return registry.promote(version, expected=expected, promotion=asked)


def number(registry):
    """Return the number of the champion, if there is one."""
    champion = registry.champion()
    return champion.number if champion else None
