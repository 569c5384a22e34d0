"""Metrics by name: each is a file of this folder and a line here.

This file imports none of them: settings name metrics, and are read before anything slow is loaded;
and a new metric changes no byte of what is trained and scored without it.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator

from nmt_core.base.config import suggest

if TYPE_CHECKING:
    from nmt_core.evaluation.metrics.base import Metric

METRICS = {
    "bleu": ("Bleu", "BLEU"),
    "chrf": ("Chrf", "chrF"),
}
"""Class of each metric, and what people call it, by its name, which is that of its file, too."""

DEFAULT_METRICS = ["bleu", "chrf"]
"""What is measured where nobody asks for other metrics; the first one leads."""


def check_name(name: str) -> str:
    """Return the name of a metric.

    Raises:
        ValueError: if there is no such metric.
    """
    if name not in METRICS:
        raise ValueError(f"{name!r} is not a metric; {suggest(name, METRICS)}")
    return name


MetricName = Annotated[str, AfterValidator(check_name)]


def find_metric_class(name: str) -> "type[Metric]":
    """Return the class of a metric, which knows its direction.

    Raises:
        ValueError: if there is no such metric.
    """
    found: type[Metric] = getattr(
        import_module(f"{__package__}.{check_name(name)}"), METRICS[name][0]
    )
    return found


def load_metric(name: str, language: str) -> "Metric":
    """Return a metric of text in a language, given by its code.

    Raises:
        ConfigError: if what cuts the language into words is not installed.
        ValueError: if there is no such metric.
    """
    return find_metric_class(name)(language)


def find_label(name: str) -> str:
    """Return what people call a metric.

    Raises:
        ValueError: if there is no such metric.
    """
    return METRICS[check_name(name)][1]


def find_metric_names(scores: Mapping[str, Any]) -> list[str]:
    """Return the names of the metrics in what ``evaluate`` has written, in its order."""
    return [name for name in scores if f"{name}_signature" in scores]
