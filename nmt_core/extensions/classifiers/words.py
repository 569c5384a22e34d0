"""Texts as numbers of words, where every word has one: also one that was never seen.

A word that is not among the most frequent ones falls into a bucket by its CRC-32, which is the same
in every process and on every machine; it shares an embedding with the others there.
"""

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nmt_core.extensions.classifiers.settings import TextConfig
from nmt_core.text.tokenizer import Words
from nmt_core.text.vocabulary import UNK, Vocabulary

LINE_BREAK = re.compile(r"<br\s*/?>")
"""What pages write for the end of a line; reviews are full of it."""


@dataclass(frozen=True)
class HashedWords:
    """Words to numbers: rows of the vocabulary first, then buckets."""

    config: TextConfig
    vocabulary: Vocabulary

    @property
    def size(self) -> int:
        """Numbers there are."""
        return len(self.vocabulary) + self.config.buckets + self._ngram_buckets

    @property
    def _ngram_buckets(self) -> int:
        return self.config.ngram_buckets if self.config.ngrams > 1 else 0

    def split(self, text: str) -> list[str]:
        """Return the words and marks of a text."""
        return split(text, lower_case=self.config.lower_case)

    def number(self, word: str) -> int:
        """Return the number of a word."""
        if word in self.vocabulary:
            return self.vocabulary.encode([word])[0]
        return len(self.vocabulary) + zlib.crc32(word.encode()) % self.config.buckets

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text's first or last words; UNK for a text without any.

        Behind them stand those of words in a row, if these are read.
        """
        words, longest = self.split(text), self.config.longest
        read = words[:longest] if self.config.keep == "first" else words[-longest:]
        rows = (
            row
            for length in range(2, self.config.ngrams + 1)
            for row in zip(*(read[first:] for first in range(length)), strict=False)
        )
        return [*map(self.number, read), *map(self._number_row, rows)] or [UNK]

    def _number_row(self, words: Sequence[str]) -> int:
        """Return the number of words in a row."""
        bucket = zlib.crc32(" ".join(words).encode()) % self.config.ngram_buckets
        return len(self.vocabulary) + self.config.buckets + bucket


def learn_words(config: TextConfig, texts: Iterable[str]) -> HashedWords:
    """Return the most frequent words of texts."""
    counts = Counter(word for text in texts for word in split(text, lower_case=config.lower_case))
    return HashedWords(config, Vocabulary.most_frequent(counts, max_size=config.words))


def split(text: str, *, lower_case: bool) -> list[str]:
    """Return the words and marks of a text, without line breaks of HTML."""
    plain = LINE_BREAK.sub(" ", text)
    return Words("punctuation", lower_case=lower_case).encode(plain)
