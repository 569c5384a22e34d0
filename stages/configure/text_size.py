"""Settings that follow from the size of a text: split, subwords, and weights of made corpora.

Fitted settings are written to ``params.yaml`` like any other, and stay when the text grows.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nmt_core.base import config
from nmt_core.base.errors import NmtError
from nmt_core.corpora.fetch.initial_model import NoInitialModel
from nmt_core.corpora.local import FilesCorpus
from nmt_core.corpora.named import list_split_off
from nmt_core.corpora.splitting import PER
from stages import paths
from stages.params import DownloadParams
from stages.reporting.download_report import DownloadReport

FEWEST_TESTS, MOST_TESTS = 230, 1000
"""Limits of the twentieth of the text that is held out. A hash draws 200 of 230, fewer of which
hardly tell two systems apart, in all but one of forty texts."""

FEWEST_VALIDATIONS = 230
"""Where half as many as there are tests are fewer: confidence is fitted on 200."""

LARGEST_SHARE = 1 / 4
"""Of the text that goes to test, also where that is fewer."""

FEW_PAIRS = 10_000
"""Up to this many pairs teach few subwords, and hardly suffice for a translator."""

SUBWORDS, FEWEST_SUBWORDS = 2000, 500
"""For few pairs, and for very few."""


def fit_settings(values: dict[str, Any], given: Sequence[str]) -> tuple[list[str], str]:
    """Return settings that fit a small text, and a message; empty if the given ones fit.

    Args:
        values: of all settings.
        given: settings that a person has typed, which stay as they are.
    """
    try:
        download = config.build(DownloadParams, values.get("download") or {}, at="download")
        learnt, tested = count_pairs(download)
    except NmtError:  # readers of the settings, or of the text, report it
        return [], ""
    settings = []
    if tested is not None and not _are_set("download.split", given):
        settings += fit_split(download, tested)
    if learnt is not None and not _are_set("tokenize", given):
        settings += fit_subwords(values["tokenize"], learnt)
    anew = isinstance(download.initial_model, NoInitialModel)
    few = (
        "; so few hardly make a translator to rely on, unless it goes on from another one "
        "(START=bundle)"
    )
    parts = [f"{learnt:,} pairs"] if learnt is not None else []
    if tested is not None and tested != learnt:
        parts += [f"{tested:,} pairs that may be tested on"]
    message = f"fitted to {' and '.join(parts)}: {' '.join(settings)}"
    told = few if anew and learnt is not None and learnt <= FEW_PAIRS else ""
    return settings, f"{message}{told}" if settings else ""


def count_pairs(download: DownloadParams) -> tuple[int | None, int | None]:
    """Return how many pairs are learnt from, and how many may be tested on.

    None where not all of them are in files of the user's own.

    Raises:
        CorpusError: if a file cannot be read.
    """
    counts = {
        name: corpus.estimate_size(download.languages).pairs
        for name, corpus in download.parallel.items()
        if isinstance(corpus, FilesCorpus)
    }

    def add(names: list[str]) -> int | None:
        return sum(counts[name] for name in names) if counts.keys() >= {*names} else None

    return (
        add([name for name, corpus in download.parallel.items() if corpus.weight]),
        add([name for name, corpus in download.parallel.items() if not corpus.train_only]),
    )


def fit_split(download: DownloadParams, pairs: int) -> list[str]:
    """Return rates of a hash split that hold out enough of the pairs that may be tested on."""
    split = download.split
    tests = min(max(FEWEST_TESTS, min(pairs // 20, MOST_TESTS)), LARGEST_SHARE * pairs)
    rate = round(PER * tests / max(1, pairs), 1)
    drawn = split.sessions is None and list_split_off(download.corpora)
    if not drawn or rate <= split.test_per_10000:
        return []
    validations = max(tests / 2, min(FEWEST_VALIDATIONS, LARGEST_SHARE / 2 * pairs))
    rates = {"validation": round(PER * validations / max(1, pairs), 1), "test": rate}
    return [f"download.split.{name}_per_10000={value}" for name, value in rates.items()]


def fit_subwords(tokenize: dict[str, Any], pairs: int) -> list[str]:
    """Return a number of subwords that few pairs can teach, where it is smaller."""
    size = min(SUBWORDS, max(FEWEST_SUBWORDS, 4 * pairs))
    learnt = tokenize["kind"] == "sentencepiece"
    if not learnt or pairs > FEW_PAIRS or size >= tokenize["subwords"]["vocab_size"]:
        return []
    return [f"tokenize.subwords.vocab_size={size}"]


def _are_set(path: str, given: Sequence[str]) -> bool:
    return any(setting.lstrip("+~").startswith(path) for setting in given)


HIGHEST = 1_000_000.0
"""The highest weight that a corpus may have."""


def describe_made_corpus(
    stem: Path,
    *,
    weight: float,
    licence: str,
    tag: str = "",
    filters: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the settings of a corpus of two files, of which nothing is tested on.

    Args:
        stem: their path, without the side that each ends in.
        weight: see :func:`find_weight`.
        licence: as the model card names it.
        tag: token that a model reads before its lines.
        filters: its own, which replace filters of the whole text.
    """
    return {
        "kind": "files",
        "train": {side: f"{stem}.{side}" for side in paths.SIDES},
        "licence": licence,
        "train_only": True,
        "weight": weight,
        "tag": tag,
        "filter": filters,
    }


def read_temperature(values: Mapping[str, Any]) -> float:
    """Return the temperature of the mixture in the content of a params.yaml."""
    return float(values["train"].get("mixture", {}).get("temperature", 1.0))


def count_weighted_pairs(temperature: float = 1.0, *, reports: Path = paths.REPORTS) -> float:
    """Return how many training pairs were downloaded, those of each corpus times its weight.

    At a temperature T each of these numbers is its T-th root, as in a mixture.
    """
    corpora = DownloadReport.read(reports / "download.json").corpora.values()
    sizes = (corpus.weight * corpus.pairs["train"] for corpus in corpora)
    return float(sum(size ** (1 / temperature) for size in sizes))


def find_weight(share: float, *, pairs: int, others: float, temperature: float = 1.0) -> float:
    """Return the weight with which pairs are a share of what is read.

    Args:
        share: of these pairs, between 0 and 1.
        pairs: number of pairs.
        others: result of :func:`count_weighted_pairs` at that temperature.
        temperature: of the mixture.
    """
    return min((share / (1 - share) * others) ** temperature / pairs, HIGHEST)
