"""Links between the words of a line and those of its translation, by attention."""

import re

from nmt_core.text.alignment import align_words
from nmt_core.text.sentences import Span
from nmt_core.text.side import Tokenized
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator


def link_translated(
    translator: Translator, line: str | Tokenized, translation: Translation
) -> list[int]:
    """Return for each word of a translation the number of its source word, or UNALIGNED.

    Words are what stands between spaces. Empty where either side has none.

    Args:
        translator: the one that translated; without attention, the place in the sentence decides.
        line: the source.
        translation: its translation.
    """
    text = translator.source.tokenize(line)
    source, target = (
        [Span(*word.span()) for word in re.finditer(r"\S+", side)]
        for side in (text.line, translation.text)
    )
    if not source or not target:
        return []
    if translation.attention is None:
        translation = translation._replace(
            attention=translator.attention(text, translation),
            source_tokens=tuple(translator.cut(text)),
        )
    return align_words(text.line, source, translation, translation.text, target)
