"""A word aligner: which words of a sentence pair are translations of each other.

An aligner is stored as a sealed folder::

    manifest.json            format, and the digest and size of every other file
    aligner.safetensors      counts of word pairs, totals of words, weights of jumps
    aligner.json             settings of its training
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
from nmt_core.text.aligner.lexicon import Array, Direction, make_priors, pair_text
from nmt_core.text.aligner.pieces import AlignerConfig, Pieces, cut_line
from nmt_core.text.words import UNALIGNED

Links = frozenset[tuple[int, int]]


def format_links(links: Iterable[tuple[int, int]]) -> str:
    """Return links in Pharaoh format, such as ``0-0 2-1``, sorted."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def fill_gaps(links: Sequence[int]) -> list[int]:
    """Return links that also link unlinked words between two words with the same link."""
    filled = [*links]
    previous = None
    for position, link in enumerate(links):
        if link == UNALIGNED:
            continue
        if previous is not None and links[previous] == link:
            filled[previous:position] = [link] * (position - previous)
        previous = position
    return filled


@dataclass(frozen=True)
class Aligner:
    """A trained aligner; in pairs of arrays, index 0 generates the target, index 1 the source."""

    config: AlignerConfig
    words: tuple[list[str], list[str]]
    """Vocabularies of source and target."""
    keys: NDArray[np.int64]
    """Word pairs in ascending order, (pairs,); see ``pair_text``."""
    counts: Array
    """Expected count of each word pair, (2, pairs)."""
    totals: tuple[Array, Array]
    """Sum of counts and pseudo-counts over all translations of each word."""
    nulls: tuple[Array, Array]
    """Expected count of each word without a link."""
    jumps: tuple[Array, Array]
    """Weights of jumps, (2 width + 1,)."""

    def align(self, lines: Sequence[tuple[str, str]]) -> list[Links]:
        """Return the links of sentence pairs between words separated by spaces.

        The links of a pair depend on no other pair. A pair with an empty side has no links.
        """
        return [
            frozenset((int(i), int(j)) for i, j in np.argwhere(links > self.config.threshold))
            for links in self.score_links(lines)
        ]

    def trace(self, pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[list[int]]:
        """Return the index of the source word of each target word, or UNALIGNED.

        The words are those of ``find_words``, which are never linked with punctuation. Unlinked
        words between two words with the same link have this link, too, as in *Court of Justice*.
        """
        links = []
        scored = self.score_links(
            [(" ".join(source), " ".join(target)) for source, target in pairs]
        )
        for sides, scores in zip(pairs, scored, strict=True):
            if not scores.size:
                links.append([UNALIGNED] * len(sides[1]))
                continue
            source, target = (
                np.array([any(map(str.isalnum, word)) for word in side]) for side in sides
            )
            scores[source[:, None] != target] = 0
            is_linked = scores.max(axis=0) > self.config.threshold
            links.append(fill_gaps(np.where(is_linked, scores.argmax(axis=0), UNALIGNED).tolist()))
        return links

    def score_links(self, lines: Sequence[tuple[str, str]]) -> list[Array]:
        """Return the probabilities of links of each pair, (source words, target words).

        A probability is the geometric mean of both directions, for the most probable pieces of the
        two words.
        """
        scored = [np.zeros([len(line.split()) for line in pair]) for pair in lines]
        pieces = [tuple(cut_line(line, self.config) for line in pair) for pair in lines]
        rows = [row for row, scores in enumerate(scored) if scores.size]
        if not rows:
            return scored
        numbers, words = self._number([pieces[row] for row in rows])
        batches, keys = pair_text(numbers[0], numbers[1], len(words[1]))
        forward, backward = self._make_directions(keys, words)
        for batch in batches:
            links = forward.align_hmm(batch)[0]
            links *= backward.align_hmm(batch.swap_sides())[0].transpose(1, 0, 2)
            for column, number in enumerate(batch.rows):
                row = rows[number]
                inside = np.s_[: len(numbers[0][number]), : len(numbers[1][number]), column]
                positions = np.ix_(*(side.words for side in pieces[row]))
                np.maximum.at(scored[row], positions, np.sqrt(links[inside]))
        return scored

    @cached_property
    def _numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        first, second = ({word: number for number, word in enumerate(side)} for side in self.words)
        return first, second

    def _number(
        self, pieces: Sequence[tuple[Pieces, ...]]
    ) -> tuple[list[list[NDArray[np.int64]]], list[list[str]]]:
        """Return the numbers of all pieces, and the vocabularies with new words at their ends."""
        numbers, words = [], []
        for side, known in enumerate(self._numbers):
            new = sorted({*chain.from_iterable(pair[side].texts for pair in pieces)} - known.keys())
            extended = known | {word: number for number, word in enumerate(new, start=len(known))}
            numbers.append(
                [
                    np.array([extended[word] for word in pair[side].texts], np.int64)
                    for pair in pieces
                ]
            )
            words.append([*self.words[side], *new])
        return numbers, words

    def _make_directions(self, keys: NDArray[np.int64], words: list[list[str]]) -> list[Direction]:
        """Return both directions for word pairs, some of which may be new."""
        source, target = np.divmod(keys, len(words[1]))
        sizes = len(self.words[0]), len(self.words[1])
        is_known = (source < sizes[0]) & (target < sizes[1])
        own_keys = np.where(is_known, source * sizes[1] + target, -1)
        positions = np.minimum(np.searchsorted(self.keys, own_keys), max(len(self.keys) - 1, 0))
        known = self.keys[positions] == own_keys if len(self.keys) else np.zeros(len(keys), bool)
        counts = np.zeros((2, len(keys)))
        counts[:, known] = self.counts[:, positions[known]]
        directions = []
        for side, prior in enumerate(make_priors(keys, words, self.config)):
            totals, nulls = self.totals[side], self.nulls[side]
            new_totals = np.full(prior.sizes[0] - len(totals), prior.unseen * len(nulls))
            new_nulls = np.zeros(prior.sizes[1] - len(nulls))
            directions.append(
                prior.make_direction(
                    counts[side],
                    np.append(totals, new_totals),
                    np.append(nulls, new_nulls),
                    self.jumps[side],
                    self.config,
                )
            )
        return directions


FORMAT = "aligner 1"
"""The number is incremented when older programs cannot read the new format."""

DIRECTED_TENSORS = ("totals", "nulls", "jumps")
"""Tensors that exist for both directions, ``target`` and ``source``."""

ALIGNER = "aligner"
"""Name of the aligner's folder in an exported model and next to the tokenizers; optional."""


class _Words(Config):
    source: list[str] = Field(min_length=1)
    target: list[str] = Field(min_length=1)


def write_aligner(folder: Path, aligner: Aligner) -> None:
    """Write an aligner as a sealed folder, which replaces an existing one."""
    tensors = {"keys": aligner.keys, "counts": aligner.counts}
    for name in DIRECTED_TENSORS:
        tensors[f"target.{name}"], tensors[f"source.{name}"] = getattr(aligner, name)
    with files.whole_folder(folder) as part:
        save_file(tensors, part / "aligner.safetensors")
        files.write_json(part / "aligner.json", aligner.config.model_dump(mode="json"))
        words = dict(zip(("source", "target"), aligner.words, strict=True))
        files.write_json(part / "words.json", words)
        files.write_json(part / MANIFEST, {"format": FORMAT, "files": list_contents(part)})


def find_aligner(folder: Path) -> Aligner | None:
    """Return the aligner of a folder; None if the folder does not exist."""
    return load_aligner(folder) if folder.exists() else None


def load_aligner(folder: Path) -> Aligner:
    """Verify and load an aligner.

    Raises:
        BundleError: if the folder is incomplete, altered, of another format, or not an aligner.
        ConfigError: if its settings are unknown to this program.
    """
    verify_bundle(folder, expected=FORMAT)
    with explain_unreadable(folder / "aligner.json"):
        settings = files.read_json(folder / "aligner.json")
        learnt = config.build(AlignerConfig, settings, at="align")
    with explain_unreadable(folder / "words.json"):
        words = config.build(_Words, files.read_json(folder / "words.json"), at="words")
    path = folder / "aligner.safetensors"
    with explain_unreadable(path, SafetensorError):
        tensors = load_file(path)
        _check(tensors, words, learnt, path)
    totals, nulls, jumps = (
        (tensors[f"target.{name}"], tensors[f"source.{name}"]) for name in DIRECTED_TENSORS
    )
    vocabularies = words.source, words.target
    return Aligner(learnt, vocabularies, tensors["keys"], tensors["counts"], totals, nulls, jumps)


def _check(
    tensors: dict[str, NDArray[Any]], words: _Words, settings: AlignerConfig, path: Path
) -> None:
    """Raise a BundleError unless arrays have valid shapes and values for these vocabularies."""
    source, target, pairs = len(words.source), len(words.target), len(tensors["keys"])
    shapes = {"keys": (pairs,), "counts": (2, pairs)}
    for side, given, generated in (("target", source, target), ("source", target, source)):
        shapes |= {f"{side}.totals": (given,), f"{side}.nulls": (generated,)}
        shapes[f"{side}.jumps"] = (2 * settings.jump_width + 1,)
    if {name: array.shape for name, array in tensors.items()} != shapes:
        raise BundleError(f"{path} does not match its words.json; learn the aligner again")
    positive = [name for name in shapes if name.endswith(("totals", "jumps"))]
    keys = tensors["keys"]
    is_valid = (
        keys.dtype == np.int64
        and all(tensors[name].dtype == np.float64 for name in shapes if name != "keys")
        and all(np.isfinite(tensors[name]).all() for name in shapes)
        and all((tensors[name] > 0).all() for name in positive)
        and all((tensors[name] >= 0).all() for name in shapes)
        and bool((np.diff(keys) > 0).all())
        and bool((keys < source * target).all())
    )
    if not is_valid:
        raise BundleError(f"{path} contains invalid numbers; learn the aligner again")
