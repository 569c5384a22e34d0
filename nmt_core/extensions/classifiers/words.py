"""Texts as numbers of tokens: words with hashed buckets, or the tokens of a language model."""

import re
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from nmt_core.base.errors import CorpusError
from nmt_core.base.random import make_generator
from nmt_core.data.embeddings.vectors import build_embedding_matrix, read_vectors
from nmt_core.extensions.classifiers.settings import TextConfig
from nmt_core.extensions.language_models.units import Units
from nmt_core.text.side import Side
from nmt_core.text.tokenizer import Words
from nmt_core.text.vocabulary import BOS, EOS, UNK, Vocabulary

LINE_BREAK = re.compile(r"<br\s*/?>")
"""Line break of HTML, which is frequent in reviews."""


@dataclass(frozen=True)
class HashedWords:
    """Numbers of words: those of the vocabulary first, then buckets.

    A word outside the vocabulary falls into a bucket by its CRC-32, the same on every machine.
    """

    config: TextConfig
    vocabulary: Vocabulary

    @property
    def size(self) -> int:
        """Count of numbers."""
        return len(self.vocabulary) + self.config.buckets

    def split(self, text: str) -> list[str]:
        """Return the words and marks of a text."""
        return split(text, lower_case=self.config.lower_case)

    def number(self, word: str) -> int:
        """Return the number of a word."""
        if word in self.vocabulary:
            return self.vocabulary.encode([word])[0]
        return len(self.vocabulary) + zlib.crc32(word.encode()) % self.config.buckets

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text's first or last words; UNK for a text without any."""
        words, longest = self.split(text), self.config.longest
        read = words[:longest] if self.config.keep == "first" else words[-longest:]
        return [*map(self.number, read)] or [UNK]


@dataclass(frozen=True)
class InitialTokens:
    """Numbers of the tokens of a language model."""

    units: Units
    context: int
    """Most tokens of a text, with BOS and EOS; of a longer text the end is read."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The language model's."""
        return self.units.vocabulary

    @property
    def size(self) -> int:
        """Count of numbers, that of the mask included."""
        return len(self.vocabulary) + 1

    def split(self, text: str) -> list[str]:
        """Return the tokens of a text."""
        return Side(self.units.tokenizer, self.vocabulary).tokens(text)

    def number(self, token: str) -> int:
        """Return the number of a token."""
        return self.vocabulary.encode([token])[0]

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text's last tokens, between BOS and EOS."""
        return [BOS, *self.units.encode_part(text)[2 - self.context :], EOS]


def learn_words(config: TextConfig, texts: Iterable[str]) -> HashedWords:
    """Return the most frequent words of texts."""
    counts = Counter(word for text in texts for word in split(text, lower_case=config.lower_case))
    return HashedWords(config, Vocabulary.most_frequent(counts, max_size=config.words))


def split(text: str, *, lower_case: bool) -> list[str]:
    """Return the words and marks of a text, without line breaks of HTML."""
    plain = LINE_BREAK.sub(" ", text)
    return Words("punctuation", lower_case=lower_case).encode(plain)


def read_embeddings(path: Path, words: HashedWords, *, seed: int) -> Float[Tensor, "V D"]:
    """Return the vector of every number; those of buckets are random, as long as those of words.

    Raises:
        CorpusError: if the file is missing or damaged, or has none of the words.
    """
    if not path.is_file():
        raise CorpusError(f"{path} is not a file; name word vectors, .vec or .vec.gz")
    vectors = read_vectors(path, words.vocabulary)
    if not np.isfinite(vectors.weight).all():
        raise CorpusError(f"{path} holds numbers that are not finite; download it again")
    draw = make_generator(seed, "embeddings")
    matrix = build_embedding_matrix(vectors, draw, name="classifier's")
    size = float(np.sqrt(np.mean(vectors.weight[vectors.origin > 0] ** 2)))
    buckets = draw.normal(0.0, size, size=(words.size - len(words.vocabulary), vectors.dimensions))
    return torch.from_numpy(np.concatenate([matrix, buckets.astype(np.float32)]))
