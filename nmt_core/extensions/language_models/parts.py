"""Parts of a text in order: training, validation and test."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from nmt_core.base.errors import CorpusError
from nmt_core.extensions.language_models.units import Units, WordUnit
from nmt_core.text.vocabulary import SPECIALS


class Parts(NamedTuple):
    """Of one text, in its order."""

    training: str
    validation: str
    test: str
    """Empty where none was asked for."""


def cut_in_order(
    text: str, *, held_out: float, tested: float = 0.0, gap: int = 0, document: bool
) -> Parts:
    """Cut a text, so that no part overlaps another, nor stands next to it if there is a gap.

    Shuffled parts would share sentences and paragraphs (Géron, "How to Split a Sequential
    Dataset": the first 90 %, the next 5 %, the last 5 %, and a gap in between).

    Args:
        text: characters if it is a document, else lines.
        held_out: share to validate on; with 0, all is learnt from, and validated on, too.
        tested: share after it to test on.
        gap: characters, or lines, left out before each of the two.
        document: whether the text is one stream, rather than lines.

    Raises:
        CorpusError: if a part would be empty.
    """
    pieces = list(text) if document else text.removesuffix("\n").split("\n")
    count = len(pieces)
    test = count - round(count * tested)
    validation_end = test - gap if tested else count
    validation = validation_end - max(1, round(count * held_out))
    training = validation - gap
    if not held_out:
        validation, training = 0, validation_end
    if training < 1 or (tested and test >= count):
        raise CorpusError(
            "the text is too short to hold out any of it; give more, or a text for --validation"
        )
    joint = "" if document else "\n"
    spans = ((0, training), (validation, validation_end), (test, count))
    return Parts(*(joint.join(pieces[begin:end]) for begin, end in spans))


def encode_parts(
    parts: Parts, units: Units, *, masked: bool, tested: bool
) -> dict[str, Int[np.ndarray, " N"]]:
    """Return the texts for training, validation and, if one was asked for, the test.

    Args:
        parts: the texts.
        units: what they are made of.
        masked: whether known tokens are to be hidden in them.
        tested: whether there is a test.

    Raises:
        CorpusError: naming the first of them that holds nothing to read, or nothing to hide.
    """
    names = [name for name in parts._fields if tested or name != "test"]
    encoded = {name: units.encode(getattr(parts, name), name=f"{name} text") for name in names}
    for name, text in encoded.items():
        if masked and not (text >= len(SPECIALS)).any():
            remedy = ", or lower unit.min_count" if isinstance(units.config, WordUnit) else ""
            raise CorpusError(
                f"the {name} text holds no {units.config.kind} that the model knows, so there is "
                f"none to hide; give more text{remedy}"
            )
    return encoded
