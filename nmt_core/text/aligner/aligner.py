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
from nmt_core.text.aligner.hmm import Direction, Jumps, PairedText, pair_text
from nmt_core.text.aligner.lexicon import Table, measure_priors
from nmt_core.text.aligner.words import AlignerConfig, Pieces, cut_line
from nmt_core.text.words import UNALIGNED

Links = frozenset[tuple[int, int]]


def format_links(links: Iterable[tuple[int, int]]) -> str:
    """Return links as text, ``0-0 2-1``, by source and then by target word (Pharaoh format)."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def link_words(links: Links, source: Sequence[int], target: Sequence[int]) -> Links:
    """Return links between words, of links between their pieces.

    Args:
        links: between pieces.
        source: the word of each piece of the source.
        target: the word of each piece of the target.
    """
    return frozenset((source[i], target[j]) for i, j in links)


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


def choose_likely(
    forward: NDArray[np.float64], backward: NDArray[np.float64], threshold: float
) -> Links:
    """Link words with a geometric mean of probabilities above a threshold.

    Args:
        forward: that a target word is explained by a source word, (source, target).
        backward: that a source word is explained by a target word, (source, target).
        threshold: from 0 to 1.
    """
    likely = forward * backward > threshold**2
    return frozenset((int(source), int(target)) for source, target in np.argwhere(likely))


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Aligner:
    """An aligner learnt from parallel text; index 0 explains the target, index 1 the source."""

    config: AlignerConfig
    words: tuple[list[str], list[str]]
    """Vocabularies of source and target."""
    keys: NDArray[np.int64]
    """Pairs of words, rising; see ``PairedText``."""
    counts: Array
    """Their expected counts, (2, pairs)."""
    tables: tuple[Table, Table]
    jumps: tuple[Jumps, Jumps]

    def align(self, lines: Sequence[tuple[str, str]]) -> list[Links]:
        """Return the links of sentence pairs, over words that spaces part.

        A pair's links depend on no other pair. A pair with an empty side has none.

        Args:
            lines: source and target.
        """
        pieces = [
            (cut_line(one, self.config), cut_line(other, self.config)) for one, other in lines
        ]
        rows = [row for row, (one, other) in enumerate(pieces) if one.spelt and other.spelt]
        links: list[Links] = [frozenset()] * len(lines)
        for row, (forward, backward) in zip(
            rows, self.explain([pieces[row] for row in rows]), strict=True
        ):
            likely = choose_likely(forward, backward, self.config.threshold)
            links[row] = link_words(likely, pieces[row][0].words, pieces[row][1].words)
        return links

    def trace(self, pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[list[int]]:
        """Return for each target word the source word that it translates, or UNALIGNED.

        Words and signs of punctuation never translate each other. An unlinked run of words between
        two that translate the same word belongs to it, as in *Court of Justice*.

        Args:
            pairs: words of source and target, as ``find_words`` finds them.
        """
        pieces = [tuple(cut_line(" ".join(side), self.config) for side in pair) for pair in pairs]
        rows = [row for row, sides in enumerate(pieces) if all(side.spelt for side in sides)]
        links = [[UNALIGNED] * len(target) for _, target in pairs]
        explained = self.explain([(pieces[row][0], pieces[row][1]) for row in rows])
        for row, (forward, backward) in zip(rows, explained, strict=True):
            source, target = pairs[row]
            shares = np.zeros((len(source), len(target)))
            places = np.ix_(*(side.words for side in pieces[row]))
            np.maximum.at(shares, places, np.sqrt(forward * backward))
            are_words = [
                np.array([any(map(str.isalnum, word)) for word in side])
                for side in (source, target)
            ]
            shares[are_words[0][:, None] != are_words[1]] = 0
            best = np.where(
                shares.max(axis=0) > self.config.threshold, shares.argmax(axis=0), UNALIGNED
            )
            links[row] = fill_gaps(best.tolist())
        return links

    def explain(self, pieces: Sequence[tuple[Pieces, Pieces]]) -> list[tuple[Array, Array]]:
        """Return the probabilities that pieces explain each other, none of the pairs being empty.

        Returns:
            Of each pair, that target is explained by source, and that source is explained by
            target, both (source pieces, target pieces).
        """
        if not pieces:
            return []
        numbers, words = self._number(pieces)
        text = pair_text(numbers[0], numbers[1], len(words[1]))
        directions = self._direct(text, words)
        explained: list[tuple[Array, Array]] = [(np.zeros(0), np.zeros(0))] * len(pieces)
        for batch in text.batches:
            forward = directions[0].explain(batch).links[:, 1:].transpose(1, 0, 2)
            backward = directions[1].explain(batch.turn()).links[:, 1:]
            for column, row in enumerate(batch.rows):
                inside = np.s_[: len(numbers[0][row]), : len(numbers[1][row]), column]
                explained[row] = forward[inside], backward[inside]
        return explained

    @cached_property
    def _numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        first, second = ({word: number for number, word in enumerate(side)} for side in self.words)
        return first, second

    def _number(
        self, pieces: Sequence[tuple[Pieces, Pieces]]
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

    def _direct(self, text: PairedText, words: list[list[str]]) -> list[Direction]:
        """Return both directions for the pairs of words of a text."""
        source, target = np.divmod(text.keys, len(words[1]))
        sizes = len(self.words[0]), len(self.words[1])
        wanted = np.where((source < sizes[0]) & (target < sizes[1]), source * sizes[1] + target, -1)
        places = np.minimum(np.searchsorted(self.keys, wanted), max(len(self.keys) - 1, 0))
        known = self.keys[places] == wanted if len(self.keys) else np.zeros(len(wanted), bool)
        counts = np.zeros((2, len(wanted)))
        counts[:, known] = self.counts[:, places[known]]
        priors = measure_priors(text.keys, words, self.config)
        return [
            Direction(
                prior.look_up(table.extend(prior.sizes, prior.unmet), own),
                jumps,
                self.config.null_probability,
                self.config.diagonal,
            )
            for prior, table, own, jumps in zip(
                priors, self.tables, counts, self.jumps, strict=True
            )
        ]


FORMAT = "aligner 1"
"""Counts up when a program that knows the old number could not read the new one."""


ALIGNER = "aligner"
"""The folder of an aligner in an exported model, which earlier ones lack, and beside tokenizers."""


class _Words(Config):
    source: list[str] = Field(min_length=1)
    target: list[str] = Field(min_length=1)


def write_aligner(folder: Path, aligner: Aligner) -> None:
    """Seal an aligner into a folder, which replaces one of that name."""
    tensors = {"keys": aligner.keys, "counts": aligner.counts}
    for name, table, jumps in zip(("target", "source"), aligner.tables, aligner.jumps, strict=True):
        tensors[f"{name}.totals"] = table.totals
        tensors[f"{name}.nulls"] = table.nulls
        tensors[f"{name}.jumps"] = jumps.weights
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
    verify_bundle(folder, known=FORMAT)
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
    return Aligner(
        learnt,
        (words.source, words.target),
        tensors["keys"],
        tensors["counts"],
        (
            Table(tensors["target.totals"], tensors["target.nulls"]),
            Table(tensors["source.totals"], tensors["source.nulls"]),
        ),
        (Jumps(tensors["target.jumps"]), Jumps(tensors["source.jumps"])),
    )


def _check(
    tensors: dict[str, NDArray[Any]], words: _Words, settings: AlignerConfig, path: Path
) -> None:
    """Make sure that arrays have the shapes and values of an aligner of these words."""
    source, target, pairs = len(words.source), len(words.target), len(tensors["keys"])
    kinds = 2 * settings.jump_width + 1
    shapes = {
        "keys": (pairs,),
        "counts": (2, pairs),
        "target.totals": (source,),
        "target.nulls": (target,),
        "target.jumps": (kinds,),
        "source.totals": (target,),
        "source.nulls": (source,),
        "source.jumps": (kinds,),
    }
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
