"""``nmt learn-classifier``: a classifier from labelled texts."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from nmt_core.cli.learn import show_training
from nmt_core.cli.program import Threads
from nmt_core.cli.set_options import change_settings
from nmt_core.errors import ConfigError


def learn_classifier(
    *,
    labelled: Annotated[
        Path, typer.Option(metavar="FILE", help="Lines of label, tab, text, UTF-8.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write the classifier to.")],
    vectors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Word vectors to start from, .vec or .vec.gz, as fastText's."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; repeatable."),
    ] = None,
    threads: Threads = None,
) -> None:
    """Learn which of some labels a text has, such as the sentiment of a review.

    Words are embedded and read by two layers of gated recurrent units; rare words share embeddings
    by a hash. A tenth of the texts, drawn by chance, is held out; the epoch that finds most of
    their labels is kept. A training that is stopped goes on after its last whole epoch when the
    same command is given.

    A first line that names columns, `label` and `text` among them, says where these stand.

    **Examples**

        nmt learn-classifier --labelled reviews.tsv --out models/sentiment

        nmt learn-classifier --labelled reviews.tsv --vectors wiki.en.vec --out models/wiki

    **Settings** and their defaults:

    - text: `text.words=10000`, `text.buckets=1000`, `text.lower_case=true`, `text.longest=250`
      tokens, `text.keep=last` (or `first`)

    - model: `model.embedding_width=128`, `model.layers=2`, `model.width=128`, `model.pool=max` (or
      `last`), `model.embedding_dropout=0.3`, `model.dropout=0.5`, `model.frozen=false`

    - training: `training.epochs=3`, `training.rows=64`, `training.schedule.learning_rate=0.002`,
      `training.max_gradient_norm=1.0`, `training.patience=null`

    - all: `held_out=0.1`, `seed=1`
    """
    from rich.console import Console  # noqa: PLC0415 - slow to import

    from nmt_core.classifiers import training  # noqa: PLC0415 - takes seconds
    from nmt_core.classifiers.bundle import write_classifier  # noqa: PLC0415 - takes seconds
    from nmt_core.classifiers.labelled import hold_out, read_labelled  # noqa: PLC0415
    from nmt_core.classifiers.settings import LearnClassifierConfig  # noqa: PLC0415
    from nmt_core.classifiers.vectors import read_embeddings  # noqa: PLC0415 - takes seconds
    from nmt_core.classifiers.words import learn_words  # noqa: PLC0415

    chosen = [*(settings or []), *([f"training.compute.threads={threads}"] if threads else [])]
    config = change_settings(LearnClassifierConfig(), chosen, at="learn-classifier")
    if config.model.frozen and vectors is None:
        raise ConfigError("model.frozen leaves word vectors as given; add --vectors FILE")
    texts = read_labelled(labelled)
    learnt_from, held_out = hold_out(texts, config.held_out, seed=config.seed)
    words = learn_words(config.text, learnt_from.texts)
    given = None
    if vectors is not None:
        given = read_embeddings(vectors, words, seed=config.seed)
        shape = config.model.model_copy(update={"embedding_width": given.size(1)})
        config = config.model_copy(update={"model": shape})
    console = Console(stderr=True, highlight=False)
    console.print(
        f"{len(learnt_from):,} texts to learn from, {len(held_out):,} held out, labels "
        f"{', '.join(texts.classes)}, {len(words.vocabulary):,} words in the vocabulary",
        soft_wrap=True,
        markup=False,
    )
    place = out.with_name(f"{out.name}.checkpoints")
    checkpoints = place / training.compute_labelled_fingerprint(config, texts, given)
    classifier, points = training.train_classifier(
        config,
        words,
        training=learnt_from,
        validation=held_out,
        vectors=given,
        checkpoints=checkpoints,
        display=show_training,
    )
    learning = config.model_dump(mode="json") | {"points": [p.model_dump() for p in points]}
    write_classifier(out, classifier, learning=learning)
    shutil.rmtree(checkpoints, ignore_errors=True)
    with suppress(OSError):  # others may be there, of other settings
        place.rmdir()
    best = max(point.validation_accuracy for point in points)
    console.print(f"{best:.2f} % of the labels held out found; the classifier is in {out}")
