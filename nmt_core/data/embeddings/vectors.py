"""Vectors of the words of a vocabulary, and where each comes from."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, UInt8

from nmt_core.base.errors import CorpusError
from nmt_core.data.embeddings.word_vectors import read_sound_rows
from nmt_core.text.vocabulary import SPECIALS, Vocabulary

MISSING, FOUND, COMPOSED = range(3)
"""Where the vector of a word comes from: nowhere, the vectors themselves, its subwords."""


@dataclass(frozen=True)
class WordVectors:
    """Vectors for the rows of a vocabulary, as far as there are any."""

    weight: Float32[np.ndarray, "V D"]
    """One row per token; zeros where there is no vector."""

    origin: UInt8[np.ndarray, " V"]
    """MISSING, FOUND or COMPOSED, per row; the reserved tokens are MISSING."""

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        return self.weight.shape[1]

    def counts(self) -> dict[str, int]:
        """Return the tokens, and how many words have a vector, a composed one, and none."""
        missing, known, composed = np.bincount(self.origin, minlength=3).tolist()
        return {
            "vocabulary": len(self.origin),
            "found": known,
            "composed": composed,
            "missing": missing - len(SPECIALS),
        }


def read_vectors(path: Path, vocabulary: Vocabulary) -> WordVectors:
    """Read the vectors of a vocabulary's words; memory holds these and one line of the file.

    Rows of the reserved tokens, such as the ``</s>`` of fastText, are never used.

    Args:
        path: a file that the download stage wrote, so that every row of it is sound.
        vocabulary: whose words.

    Raises:
        CorpusError: if the file is missing or damaged.
    """
    rows_of = {word: row for row, word in enumerate(vocabulary.tokens) if row >= len(SPECIALS)}
    dimensions, rows = read_sound_rows(path)
    weight = np.zeros((len(vocabulary), dimensions), dtype=np.float32)
    origin = np.zeros(len(vocabulary), dtype=np.uint8)
    try:
        for word, numbers in rows:
            row = rows_of.get(word)
            if row is not None:
                weight[row] = np.array(numbers.split(b" "), dtype=np.float32).reshape(dimensions)
                origin[row] = FOUND
    except ValueError as error:
        raise CorpusError(f"{path} is damaged ({error}); run the download stage again") from None
    return WordVectors(weight, origin)
