"""Words as spaCy's rules find them: letters, numbers, full stops and commas, in lower case.

Without numbers this is the tokenizer of the first experiments. Other punctuation and case are lost,
so ``decode`` gives a readable line and not the line that was encoded.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import spacy
from spacy.about import __version__ as spacy_version
from spacy.tokenizer import Tokenizer as RuleTokenizer  # type: ignore[import-not-found]

from nmt_core.base import files
from nmt_core.base.errors import TokenizerError
from nmt_core.base.symbols import ALL_SYMBOLS

MARKS = (".", ",")
"""The punctuation that is kept; a line is written with no space before it."""

NumberHandling = Literal["keep", "drop"]
"""Treatment of words with a digit, such as ``2014``, ``3,5`` and ``20-jährig``."""

REMEMBERED_CHUNKS = 500_000
"""Chunks whose words are remembered before memory is freed and filled anew."""

FILE = "tokenizer.json"


class SpacyWords:
    """Tokenizer rules of one language; no tagger, no parser, no model to download.

    Text repeats itself, so the words of every chunk between spaces are remembered. That gives the
    same words, and is about twice as fast as spaCy alone on texts of many million words.

    Args:
        language: a code that spaCy knows, such as ``"de"``.
        numbers: whether words that hold a digit are kept.

    Raises:
        TokenizerError: if spaCy lacks the language, or a package that the language needs.
    """

    def __init__(self, language: str, *, numbers: NumberHandling = "keep") -> None:
        self.language = language
        self.numbers = numbers
        self._start_afresh()

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the files of :meth:`save`.

        Raises:
            TokenizerError: if the folder holds no such tokenizer, or was written with a spaCy of
                other rules, which would cut the same line into other words.
        """
        try:
            saved = files.read_json(folder / FILE)
            kind, language, numbers, version, rules = (
                saved[name]
                for name in ("kind", "language", "numbers", "spacy_version", "rules_sha256")
            )
        except (OSError, ValueError, KeyError, TypeError):
            raise TokenizerError(
                f"{folder / FILE} is missing or does not describe spaCy words; "
                f"run the tokenize stage again"
            ) from None
        if kind != "spacy":
            raise TokenizerError(f"{folder / FILE} describes a {kind!r} tokenizer, not spaCy words")
        if _release(version) != _release(spacy_version):
            raise TokenizerError(_other_rules(folder, language, version))
        tokenizer = cls(language, numbers=numbers)
        if tokenizer.rules_sha256() != rules:
            raise TokenizerError(_other_rules(folder, language, version))
        return tokenizer

    def save(self, folder: Path) -> None:
        """Write the language and what identifies the rules to ``tokenizer.json``."""
        description = {
            "kind": "spacy",
            "language": self.language,
            "numbers": self.numbers,
            "spacy_version": spacy_version,
            "rules_sha256": self.rules_sha256(),
        }
        files.write_json(folder / FILE, description)

    def rules_sha256(self) -> str:
        """Return a digest of the rules, the same in every process."""
        return hashlib.sha256(self._tokenizer.to_bytes(exclude=["vocab"])).hexdigest()

    def encode(self, line: str) -> list[str]:
        """Return the words of a line, full stops and commas among them, in lower case."""
        if self._cases is None:
            return _lower(self.surfaces(line))
        if len(self._memory) >= REMEMBERED_CHUNKS:
            self._start_afresh()
        words: list[str] = []
        opens: frozenset[str] = frozenset()
        for text in line.split():
            chunk = self._memory.get(text) or self._remember(text, self._cases)
            if opens and not opens.isdisjoint(chunk.continues):
                return _lower(self.surfaces(line))
            words += chunk.words
            opens = chunk.opens
        return words

    def surfaces(self, line: str) -> list[str]:
        """Return the words of a line in the case they have there."""
        return self._kept(self._tokenizer(line))

    def decode(self, tokens: Sequence[str]) -> str:
        """Return the line of these words."""
        pieces = (token if token in MARKS else f" {token}" for token in tokens)
        return "".join(pieces).removeprefix(" ")

    def _start_afresh(self) -> None:
        """Forget all chunks; spaCy too remembers every string it has seen, hence a new one."""
        try:
            self._tokenizer: Any = spacy.blank(self.language).tokenizer
        except ImportError as error:
            raise TokenizerError(
                f"spaCy {spacy_version} cannot tokenize {self.language!r} ({error}); "
                f"install what it asks for, choose 'xx' (rules of no language in particular), "
                f"or use a SentencePiece tokenizer, which needs no rules"
            ) from None
        self._cases = _CutCases.of(self._tokenizer)
        self._memory: dict[str, _Chunk] = {}

    def _kept(self, tokens: Iterable[Any]) -> list[str]:
        texts = ((token.text, token.is_alpha) for token in tokens)
        kept = {*MARKS, *ALL_SYMBOLS}
        return [text for text, letters in texts if letters or text in kept or self._number(text)]

    def _number(self, text: str) -> bool:
        return self.numbers == "keep" and any(letter.isdigit() for letter in text)

    def _remember(self, text: str, cases: "_CutCases") -> "_Chunk":
        tokens = self._tokenizer(text)
        chunk = _Chunk(tuple(_lower(self._kept(tokens))), *cases.touched_by(text, tokens))
        self._memory[text] = chunk
        return chunk


