"""The tokens a model knows and their numbers; the first four are reserved.

A vocabulary is kept as text, one token a line, so that a person can read it and a diff can show it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from nmt_core.base import files
from nmt_core.base.errors import BundleError

SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
PAD, BOS, EOS, UNK = range(len(SPECIALS))

TAG_BEGIN, TAG_END = "<tag ", ">"
"""Around the name of a tag, which tells a model where a line is from. No token of a text holds a
space, so that none is a tag."""


class Vocabulary:
    """A fixed list of tokens, numbered from 0.

    Raises:
        BundleError: if the reserved tokens are not first, or a token stands twice.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        if tuple(tokens[: len(SPECIALS)]) != SPECIALS:
            raise BundleError(
                f"a vocabulary must begin with {' '.join(SPECIALS)}, got {' '.join(tokens[:4])!r}; "
                f"run the vocabulary stage again"
            )
        self.tokens = tuple(tokens)
        self._ids = {
            token: number
            for number, token in enumerate(tokens)
            if number >= UNK and not token.startswith(TAG_BEGIN)
        }
        if len(set(self.tokens)) != len(self.tokens):
            [(twice, count)] = Counter(tokens).most_common(1)
            raise BundleError(f"the token {twice!r} stands {count} times in a vocabulary")

    @classmethod
    def most_frequent(
        cls,
        counts: Mapping[str, int],
        *,
        max_size: int | None = None,
        min_count: int = 1,
        symbols: Sequence[str] = (),
    ) -> "Vocabulary":
        """Return a vocabulary by frequency, the most frequent token first; ties go by the alphabet.

        Args:
            counts: occurrences per token.
            max_size: tokens to keep, the reserved ones not counted; None keeps all.
            min_count: occurrences below which a token is left out.
            symbols: tokens that follow the others whether they occur or not.
        """
        frequent = [token for token, count in counts.items() if count >= min_count]
        frequent = [token for token in frequent if token not in (*SPECIALS, *symbols)]
        frequent.sort(key=lambda token: (-counts[token], token))
        return cls([*SPECIALS, *frequent[:max_size], *symbols])

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Read a vocabulary, one token a line."""
        return cls(list(files.read_lines(path)))

    def with_tags(self, names: Iterable[str]) -> "Vocabulary":
        """Return the same tokens with these tags behind them, too, in the order of the alphabet."""
        tags = sorted({*self.tags, *names})
        plain = [token for token in self.tokens if not token.startswith(TAG_BEGIN)]
        return Vocabulary([*plain, *(f"{TAG_BEGIN}{name}{TAG_END}" for name in tags)])

    @cached_property
    def tags(self) -> dict[str, int]:
        """The number of each tag, by its name."""
        return {
            token.removeprefix(TAG_BEGIN).removesuffix(TAG_END): number
            for number, token in enumerate(self.tokens)
            if token.startswith(TAG_BEGIN)
        }

    def save(self, path: Path) -> None:
        """Write the vocabulary, one token a line."""
        files.write_lines(path, self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return the number of every token of a text; an unknown one is UNK.

        So is one that is spelt like PAD, BOS, EOS or a tag: no text holds their meaning.
        """
        return [self._ids.get(token, UNK) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the token of every number, but none for PAD, BOS, EOS and tags."""
        silent = {PAD, BOS, EOS, *self.tags.values()}
        return [self.tokens[number] for number in ids if number not in silent]
