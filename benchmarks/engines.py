"""What translates by engines, and by CTranslate2 without us; older checkouts lack these rooms."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import sentencepiece

from nmt_core.translation.loading import list_usable_engines
from nmt_core.translation.translator import Translator

Translate = Callable[[Sequence[Any], int], object]
"""Takes sentences and a beam size."""


def search_bundle(folder: Path) -> dict[str, Translate]:
    """Return what translates lines by each engine of an exported model, and by hand."""

    def load(engine: str) -> Translate:
        translator = Translator.load(folder, engine=engine, device="cpu", threads=1)
        return lambda lines, beam_size: translator.translate_sentences(lines, beam_size=beam_size)

    names = list_usable_engines(folder)
    by_hand = {
        f"{name} by hand": translate_by_hand(folder, name)
        for name in names
        if name.startswith("ctranslate2")
    }
    return {name: load(name) for name in names} | by_hand


def translate_by_hand(folder: Path, name: str) -> Translate:
    """Return what translates lines by CTranslate2 as its documentation shows."""
    source, target = (
        sentencepiece.SentencePieceProcessor(
            model_file=str(folder / f"tokenizer/{side}/sentencepiece.model")
        )
        for side in ("source", "target")
    )
    program = ctranslate2.Translator(
        str(folder / "engines" / name), inter_threads=1, intra_threads=1
    )

    def translate(lines: Sequence[str], beam_size: int) -> list[str]:
        tokens = [[*pieces, "</s>"] for pieces in source.encode(list(lines), out_type=str)]
        results = program.translate_batch(
            tokens, beam_size=beam_size, max_batch_size=2048, batch_type="tokens"
        )
        return [target.decode(result.hypotheses[0]) for result in results]

    return translate
