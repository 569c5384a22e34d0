"""The variables of CTranslate2's ``model.bin``, checked before CTranslate2 reads them.

CTranslate2 believes what the file says of its variables: a wrong rank or shape makes it write
behind its memory. So every variable must be one that we write, with the shape that follows from
the vocabularies and from the few sizes of a Transformer.
"""

import math
import re
import struct
from pathlib import Path
from typing import BinaryIO

from nmt_core.text.vocabulary import Vocabulary

MODEL_FILE = "model.bin"
VERSION = 6
SPECIFICATION = "TransformerSpec"
ITEM_BYTES = (4, 1, 2, 4, 2, 2)
"""Bytes of a number by its type: float32, int8, int16, int32, float16, bfloat16."""

INTEGERS = (1, 2, 3)
MAX_RANK = 2
NAME = re.compile(
    r"(?P<side>encoder|decoder)/(?:layer_(?P<layer>\d{1,3})/)?(?P<module>\w+(?:/\w+)*?)"
    r"(?:/(?P<part>weight|weight_scale|bias|gamma|beta|encodings))?"
)
SETTINGS = re.compile(
    "activation|alibi(_use_positive_positions)?|alignment_(heads|layer)|embeddings_merge|num_heads"
    "|multi_query_attention|pre_norm|scale_(alibi|embeddings)|start_from_zero_embedding"
    "|self_attention/rotary_(base|dim|interleave)"
)
"""Names of single numbers."""


def check_model_file(path: Path, source: Vocabulary, target: Vocabulary) -> None:
    """Check the variables of ``model.bin``.

    Raises:
        ValueError: naming the first variable that is not as we write it.
        struct.error: if the file ends too early.
    """
    with path.open("rb") as file:
        variables = _read_variables(file)
    shape_of = {name: shape for name, (shape, _) in variables.items()}
    value_of = {name: value for name, (_, value) in variables.items()}
    width = shape_of["decoder/embeddings/weight"][1]
    hidden = shape_of["decoder/layer_0/ffn/linear_0/weight"][0]
    tokens = {"encoder": len(source), "decoder": len(target)}
    shapes = {
        "self_attention/linear_0": (3 * width, width),
        "self_attention/linear_1": (width, width),
        "attention/linear_0": (width, width),
        "attention/linear_1": (2 * width, width),
        "attention/linear_2": (width, width),
        "ffn/linear_0": (hidden, width),
        "ffn/linear_1": (width, hidden),
    }
    heads, rotary = value_of["decoder/num_heads"], "self_attention/rotary_dim"
    layers = {side: set[int]() for side in tokens}
    for name, (shape, value) in variables.items():
        match = NAME.fullmatch(name)
        if not match or (match["side"] == "encoder" and match["module"].startswith("attention")):
            raise ValueError(f"variable {name[:60]!r} is not of this format")
        side, module, part = match["side"], match["module"], match["part"]
        layers[side] |= {int(match["layer"])} if match["layer"] else set()
        table = (tokens[side], width)
        rows = shapes.get(module, table)
        expected = {
            None: (),
            "weight": rows,
            "bias": rows[:1],
            "weight_scale": rows[:1],
            "gamma": (width,),
            "beta": (width,),
            "encodings": (*(shape or (0,))[:1], width),
        }[part]
        limits = {"num_heads": (1, width), rotary: (0, width // max(heads, 1))}
        low, high = limits.get(module, (-1, 2**32))
        if shape != expected or (part is None and not SETTINGS.fullmatch(module)):
            raise ValueError(f"variable {name[:60]!r} has the shape {shape}")
        if not low <= value <= high or (module == "num_heads" and width % value):
            raise ValueError(f"variable {name[:60]!r} is {value}")
    last = value_of["decoder/alignment_layer"]
    if last not in layers["decoder"] or value_of["decoder/alignment_heads"]:
        raise ValueError("the attention to report is not that of all heads of a layer")
    for side, numbers in layers.items():
        if numbers != {*range(len(numbers))}:
            raise ValueError(f"layers of the {side} are missing")


def _read_variables(file: BinaryIO) -> dict[str, tuple[tuple[int, ...], int]]:
    """Return shape and value of the variables by name, aliases included.

    The value is that of a single integer, and -1 for another number or an array.
    """
    version, name, _ = _read(file, "I"), _read_name(file), _read(file, "I")
    if version != VERSION or name != SPECIFICATION:
        raise ValueError("it is not a Transformer of version 6")
    variables: dict[str, tuple[tuple[int, ...], int]] = {}
    for _ in range(_read(file, "I")):
        name, rank = _read_name(file), _read(file, "B")
        if rank > MAX_RANK:
            raise ValueError(f"variable {name[:60]!r} has {rank} dimensions")
        shape = tuple(_read(file, "I") for _ in range(rank))
        kind, size = _read(file, "B"), _read(file, "I")
        if kind >= len(ITEM_BYTES) or size != math.prod(shape) * ITEM_BYTES[kind]:
            raise ValueError(f"variable {name[:60]!r} has {size} bytes for the shape {shape}")
        content = b"" if rank else file.read(size)
        file.seek(size if rank else 0, 1)
        value = int.from_bytes(content, "little") if content and kind in INTEGERS else -1
        variables[name] = shape, value
    for _ in range(_read(file, "I")):
        alias, original = _read_name(file), _read_name(file)
        variables[alias] = variables[original]
    if file.tell() != file.seek(0, 2):
        raise ValueError("it does not end where its variables do")
    return variables


def _read(file: BinaryIO, kind: str) -> int:
    [number] = struct.unpack(f"<{kind}", file.read(struct.calcsize(f"<{kind}")))
    return int(number)


def _read_name(file: BinaryIO) -> str:
    return file.read(_read(file, "H")).removesuffix(b"\0").decode("ascii")
