"""A slice of a test set: sentences that have something in common, and what finds them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_core.literals.literal import LiteralFinder

Mask = NDArray[np.bool_]
"""Of each sentence of a test set, whether it belongs to a slice."""


@dataclass(frozen=True)
class SlicedText:
    """A test set, with what is known of its sentences beside their text."""

    sources: Sequence[str]
    references: Sequence[str]
    languages: tuple[str, str]
    """Codes of both."""
    confidences: Sequence[float | None] = ()
    """Of the translations; empty where nobody can tell."""
    word_counts: Mapping[str, int] = field(default_factory=dict)
    """Lines of training text that each word of the sources stands in; empty if not counted."""
    terms: Sequence[LiteralFinder] = ()
    """Those of a glossary."""


class Slice(NamedTuple):
    """A slice: its label, and what finds its sentences, or None where they cannot be told.

    Ours are in ``slices.py``; another package offers its own by entry points of
    ``nmt.slices``::

        def find_thanks(text):
            return ["thank" in line.casefold() for line in text.references]

        THANKS = Slice("that thank somebody", find_thanks)
    """

    label: str
    find: Callable[[SlicedText], Iterable[bool] | None]
