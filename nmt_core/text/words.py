"""Words cut by a rule, that needs to learn nothing."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from typing_extensions import override

from nmt_core.text.normalize import normalize
from nmt_core.text.tokenizer import Tokenizer

WORDS_AND_MARKS = re.compile(r"\w+|[^\w\s]")


class Words(Tokenizer):
    """Cuts lines into words; joining them puts a space between any two.

    Args:
        split: where to cut.
        lower_case: read capital letters as small ones.
    """

    def __init__(
        self, split: Literal["punctuation", "whitespace"], *, lower_case: bool = False
    ) -> None:
        self.split = split
        self.lower_case = lower_case

    @override
    def encode(self, line: str) -> list[str]:
        line = normalize(line.lower() if self.lower_case else line)
        return line.split() if self.split == "whitespace" else WORDS_AND_MARKS.findall(line)

    @override
    def decode(self, tokens: Sequence[str]) -> str:
        return " ".join(tokens)

    @override
    def save(self, folder: Path) -> None:
        """Do nothing: the settings say it all."""
