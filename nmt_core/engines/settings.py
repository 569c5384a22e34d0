"""Folder and precisions of a bundle's engines."""

from typing import Literal

Precision = Literal["int8", "float32"]
"""The precision of products in an engine that export adds to a bundle."""

FOLDER = "engines"
"""The folder of engines: ``engines/NAME/``, and measurements in ``engines/NAME.json``."""

ENCODER, DECODER = "encoder.onnx", "decoder.onnx"
"""The graphs of ONNX Runtime's engine."""

AFTER = ".after"
"""Suffix of the decoder's state outputs."""
