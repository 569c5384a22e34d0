"""A learnt aligner: which words of a sentence pair are translations of each other.

It is stored as one sealed folder::

    manifest.json            format, and the digest and size of every other file
    aligner.safetensors      pairs of words with their counts, sums of words, jumps
    aligner.json             how it was learnt
    words.json               the vocabularies of source and target
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from nmt_core.base import config, files
from nmt_core.base.config import Config
from nmt_core.base.errors import BundleError
from nmt_core.base.seal import MANIFEST, explain_unreadable, list_contents, verify_bundle
from nmt_core.text.aligner.lexicon import Array, Direction, measure_priors, pair_text
from nmt_core.text.aligner.words import AlignerConfig, Pieces, cut_line
from nmt_core.text.words import UNALIGNED

Links = frozenset[tuple[int, int]]


def format_links(links: Iterable[tuple[int, int]]) -> str:
    """Return links as text, ``0-0 2-1``, by source and then by target word (Pharaoh format)."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def fill_gaps(links: Sequence[int]) -> list[int]:
    """Give an unlinked run of words between two with the same link that link, too."""
    filled = [*links]
    last = None
    for place, link in enumerate(links):
        if link == UNALIGNED:
            continue
        if last is not None and links[last] == link:
            filled[last:place] = [link] * (place - last)
        last = place
    return filled


