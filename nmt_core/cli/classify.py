"""``nmt classify``: which label has each line, and how often is that right?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_core.cli.lines import open_standard_input, read_chunks, show_progress
from nmt_core.cli.program import Device, Threads

if TYPE_CHECKING:  # torch takes seconds to import, and help should not
    from nmt_core.classifiers.text_classifier import TextClassifier

ClassifierFolder = Annotated[
    Path, typer.Option("--model", metavar="DIR", help="Classifier of nmt learn-classifier.")
]

PORTION = 1024
"""Texts after which progress is shown."""


def classify(
    *,
    model: ClassifierFolder,
    labelled: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Lines of label, tab, text: tell how many are right."),
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Tell the label of every line of standard input, and how probable it is.

    **Examples**

        nmt classify --model models/sentiment < reviews.txt

        nmt classify --model models/sentiment --labelled test.tsv

    **What is written**, a line for each line of input: the label, a tab, its probability. With
    `--labelled`, instead of all that, the accuracy on that file, with Wilson's 95 % interval, and
    that of every label.
    """
    classifier = open_classifier(model, device, threads)
    if labelled is not None:
        typer.echo(measure_accuracy(classifier, labelled))
        return
    for lines in read_chunks(open_standard_input()):
        for found in classifier.classify(lines):
            typer.echo(f"{found.label}\t{found.probability:.4f}")


def open_classifier(folder: Path, device: str, threads: int | None) -> "TextClassifier":
    """Load what ``nmt learn-classifier`` wrote."""
    from nmt_core import compute  # noqa: PLC0415 - takes seconds
    from nmt_core.classifiers.bundle import load_classifier  # noqa: PLC0415 - takes seconds

    compute.set_threads(threads)
    return load_classifier(folder, device=device)


def measure_accuracy(classifier: "TextClassifier", labelled: Path) -> str:
    """Return how many labels of a file are found, of all texts and of those of every label.

    Raises:
        CorpusError: if the file is no file of labelled texts, or has a label of its own.
    """
    from nmt_core.classifiers.labelled import read_labelled  # noqa: PLC0415 - takes a moment
    from nmt_core.errors import CorpusError  # noqa: PLC0415 - takes a moment
    from nmt_core.statistics.proportion import compute_wilson_interval  # noqa: PLC0415

    texts = read_labelled(labelled)
    if strange := sorted({*texts.classes} - {*classifier.classes}):
        raise CorpusError(
            f"{labelled} has the label {strange[0]!r}, which the classifier does not know; "
            f"it knows {', '.join(classifier.classes)}"
        )
    found: list[str] = []
    with show_progress() as advance:
        for at in range(0, len(texts), PORTION):
            portion = texts.texts[at : at + PORTION]
            found += [judged.label for judged in classifier.classify(portion)]
            advance(len(portion))
    right = dict.fromkeys(texts.classes, 0)
    for label, answer in zip(texts.labels, found, strict=True):
        right[label] += label == answer
    rows = [("accuracy", sum(right.values()), len(texts))]
    rows += [(f"of {label}", right[label], texts.labels.count(label)) for label in texts.classes]
    lines = []
    for name, good, total in rows:
        low, high = compute_wilson_interval(good, total)
        lines.append(
            f"{name}\t{100 * good / total:.2f} %\t{100 * low:.2f} to {100 * high:.2f} %\t"
            f"{good:,} of {total:,}"
        )
    return "\n".join(lines)
