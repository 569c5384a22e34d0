"""What a classifier of texts has to beat: TF-IDF and logistic regression (docs/results.md).

Both are scikit-learn's, which comes with MLflow; nothing but this measurement takes them.

    python -m benchmarks.text_baseline --labelled train.tsv --test test.tsv --ngrams 2
"""

import time
from pathlib import Path
from typing import Annotated

import typer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from nmt_core.evaluation.statistics.proportion import compute_wilson_interval
from nmt_core.extensions.classifiers.labelled import LabelledTexts, read_labelled

LEAST_TEXTS = 3
"""Of words, and of words in a row, that are counted at all."""
INVERSE_PENALTY = 5.0
"""C of the regression: how little its weights are held back."""


def learn(labelled: LabelledTexts, *, ngrams: int) -> Pipeline:
    """Return what tells labels by words, and by so many words in a row at most."""
    return make_pipeline(
        TfidfVectorizer(ngram_range=(1, ngrams), min_df=LEAST_TEXTS),
        LogisticRegression(C=INVERSE_PENALTY, max_iter=1000),
    ).fit(labelled.texts, labelled.labels)


def main(
    labelled: Annotated[Path, typer.Option(help="Lines of label, tab and text to learn from.")],
    test: Annotated[Path, typer.Option(help="The same to test on.")],
    ngrams: Annotated[int, typer.Option(min=1, help="Words in a row that count as one.")] = 1,
) -> None:
    """Measure the baseline: accuracy, with Wilson's 95 % interval, and what learning took."""
    began = time.process_time()
    baseline = learn(read_labelled(labelled), ngrams=ngrams)
    seconds = time.process_time() - began
    tested = read_labelled(test)
    right = sum(map(str.__eq__, baseline.predict(tested.texts), tested.labels))
    low, high = compute_wilson_interval(right, len(tested))
    typer.echo(
        f"{right:,} of {len(tested):,} are right, {right / len(tested):.2%} (95 %: {low:.2%} to "
        f"{high:.2%}), {seconds:.0f} processor seconds"
    )


if __name__ == "__main__":
    typer.run(main)
