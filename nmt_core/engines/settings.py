"""Which engines an exported model may hold, and which a person may ask for."""

from typing import Literal, get_args

Added = Literal["ctranslate2_int8", "ctranslate2_float32"]
"""An engine that export can add to a bundle, the fastest first."""

PREFERRED: tuple[Added, ...] = get_args(Added)
"""All of them, the fastest first."""

FOLDER = "engines"
"""Where a bundle keeps them: ``engines/NAME/`` and what was measured in ``engines/NAME.json``."""

ENGINES = ("auto", "ctranslate2", "ctranslate2_int8", "ctranslate2_float32", "torch")
"""What a person may ask for: ``auto`` takes the fastest one that is there, ``ctranslate2`` the
fastest of that program's."""
