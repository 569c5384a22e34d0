"""Which engines an exported model may hold, and which a person may ask for."""

from typing import Literal, get_args

Precision = Literal["int8", "float32"]
"""How an engine that export adds to a bundle multiplies."""

Program = Literal["ctranslate2", "onnx"]
"""What runs it: CTranslate2 where it can express a model, ONNX Runtime elsewhere."""

Added = Literal["ctranslate2_int8", "ctranslate2_float32", "onnx_int8", "onnx_float32"]
"""An engine that export can add to a bundle, the fastest first."""

PREFERRED: tuple[Added, ...] = get_args(Added)
"""All of them, the fastest first."""

PACKAGES: dict[str, str] = {"ctranslate2": "ctranslate2", "onnx": "onnxruntime"}
"""What has to be installed for a program."""

FOLDER = "engines"
"""Where a bundle keeps them: ``engines/NAME/`` and what was measured in ``engines/NAME.json``."""

ENCODER, DECODER = "encoder.onnx", "decoder.onnx"
"""The graphs of ONNX Runtime's engine."""

AFTER = ".after"
"""Ends the name of what the decoder carries on, where that comes out."""

ENGINES = ("auto", *get_args(Program), *PREFERRED, "torch")
"""What a person may ask for: ``auto`` takes the fastest one that is there, ``ctranslate2`` or
``onnx`` the fastest of that program's."""


def name_engine(program: Program, precision: Precision) -> Added:
    """Return what a program of a precision is called."""
    return next(name for name in PREFERRED if name == f"{program}_{precision}")


def find_program(engine: str) -> str:
    """Return the program that runs an engine."""
    return engine.partition("_")[0]
