"""The tokens of a model and their IDs, stored as a text file with one token per line."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from pathlib import Path

from nmt_core.base import files
from nmt_core.base.errors import BundleError

SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
PAD, BOS, EOS, UNK = range(len(SPECIALS))

TAG_BEGIN, TAG_END = "<tag ", ">"
"""Prefix and suffix of a tag, the first token of a line, which names its domain. Tokens of text
contain no space, so they cannot be tags."""

TARGET = ">"
"""Beginning of the tag that names the target language; no tag of a domain begins with it."""


def name_target(code: str) -> str:
    """Return the tag of a target language for models with several (Johnson et al. 2017)."""
    return f"{TARGET}{code}"


class Vocabulary:
    """A fixed list of tokens; their positions are their IDs.

    Raises:
        BundleError: if the reserved tokens are not first, or a token is repeated.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        if tuple(tokens[: len(SPECIALS)]) != SPECIALS:
            raise BundleError(
                f"a vocabulary must begin with {' '.join(SPECIALS)}, got {' '.join(tokens[:4])!r}; "
                f"run the vocabulary stage again"
            )
        self.tokens = tuple(tokens)
        self.tags = {
            token.removeprefix(TAG_BEGIN).removesuffix(TAG_END): number
            for number, token in enumerate(tokens)
            if token.startswith(TAG_BEGIN)
        }
        """The ID of each tag, by its name."""
        self._ids = {
            token: number
            for number, token in enumerate(tokens)
            if number >= UNK and not token.startswith(TAG_BEGIN)
        }
        self._skipped = {PAD, BOS, EOS, *self.tags.values()}
        if len(set(self.tokens)) != len(self.tokens):
            [(repeated, count)] = Counter(tokens).most_common(1)
            raise BundleError(f"a vocabulary has {repeated!r} {count} times; write it again")

    @classmethod
    def most_frequent(
        cls,
        counts: Mapping[str, int],
        *,
        max_size: int | None = None,
        min_count: int = 1,
        symbols: Sequence[str] = (),
    ) -> "Vocabulary":
        """Return a vocabulary sorted by descending frequency, then alphabetically.

        ``max_size`` excludes reserved tokens and the symbols, which are appended in any case.
        """
        frequent = [token for token, count in counts.items() if count >= min_count]
        frequent = [token for token in frequent if token not in (*SPECIALS, *symbols)]
        frequent.sort(key=lambda token: (-counts[token], token))
        return cls([*SPECIALS, *frequent[:max_size], *symbols])

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Load a vocabulary from a file with one token per line."""
        return cls(list(files.read_lines(path)))

    def with_tags(self, names: Iterable[str]) -> "Vocabulary":
        """Return a vocabulary with these tags added; all tags are last, in alphabetical order."""
        tags = sorted({*self.tags, *names})
        plain = [token for token in self.tokens if not token.startswith(TAG_BEGIN)]
        return Vocabulary([*plain, *(f"{TAG_BEGIN}{name}{TAG_END}" for name in tags)])

    def save(self, path: Path) -> None:
        """Write a file with one token per line."""
        files.write_lines(path, self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return the ID of every token of a text; UNK for unknown tokens.

        Tokens that are spelt like PAD, BOS, EOS or a tag are also UNK.
        """
        return [*map(self._ids.get, tokens, repeat(UNK))]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens of these IDs without PAD, BOS, EOS and tags."""
        return [self.tokens[number] for number in ids if number not in self._skipped]
