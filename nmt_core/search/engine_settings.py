"""Folder and precisions of a bundle's engines."""

from typing import Literal

from pydantic import FiniteFloat

from nmt_core.base.config import Config

Precision = Literal["int8", "float32"]
"""The precision of products in an engine that export adds to a bundle."""

FOLDER = "engines"
"""The folder of engines: ``engines/NAME/``, and measurements in ``engines/NAME.json``."""

SHORTLIST = "vmap.txt"
"""The file of CTranslate2's engine with its shortlist, if it has one."""

SCORES = "scores.json"
"""The file beside it with the shift of its scores."""


class ScoreShift(Config):
    """How much higher scores are of a search that looks at a shortlist."""

    shift: FiniteFloat
    """In the mean of the validation sentences that PyTorch translates alike."""
