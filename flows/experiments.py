"""The experiments of a comparison: a preset and a seed each, with all settings checked."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from nmt_core.base.errors import ConfigError
from stages import paths
from stages.configure import compose
from stages.configure.sections import build_all
from stages.params import DownloadParams
from stages.runtime.code_digests import digest_code
from stages.runtime.fingerprint import hash_json

SECONDS = 300.0
"""The budget of every model where none is given."""


FIXED = {
    "model": "name the models alone",
    "train.budget": "give the budget by --seconds, --steps or --tokens (SECONDS=, STEPS=, TOKENS=)",
    "train.seed": "give the seeds by --seeds (SEEDS=)",
}
"""Settings that a comparison sets itself, and how to choose them."""


@dataclass(frozen=True)
class Experiment:
    """One training and its evaluation."""

    model: str
    seed: int
    settings: tuple[str, ...]
    """Hydra's overrides of conf/."""
    digest: str
    """Of all settings, of the text and of the code."""

    @property
    def name(self) -> str:
        """The name of DVC's experiment; another setting, text or code makes another name."""
        return f"{self.model}-seed{self.seed}-{self.digest[:10]}"


def plan_experiments(
    models: Sequence[str], settings: Sequence[str], *, seeds: Sequence[int]
) -> list[Experiment]:
    """Return the experiments, seed by seed; a typo costs a second, not a night.

    Raises:
        ConfigError: if a model or a setting is wrong, or a model or a seed is named twice.
        CorpusError: if a file of the user's own cannot be read.
    """
    for what, named in (("model", models), ("seed", seeds)):
        if twice := [one for one, times in Counter(named).items() if times > 1]:
            raise ConfigError(
                f"the {what} {twice[0]} is named twice; one training would count as two, and make "
                f"differences look surer than they are, so name it once"
            )
    code = hash_code()
    return [
        make_experiment(model, seed, [f"model={model}", *settings, f"train.seed={seed}"], code)
        for seed in seeds
        for model in models
    ]


def make_experiment(model: str, seed: int, settings: list[str], code: str) -> Experiment:
    """Return an experiment with its settings checked, and its files pinned at absolute paths."""
    sections = build_all(compose.compose_groups(settings), source=f"conf/ with model={model}")
    download = sections["download"]
    assert isinstance(download, DownloadParams)
    settings = [*settings, *list_file_settings(download)]
    sections["download"] = download.absolute().pinned()
    values = {name: section.model_dump(mode="json") for name, section in sections.items()}
    return Experiment(model, seed, tuple(settings), hash_json([values, code]))


def list_file_settings(download: DownloadParams) -> Iterator[str]:
    """Yield settings that make paths of the user's own files absolute and pin their digests."""
    return list_overrides(
        download.model_dump(mode="json"),
        download.absolute().pinned().model_dump(mode="json"),
        path="download",
    )


def list_overrides(
    before: Mapping[str, Any], after: Mapping[str, Any], *, path: str
) -> Iterator[str]:
    """Yield the overrides that make words of settings others."""
    for name, value in after.items():
        if isinstance(value, dict):
            yield from list_overrides(before[name], value, path=f"{path}.{name}")
        elif value != before[name]:
            yield f"{path}.{name}={quote(value)}"


def quote(words: object) -> str:
    """Quote words for Hydra."""
    escaped = str(words).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def hash_code() -> str:
    """Return a digest of all code that stages run, and of their dependencies."""
    document = yaml.safe_load(paths.PIPELINE.read_text(encoding="utf-8"))["stages"]
    return hash_json([digest_code(document), document])


def list_budget_settings(
    seconds: float | None, steps: int | None, tokens: int | None
) -> Iterator[str]:
    """Yield settings that give every model the same budget, and no other."""
    if steps is None and tokens is None and seconds is None:
        seconds = SECONDS
    budget = {"steps": steps, "epochs": None, "tokens": tokens, "seconds": seconds}
    for name, limit in budget.items():
        yield f"train.budget.{name}={'null' if limit is None else limit}"


def add_budget(
    settings: Sequence[str], seconds: float | None, steps: int | None, tokens: int | None
) -> list[str]:
    """Return settings with the same budget for every model.

    Raises:
        ConfigError: if they set what a comparison sets itself, so that it would not hold.
    """
    for setting in settings:
        name = setting.lstrip("+~").partition("=")[0]
        for fixed, how in FIXED.items():
            if f"{name}.".startswith(f"{fixed}."):
                raise ConfigError(f"{setting} would not hold in a comparison; {how}")
    return [*settings, *list_budget_settings(seconds, steps, tokens)]


def parse_seeds(words: str) -> list[int]:
    """Return the seeds of a list such as 1,2,3; one number is how many: 3 are the seeds 1, 2 and 3.

    Raises:
        ConfigError: if it is neither, or a seed stands in the list twice.
    """
    try:
        numbers = [int(word) for word in words.removesuffix(",").split(",")]
    except ValueError:
        numbers = []
    if len(numbers) == 1 and not words.endswith(","):
        numbers = list(range(1, numbers[0] + 1))
    if not numbers or min(numbers) < 0 or len({*numbers}) < len(numbers):
        raise ConfigError(
            f"--seeds must be how many, such as 3, or different seeds, such as 1,2,3 (with a comma "
            f"after a single one: 7,), got {words!r}"
        )
    return numbers
