"""Where a bundle keeps its engines, and how precisely they compute."""

from typing import Literal

Precision = Literal["int8", "float32"]
"""How an engine that export adds to a bundle multiplies."""

FOLDER = "engines"
"""Where a bundle keeps them: ``engines/NAME/`` and what was measured in ``engines/NAME.json``."""

ENCODER, DECODER = "encoder.onnx", "decoder.onnx"
"""The graphs of ONNX Runtime's engine."""

AFTER = ".after"
"""Ends the name of what the decoder carries on, where that comes out."""