class _Chunk(NamedTuple):
    """Text between two spaces."""

    words: tuple[str, ...]
    opens: frozenset[str]
    """Continuations of the special cases whose beginnings this chunk ends with."""
    continues: frozenset[str]
    """Continuations that this chunk starts with."""


class _CutCases:
    """The special cases of a tokenizer of rules, cut where a space may stand.

    spaCy finds a special case of several tokens, such as ``n.Chr.`` or ``:(``, also where spaces
    lie between its tokens; all its other rules look at one chunk at a time. So a line of chunks
    none of which continues what the one before it opens has the words of its chunks. A line that
    fails this test may have them too.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._plain = RuleTokenizer(
            tokenizer.vocab,
            prefix_search=tokenizer.prefix_search,
            suffix_search=tokenizer.suffix_search,
            infix_finditer=tokenizer.infix_finditer,
            token_match=tokenizer.token_match,
            url_match=tokenizer.url_match,
        )
        continuations: dict[str, set[str]] = defaultdict(set)
        self._some_are_words = False
        for case in tokenizer.rules:
            pieces = [token.text for token in self._plain(case) if not token.is_space]
            self._some_are_words |= len(pieces) > 1 and case.isalpha()
            for cut in range(1, len(pieces)):
                rest = accumulate(pieces[cut:])
                continuations["".join(pieces[:cut])].update(rest)
        self._continuations = {start: frozenset(rests) for start, rests in continuations.items()}
        self._all = frozenset[str]().union(*self._continuations.values())

    @classmethod
    def of(cls, tokenizer: Any) -> Self | None:
        """Return the cut cases; None of a tokenizer that is not made of rules."""
        return cls(tokenizer) if type(tokenizer) is RuleTokenizer else None

    def touched_by(self, text: str, tokens: Any) -> tuple[frozenset[str], frozenset[str]]:
        """Return the continuations that a chunk asks for, and those that it gives."""
        bounds = {0, len(text), *(token.idx for token in tokens)}
        if self._some_are_words or not text.isalpha():  # a case found inside may have hidden bounds
            bounds.update(token.idx for token in self._plain(text))
        asked = (self._continuations.get(text[bound:]) for bound in bounds)
        given = {text[:bound] for bound in bounds}
        return frozenset[str]().union(*filter(None, asked)), self._all & given


def _lower(words: Iterable[str]) -> list[str]:
    return [word.lower() for word in words]


def _release(version: str) -> list[str]:
    return str(version).split(".")[:2]


def _other_rules(folder: Path, language: str, version: str) -> str:
    return (
        f"{folder} was made with the {language!r} rules of spaCy {version}, and spaCy "
        f"{spacy_version} has others; install spacy=={version}, or prepare the text and train again"
    )
