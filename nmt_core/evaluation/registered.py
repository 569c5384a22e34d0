"""Metrics and slices by name: of this package, or from another one.

This file imports none of them: settings name them, and are read before anything slow is loaded; and
a new metric changes no byte of what is trained without it.
"""

from collections.abc import Iterable, Mapping, Sequence
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from nmt_core.base.errors import ConfigError
from nmt_core.base.registry import Registry
from nmt_core.evaluation import metrics

if TYPE_CHECKING:
    from nmt_core.evaluation.metric import Metric, Reference
    from nmt_core.evaluation.slice import Slice


def list_metrics() -> dict[str, str]:
    """Return where the class of each metric of the folder is: that of ``ter.py`` is ``Ter``."""
    names = [module.name for module in iter_modules(metrics.__path__)]
    return {name: f"{metrics.__name__}.{name}:{name.title().replace('_', '')}" for name in names}


METRICS: "Registry[type[Metric]]" = Registry("a metric", "nmt.metrics", list_metrics())
"""The class of each metric by its name."""

SLICES: "Registry[Slice]" = Registry(
    "a slice",
    "nmt.slices",
    {
        name: f"nmt_core.evaluation.slices:{name.upper()}"
        for name in (
            "short",
            "middling",
            "long",
            "rare_words",
            "numbers",
            "names",
            "negation",
            "questions",
            "unsure",
            "sure",
            "glossary",
        )
    },
)
"""Each slice of a test set by its name."""

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
    """Return the label of a metric.

    Raises:
        ConfigError: if there is no such metric.
    """
    return METRICS.load(name).label


def find_metric_names(scores: Mapping[str, Any]) -> list[str]:
    """Return the names of the metrics in the scores of ``evaluate``, in its order."""
    return [name for name in scores if f"{name}_signature" in scores]