@dataclass(frozen=True)
class Aligner:
    """An aligner learnt from parallel text; index 0 explains the target, index 1 the source."""

    config: AlignerConfig
    words: tuple[list[str], list[str]]
    """Vocabularies of source and target."""
    keys: NDArray[np.int64]
    """Pairs of words, rising; see ``pair_text``."""
    counts: Array
    """Their expected counts, (2, pairs)."""
    totals: tuple[Array, Array]
    """Counts and pseudo-counts of all that each word may be translated by."""
    nulls: tuple[Array, Array]
    """Expected count of each word that translates none."""
    jumps: tuple[Array, Array]
    """Weights of jumps."""

    def align(self, lines: Sequence[tuple[str, str]]) -> list[Links]:
        """Return the links of sentence pairs, over words that spaces part.

        A pair's links depend on no other pair. A pair with an empty side has none.

        Args:
            lines: source and target.
        """
        return [
            frozenset((int(i), int(j)) for i, j in np.argwhere(shares > self.config.threshold))
            for shares in self.measure_links(lines)
        ]

    def trace(self, pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[list[int]]:
        """Return for each target word the source word that it translates, or UNALIGNED.

        Words and signs of punctuation never translate each other. An unlinked run of words between
        two that translate the same word belongs to it, as in *Court of Justice*.

        Args:
            pairs: words of source and target, as ``find_words`` finds them.
        """
        links = []
        measured = self.measure_links([(" ".join(one), " ".join(other)) for one, other in pairs])
        for sides, shares in zip(pairs, measured, strict=True):
            if not shares.size:
                links.append([UNALIGNED] * len(sides[1]))
                continue
            source, target = (
                np.array([any(map(str.isalnum, word)) for word in side]) for side in sides
            )
            shares[source[:, None] != target] = 0
            is_linked = shares.max(axis=0) > self.config.threshold
            links.append(fill_gaps(np.where(is_linked, shares.argmax(axis=0), UNALIGNED).tolist()))
        return links

    def measure_links(self, lines: Sequence[tuple[str, str]]) -> list[Array]:
        """Return how probable links between the words of sentence pairs are, (source, target).

        That is the geometric mean of both directions' probabilities, of the pieces of two words
        the most probable.
        """
        measured = [np.zeros([len(line.split()) for line in pair]) for pair in lines]
        pieces = [tuple(cut_line(line, self.config) for line in pair) for pair in lines]
        rows = [row for row, shares in enumerate(measured) if shares.size]
        if not rows:
            return measured
        numbers, words = self._number([pieces[row] for row in rows])
        batches, keys = pair_text(numbers[0], numbers[1], len(words[1]))
        forward, backward = self._direct(keys, words)
        for batch in batches:
            links = forward.explain(batch)[0]
            links *= backward.explain(batch.turn())[0].transpose(1, 0, 2)
            for column, number in enumerate(batch.rows):
                row = rows[number]
                inside = np.s_[: len(numbers[0][number]), : len(numbers[1][number]), column]
                places = np.ix_(*(side.words for side in pieces[row]))
                np.maximum.at(measured[row], places, np.sqrt(links[inside]))
        return measured

    @cached_property
    def _numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        first, second = ({word: number for number, word in enumerate(side)} for side in self.words)
        return first, second

    def _number(
        self, pieces: Sequence[tuple[Pieces, ...]]
    ) -> tuple[list[list[NDArray[np.int64]]], list[list[str]]]:
        """Return the numbers of all pieces, new words after those that are known, and all words."""
        numbers, words = [], []
        for side, known in enumerate(self._numbers):
            new = sorted({*chain.from_iterable(pair[side].spelt for pair in pieces)} - known.keys())
            every = known | {word: number for number, word in enumerate(new, start=len(known))}
            numbers.append(
                [np.array([every[word] for word in pair[side].spelt], np.int64) for pair in pieces]
            )
            words.append([*self.words[side], *new])
        return numbers, words

    def _direct(self, keys: NDArray[np.int64], words: list[list[str]]) -> list[Direction]:
        """Return both directions for pairs of words, some of which are new."""
        source, target = np.divmod(keys, len(words[1]))
        sizes = len(self.words[0]), len(self.words[1])
        wanted = np.where((source < sizes[0]) & (target < sizes[1]), source * sizes[1] + target, -1)
        places = np.minimum(np.searchsorted(self.keys, wanted), max(len(self.keys) - 1, 0))
        known = self.keys[places] == wanted if len(self.keys) else np.zeros(len(wanted), bool)
        counts = np.zeros((2, len(wanted)))
        counts[:, known] = self.counts[:, places[known]]
        directions = []
        for side, prior in enumerate(measure_priors(keys, words, self.config)):
            totals, nulls = self.totals[side], self.nulls[side]
            least = np.full(prior.sizes[0] - len(totals), prior.unmet * len(nulls))
            new = np.zeros(prior.sizes[1] - len(nulls))
            directions.append(
                prior.direct(
                    counts[side],
                    np.append(totals, least),
                    np.append(nulls, new),
                    self.jumps[side],
                    self.config,
                )
            )
        return directions


FORMAT = "aligner 1"
"""Counts up when a program that knows the old number could not read the new one."""


SIDED = ("totals", "nulls", "jumps")
"""Tensors of both directions, ``target`` and ``source``."""

ALIGNER = "aligner"
"""The folder of an aligner in an exported model, which earlier ones lack, and beside tokenizers."""


class _Words(Config):
    source: list[str] = Field(min_length=1)
    target: list[str] = Field(min_length=1)


def write_aligner(folder: Path, aligner: Aligner) -> None:
    """Seal an aligner into a folder, which replaces one of that name."""
    tensors = {"keys": aligner.keys, "counts": aligner.counts}
    for name in SIDED:
        tensors[f"target.{name}"], tensors[f"source.{name}"] = getattr(aligner, name)
    with files.whole_folder(folder) as part:
        save_file(tensors, part / "aligner.safetensors")
        files.write_json(part / "aligner.json", aligner.config.model_dump(mode="json"))
        words = dict(zip(("source", "target"), aligner.words, strict=True))
        files.write_json(part / "words.json", words)
        files.write_json(part / MANIFEST, {"format": FORMAT, "files": list_contents(part)})


def find_aligner(folder: Path) -> Aligner | None:
    """Return the aligner in a folder; None if the folder does not exist."""
    return load_aligner(folder) if folder.exists() else None


def load_aligner(folder: Path) -> Aligner:
    """Verify an aligner and load it.

    Raises:
        BundleError: if it is incomplete, altered, of another format, or no aligner.
        ConfigError: if it asks for what this program does not know.
    """
    verify_bundle(folder, expected=FORMAT)
    with explain_unreadable(folder / "aligner.json"):
        settings = {"tail_length": 0} | files.read_json(folder / "aligner.json")  # earlier ones
        settings.pop("least_likeness", None)
        learnt = config.build(AlignerConfig, settings, at="align")
    with explain_unreadable(folder / "words.json"):
        words = config.build(_Words, files.read_json(folder / "words.json"), at="words")
    path = folder / "aligner.safetensors"
    with explain_unreadable(path, SafetensorError):
        tensors = load_file(path)
        _check(tensors, words, learnt, path)
    totals, nulls, jumps = (
        (tensors[f"target.{name}"], tensors[f"source.{name}"]) for name in SIDED
    )
    vocabularies = words.source, words.target
    return Aligner(learnt, vocabularies, tensors["keys"], tensors["counts"], totals, nulls, jumps)


def _check(
    tensors: dict[str, NDArray[Any]], words: _Words, settings: AlignerConfig, path: Path
) -> None:
    """Make sure that arrays have the shapes and values of an aligner of these words."""
    source, target, pairs = len(words.source), len(words.target), len(tensors["keys"])
    shapes = {"keys": (pairs,), "counts": (2, pairs)}
    for side, given, explained in (("target", source, target), ("source", target, source)):
        shapes |= {f"{side}.totals": (given,), f"{side}.nulls": (explained,)}
        shapes[f"{side}.jumps"] = (2 * settings.jump_width + 1,)
    if {name: array.shape for name, array in tensors.items()} != shapes:
        raise BundleError(f"{path} does not fit its words.json; learn the aligner again")
    positive = [name for name in shapes if name.endswith(("totals", "jumps"))]
    keys = tensors["keys"]
    fitting = (
        keys.dtype == np.int64
        and all(tensors[name].dtype == np.float64 for name in shapes if name != "keys")
        and all(np.isfinite(tensors[name]).all() for name in shapes)
        and all((tensors[name] > 0).all() for name in positive)
        and all((tensors[name] >= 0).all() for name in shapes)
        and bool((np.diff(keys) > 0).all())
        and bool((keys < source * target).all())
    )
    if not fitting:
        raise BundleError(f"{path} holds numbers that no aligner has; learn the aligner again")
