"""Attention of translations to their source."""

from nmt_core.evaluation.pictures import Look
from nmt_core.text.side import Tokenized
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator

END = "</s>"
"""The end of a sentence, which has attention, too."""


def trace_attention(
    translator: Translator, line: str | Tokenized, translation: Translation
) -> Look | None:
    """Return the attention of a line's translation; None if the model or the line has none."""
    text = translator.source.tokenize(line)
    weights = translator.attention(text, translation)
    if weights is None:
        return None
    return Look(text.line, [*text.tokens, END], [*translation.tokens, END], weights)
