"""Identify the languages of lines by py3langid's classifier of byte n-grams.

py3langid reads a line byte by byte in Python, which takes 0.8 milliseconds for a line of EuroParl.
Its automaton and its table are arrays, so that a batch takes a tenth of this time.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from nmt_core.base.errors import CorpusError
from nmt_core.base.packages import format_install_command

Scores = NDArray[np.float32]
Array = NDArray[np.float64]

MAX_CHARACTERS = 150
"""Number of characters of a line that are read; more characters do not help."""

LINES_AT_ONCE = 1000
"""Size of a batch; larger batches need more memory and save no time."""

MIN_LETTERS = 16
"""Lines with fewer letters are not judged."""

DETECTION_CHARACTERS = 2000
"""Maximum characters of a text for language detection; more do not help."""

CLOSEST = {"nb": "no", "fil": "tl"}
"""Codes of the classifier for languages that it knows under another code."""

CHARACTER_SETS = {"Hans": "gb2312", "Hant": "big5"}
"""Encodings that have the characters of a Chinese script, but few that only the other has."""


class LanguageScorer:
    """Scores lines by the likelihood of each language that py3langid knows."""

    def __init__(self) -> None:
        model = self._classifier = _load_classifier()
        self.codes: list[str] = list(model.nb_classes)
        self._table = np.ascontiguousarray(model.nb_ptc, dtype=np.float32)
        self._priors = np.asarray(model.nb_pc).astype(np.float32)
        self._moves = np.frombuffer(model.tk_nextmove, np.uint32)
        self._rows = np.frombuffer(model.tk_row, np.uint16).astype(np.int64) << 8
        self._outputs = np.array(model.tk_output, np.int64)

    def rank(self, text: str, among: Sequence[str]) -> list[tuple[str, float]]:
        """Return the languages of ``among``, most likely first, with their probabilities.

        The probabilities are among all languages. The script of the text decides between codes of
        one language, such as zh-Hans and zh-Hant. If the classifier knows none of the codes, the
        result is the first with the probability 0.
        """
        text = text[:DETECTION_CHARACTERS]
        codes: dict[str, list[str]] = {}
        for code in among:
            base = find_base(code)
            codes.setdefault(CLOSEST.get(base, base), []).append(code)
        shares = dict(self._classifier.rank(text))
        known = [base for base in codes if base in shares]
        ranked = sorted(known, key=lambda base: -shares[base])  # stable, so that the first wins
        return [(pick_script(text, codes[b]), shares[b]) for b in ranked] or [(among[0], 0.0)]

    def score(self, lines: Sequence[str]) -> Scores:
        """Return log-likelihoods over the square root of a line's bytes, (lines, languages).

        They are 0 for a line that is too short.
        """
        if len(lines) > LINES_AT_ONCE:
            starts = range(0, len(lines), LINES_AT_ONCE)
            return np.concatenate([self.score(lines[at : at + LINES_AT_ONCE]) for at in starts])
        texts = [_prepare(line) for line in lines]
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        owners, features, counts = self._find_features(texts, lengths)
        sums = np.zeros((len(lines), len(self.codes)), np.float32)
        if len(owners):
            weighted = self._table[features] * np.log1p(counts).astype(np.float32)[:, None]
            firsts = np.flatnonzero(np.diff(owners, prepend=-1))
            sums[owners[firsts]] = np.add.reduceat(weighted, firsts) + self._priors
        return sums / np.sqrt(np.maximum(lengths, 1)).astype(np.float32)[:, None]

    def measure_doubt(self, lines: Sequence[str], language: str) -> Array:
        """Return the advantage of the most likely other language over the expected one, (lines,).

        It is minus infinity for short lines and for unknown languages. Regions are ignored.
        """
        base = find_base(language)
        if base not in self.codes:
            return np.full(len(lines), -np.inf)
        scores = self.score(lines)
        expected = np.array([code == base for code in self.codes])
        expected_scores = scores[:, expected].max(axis=1)
        others = np.where(expected, -np.inf, scores)
        doubt = np.where(scores.any(axis=1), others.max(axis=1) - expected_scores, -np.inf)
        return doubt.astype(np.float64)

    def count_languages(self, lines: Sequence[str]) -> Counter[str]:
        """Return how many lines have each most likely language; "" for lines that are too short."""
        scores = self.score(lines)
        likeliest = np.where(scores.any(axis=1), scores.argmax(axis=1), -1)
        return Counter(self.codes[n] if n >= 0 else "" for n in likeliest.tolist())

    def _find_features(
        self, texts: Sequence[bytes], lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Run the automaton on all lines; return line, feature and count of each occurrence."""
        order = np.argsort(-lengths, kind="stable")
        longest = int(lengths.max(initial=0))
        padded = b"".join(texts[row].ljust(longest, b"\0") for row in order)
        letters = np.frombuffer(padded, np.uint8).reshape(len(texts), longest).T
        states = np.zeros(len(texts), np.int64)
        active = np.searchsorted(-lengths[order], -np.arange(longest))  # longer lines
        outputs = np.full((longest, len(texts)), -1, np.int64)
        for position, lines in enumerate(active.tolist()):
            next_states = self._moves[self._rows[states[:lines]] + letters[position, :lines]]
            states[:lines] = next_states
            outputs[position, :lines] = self._outputs[next_states]
        positions, columns = np.nonzero(outputs >= 0)
        size = len(self._table)
        keys = order[columns] * size + outputs[positions, columns]
        keys, counts = np.unique(keys, return_counts=True)
        return keys // size, keys % size, counts


@cache
def load_scorer() -> LanguageScorer:
    """Return the scorer of this process."""
    return LanguageScorer()


def find_base(language: str) -> str:
    """Return a language code without region or script, as the classifier uses it."""
    return language.partition("-")[0]


def pick_script(text: str, codes: Sequence[str]) -> str:
    """Return the code whose script has most characters of a text; the first of equal ones."""
    return codes[0] if len(codes) == 1 else max(codes, key=lambda code: _count_script(text, code))


def _count_script(text: str, code: str) -> int:
    """Return the number of characters that belong to the script of a language code."""
    from babel.core import get_global  # slow to import, and few languages need it

    likely, spelt = get_global("likely_subtags"), code.replace("-", "_")
    full = f"{spelt}_{likely.get(spelt) or likely.get(find_base(code))}"
    found = regex.search(r"_([A-Za-z]{4})(?:_|$)", full)
    script = found[1].title() if found else ""
    if encoding := CHARACTER_SETS.get(script):
        return len(text.encode(encoding, "ignore").decode(encoding))
    with suppress(regex.error):  # a script of several, such as Jpan
        return len(regex.findall(rf"\p{{Script={script}}}", text))
    return 0


def _load_classifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier  # 2 seconds
    except ImportError:
        command = format_install_command("py3langid")
        raise CorpusError(
            f"languages cannot be identified without py3langid; run: {command}"
        ) from None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _prepare(line: str) -> bytes:
    """Return a line as input of py3langid; empty if it has too few letters.

    A CJK character counts as three letters.
    """
    line = line.strip()[:MAX_CHARACTERS]
    weight = 1 if line[:1] < "\u2e80" else 3
    if len(line) < MIN_LETTERS and sum(map(str.isalpha, line)) * weight < MIN_LETTERS:
        return b""
    if line.isupper():
        line = line.lower()
    return unicodedata.normalize("NFC", line).encode("utf-8", errors="surrogatepass")
