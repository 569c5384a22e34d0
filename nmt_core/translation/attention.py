"""Attention of translations to their source."""

from nmt_core.evaluation.attention import Look
from nmt_core.text.side import Tokenized
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator

END = "</s>"
"""The end of a sentence, which has attention, too."""


def trace_attention(
    translator: Translator, line: str | Tokenized, translation: Translation
) -> Look | None:
    """Return a translation's attention; None if the model has none, or the line no token.

    Args:
        translator: the one that translated.
        line: the source.
        translation: its translation.
    """
    text = translator.source.tokenize(line)
    weights = translator.attention(text, translation)
    if weights is None:
        return None
    return Look(text.line, [*text.tokens, END], [*translation.tokens, END], weights)
