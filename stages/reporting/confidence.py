"""Confidence in the metrics of an evaluation, and on the model card."""

from collections.abc import Iterator, Mapping
from typing import Any

from nmt_core.base import config
from nmt_core.translation.confidence import ConfidenceModel, Reliability


def read_confidence(measured: Mapping[str, Any]) -> ConfidenceModel | None:
    """Return what was fitted, from the metrics of an evaluation or engine; None if it could not."""
    found = measured["confidence"].get("model")
    return config.build(ConfidenceModel, found, at="confidence") if found else None


def describe_confidence(
    evaluation: Mapping[str, Any], engines: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the lines of the card that say what confidence means, and how far it can be trusted.

    Args:
        evaluation: metrics of the evaluation, which translates by PyTorch.
        engines: the reports of the engines that are exported, by name.
    """
    found = evaluation["confidence"]
    judging = read_confidence(evaluation)
    if judging is None:
        yield f"It tells no confidence in a translation: {found['missing']}."
        return
    own = config.build(Reliability, found["cross_validated"], at="confidence")
    yield (
        f"The confidence of a translation is the probability that its chrF beside a reference is "
        f"at least {judging.good_chrf:g}, which is no proof that it is right. It was fitted on "
        f"{judging.sentences:,} validation sentences; of these, each judged by what was fitted on "
        f"others: {describe_reliability(own)}."
    )
    if not judging.judges_unknown_words:
        yield (
            f"{judging.sentences_unknown:,} of them have words that training text never had, which "
            f"is too few to learn from: a sentence with such a word has no confidence."
        )
    if tested := judging.reliability:
        yield f"On {tested.sentences:,} test sentences: {describe_reliability(tested)}."
        yield ""
        yield "| confidence | sentences | good |"
        yield "|---|---|---|"
        for one in tested.curve:
            yield f"| {one.confidence:.2f} | {one.sentences:,} | {one.good:.2f} |"
    for name, report in engines.items():
        own_model = read_confidence(report) if "confidence" in report else None
        if own_model and (tested := own_model.reliability):
            yield ""
            yield (
                f"`{name}` has a confidence of its own, fitted on what it writes; on "
                f"{tested.sentences:,} test sentences: {describe_reliability(tested)}."
            )


def describe_reliability(found: Reliability) -> str:
    """Return an area under the curve and an error of calibration, with their intervals."""
    return (
        f"an area under the ROC curve of {found.area:.2f} (95 % interval: {found.area_low:.2f} to "
        f"{found.area_high:.2f}) and an expected calibration error of {found.error:.3f} "
        f"({found.error_low:.3f} to {found.error_high:.3f})"
    )
