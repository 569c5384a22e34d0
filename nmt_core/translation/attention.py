"""What a translator looked at while it translated."""

from nmt_core.evaluation.attention import Look
from nmt_core.text.side import Tokenized
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator

END = "</s>"
"""How the end of a sentence is shown; it is looked at, and looks."""


def trace_attention(
    translator: Translator, line: str | Tokenized, found: Translation
) -> Look | None:
    """Return where a translation looked; None if the model has no attention, or the line no token.

    Args:
        translator: what translated.
        line: what was translated.
        found: its translation.
    """
    text = translator.source.tokenize(line)
    weights = translator.attention(text, found)
    if weights is None:
        return None
    return Look(text.line, [*text.tokens, END], [*found.tokens, END], weights)
