"""Usual translations of words: a file beside the tokenizers, learnt by an aligner."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from nmt_core.base import files

WORD_TRANSLATIONS = "translations.json"

_FORM = TypeAdapter(dict[str, list[str]])


def save_word_translations(folder: Path, translations: Mapping[str, Sequence[str]]) -> None:
    """Write the translations of words beside the tokenizers of a folder."""
    files.write_json(folder / WORD_TRANSLATIONS, dict(translations))


def load_word_translations(folder: Path) -> dict[str, list[str]]:
    """Return the translations of words beside the tokenizers of a folder; earlier ones have none.

    Raises:
        ValueError: if the file is something else.
    """
    path = folder / WORD_TRANSLATIONS
    return _FORM.validate_python(files.read_json(path)) if path.exists() else {}
