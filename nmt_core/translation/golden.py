"""Golden sentences: a model's translations at the time of export, to compare with later ones."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import BundleError
from nmt_core.base.seal import explain_unreadable
from nmt_core.search.registered import FOLDER
from nmt_core.translation.translator import Translator

_log = logging.getLogger(__name__)

FEW = 2
"""Golden sentences that may differ: another processor rounds otherwise, and so decides otherwise
where two translations are almost equally good."""


class Answer(Config):
    """The model's translation of a line at the time of export."""

    source: str
    ids: tuple[int, ...]
    """Numbers of the translation's tokens."""
    text: str
    """The translation."""


class Mismatch(NamedTuple):
    """A line that the model no longer translates as it did when it was exported."""

    source: str
    expected: str
    got: str


def translate_golden(translator: Translator, lines: Sequence[str]) -> list[Answer]:
    """Translate the golden sentences."""
    translations = translator.search(lines, n_best=1, probabilities=False)
    return [
        Answer(source=line, ids=best.ids, text=best.text)
        for line, [best] in zip(lines, translations, strict=True)
    ]


def check_golden(translator: Translator, folder: Path) -> list[Mismatch]:
    """Translate the golden sentences of a bundle again; return those that differ.

    Each engine is compared with its own translations at the time of export.

    Raises:
        BundleError: if the bundle holds none, which would prove nothing.
    """
    name = translator.engine.name
    path = folder / ("golden.json" if name == "torch" else f"{FOLDER}/{name}.json")
    with explain_unreadable(path):
        stored = files.read_json(path)
        answers = stored if name == "torch" else stored["golden"]
        expected = TypeAdapter(list[Answer]).validate_json(json.dumps(answers))
    if not expected:
        raise BundleError(f"{path} holds no line to translate again; export the model again")
    got = translate_golden(translator, [answer.source for answer in expected])
    return [
        Mismatch(old.source, old.text, new.text)
        for old, new in zip(expected, got, strict=True)
        if old != new
    ]


def load_verified(
    folder: Path, *, engine: str = "auto", device: str = "auto", threads: int | None = None
) -> Translator:
    """Load an exported model, see ``Translator.load``, and check its golden sentences.

    Raises:
        BundleError: if it is incomplete or altered, or translates otherwise than it did.
        ConfigError: if the engine or the device is not there.
    """
    translator = Translator.load(folder, engine=engine, device=device, threads=threads)
    changed = len(check_golden(translator, folder))
    if changed > FEW:
        raise BundleError(
            f"{folder} translates {changed} of its golden sentences otherwise than when it was "
            f"exported; check device and library versions, or export it again"
        )
    if changed:
        _log.warning("%d golden sentences come out otherwise, as rounding may have it", changed)
    return translator
