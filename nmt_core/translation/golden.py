"""Golden sentences: what a model made of a few lines when it was exported, to compare with now."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from nmt_core import files
from nmt_core.config import Config
from nmt_core.engines.settings import FOLDER
from nmt_core.errors import BundleError
from nmt_core.seal import explain_unreadable
from nmt_core.translation.translator import Translator


class Answer(Config):
    """What the model made of a line when it was exported."""

    source: str
    """The line."""
    ids: tuple[int, ...]
    """The numbers of its translation's tokens."""
    text: str
    """The translation."""


class Mismatch(NamedTuple):
    """A line that the model no longer translates as it did when it was exported."""

    source: str
    expected: str
    got: str


def translate_golden(translator: Translator, lines: Sequence[str]) -> list[Answer]:
    """Return what the model makes of the lines."""
    found = translator.search(lines, n_best=1, probabilities=False)
    return [
        Answer(source=line, ids=best.ids, text=best.text)
        for line, [best] in zip(lines, found, strict=True)
    ]


def check_golden(translator: Translator, folder: Path) -> list[Mismatch]:
    """Translate the lines kept in ``folder`` again; return those that come out differently.

    What an engine made of them when the model was exported is compared with what it makes of them
    now.

    Raises:
        BundleError: if it keeps none, which would prove nothing.
    """
    name = translator.engine.name
    path = folder / ("golden.json" if name == "torch" else f"{FOLDER}/{name}.json")
    with explain_unreadable(path):
        kept = files.read_json(path)
        answers = kept if name == "torch" else kept["golden"]
        expected = TypeAdapter(list[Answer]).validate_json(json.dumps(answers))
    if not expected:
        raise BundleError(f"{path} holds no line to translate again; export the model again")
    got = translate_golden(translator, [answer.source for answer in expected])
    return [
        Mismatch(old.source, old.text, new.text)
        for old, new in zip(expected, got, strict=True)
        if old != new
    ]
