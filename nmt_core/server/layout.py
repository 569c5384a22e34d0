"""The sentences of a text, and what stands between them."""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Layout(NamedTuple):
    """A text in parts."""

    sentences: list[str]
    """What is to be translated."""
    gaps: list[str]
    """White space before, between and after them: one more than sentences."""

    def fill(self, translations: Sequence[str]) -> str:
        """Return the text with a translation in the place of each sentence."""
        parts = [self.gaps[0]]
        for translation, gap in zip(translations, self.gaps[1:], strict=True):
            parts += [translation, gap]
        return "".join(parts)


def split_lines(text: str) -> Layout:
    """Take every line that holds something as one sentence."""
    sentences, gaps = [], [""]
    for line in re.split(r"(\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])", text):
        sentence = line.strip()
        if not sentence:
            gaps[-1] += line
            continue
        before, _, after = line.partition(sentence)
        gaps[-1] += before
        sentences.append(sentence)
        gaps.append(after)
    return Layout(sentences, gaps)
