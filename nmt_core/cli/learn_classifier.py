"""``nmt learn-classifier``: a classifier from labelled texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nmt_core.base.errors import ConfigError
from nmt_core.cli.learn import remove_checkpoints, show_training
from nmt_core.cli.program import Threads
from nmt_core.cli.set_options import change_settings

if TYPE_CHECKING:  # torch takes seconds to import, and help should not
    from nmt_core.extensions.classifiers.settings import FineTuneConfig, LearnClassifierConfig
    from nmt_core.extensions.classifiers.training import Start
    from nmt_core.extensions.classifiers.words import HashedWords
    from nmt_core.extensions.language_models.masked import MaskedTextModel


def learn_classifier(
    *,
    kind: Annotated[
        Literal["recurrent", "bag"], typer.Option(help="What reads: recurrent layers, or a mean.")
    ] = "recurrent",
    labelled: Annotated[
        Path, typer.Option(metavar="FILE", help="Lines of label, tab, text, UTF-8.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Folder to write the classifier to, new or of an older one."
        ),
    ],
    vectors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Word vectors to start from, .vec or .vec.gz, as fastText's."
        ),
    ] = None,
    initial_model: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Masked language model of nmt learn to start from."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; repeatable."),
    ] = None,
    threads: Threads = None,
) -> None:
    """Learn which of some labels a text has, such as the sentiment of a review.

    **Kinds**: `recurrent` embeds words and reads them by two layers of gated recurrent units; `bag`
    judges by the mean of the embeddings of all words and of words in a row, which is several times
    as fast, and more often right where single words tell. Rare words share embeddings by a hash.

    A tenth of the texts, drawn by chance, is held out, though none that is learnt from, too; the
    epoch that finds most of their labels is kept. A training that is stopped goes on after its last
    whole epoch when the same command is given.

    With `--initial-model`, texts are read in the tokens of a masked language model and by its
    layers, whose weights `initial_parts` takes over; without any of them (`[]`), the same
    classifier learns from chance.

    A first line that names columns, `label` and `text` among them, says where these stand.

    **Examples**

        nmt learn-classifier --labelled reviews.tsv --out models/sentiment

        nmt learn-classifier --labelled reviews.tsv --kind bag --out models/sentiment

        nmt learn-classifier --labelled reviews.tsv --vectors wiki.en.vec --out models/wiki

        nmt learn-classifier --labelled reviews.tsv --initial-model models/masked --out models/fine

    **Settings** and their defaults:

    - text: `text.words=10000`, `text.buckets=1000`, `text.lower_case=true`, `text.longest=250`
      tokens, `text.keep=last` (or `first`)

    - model: `model.embedding_width=128`, `model.layers=2`, `model.width=128`, `model.pool=max` (or
      `mean` or `last`), `model.embedding_dropout=0.3`, `model.dropout=0.5`, `model.frozen=false`

    - training: `training.epochs=3`, `training.rows=64`, `training.schedule.learning_rate=0.002`,
      `training.max_gradient_norm=1.0`, `training.patience=null`

    - all: `held_out=0.1`, `seed=1`

    With `--kind bag`

    - text: `text.words=20000`, `text.longest=2000`, `text.ngrams=2` words in a row, with
      `text.ngram_buckets=524288` embeddings

    - model: `model.embedding_width=32`, `model.dropout=0.3`

    - training: `training.epochs=4`, `training.schedule.learning_rate=0.003`

    With `--initial-model` there is no `text`, and

    - model: `model.pool=mean`, `model.dropout=0.1`, `model.encoder.dropout` as there

    - training: `training.epochs=10`, `training.rows=16`, `training.schedule.learning_rate=0.0005`

    - all: `initial_parts=["embeddings", "layers"]`
    """
    from rich.console import Console  # noqa: PLC0415 - slow to import

    from nmt_core.base.seal import digest_bundle, require_replaceable  # noqa: PLC0415 - takes a moment
    from nmt_core.extensions.classifiers import training  # noqa: PLC0415 - takes seconds
    from nmt_core.extensions.classifiers.bundle import FORMAT, write_classifier  # noqa: PLC0415 - takes seconds
    from nmt_core.extensions.classifiers.initial import InitialTokens  # noqa: PLC0415 - takes seconds
    from nmt_core.extensions.classifiers.labelled import hold_out, read_labelled  # noqa: PLC0415
    from nmt_core.extensions.classifiers.settings import FineTuneConfig  # noqa: PLC0415
    from nmt_core.extensions.language_models.bundle import load_masked_model  # noqa: PLC0415 - takes seconds

    chosen = [*(settings or []), *([f"training.compute.threads={threads}"] if threads else [])]
    initial = load_masked_model(initial_model, device="cpu") if initial_model else None
    config = read_settings(kind, chosen, initial, vectors)
    require_replaceable(out, known=FORMAT)
    texts = read_labelled(labelled)
    learnt_from, held_out = hold_out(texts, config.held_out, seed=config.seed)
    origin = {}
    if isinstance(config, FineTuneConfig):
        assert initial is not None
        assert initial_model is not None
        words: HashedWords | InitialTokens = InitialTokens(
            initial.units, config.model.encoder.context
        )
        start = training.Start(language_model=initial.model)
        origin = {
            "initial_model": {
                "folder": str(initial_model),
                "bundle_sha256": digest_bundle(initial_model),
            }
        }
    else:
        config, words, start = learn_words_of(config, learnt_from.texts, vectors)
    console = Console(stderr=True, highlight=False)
    console.print(
        f"{len(learnt_from):,} texts to learn from, {len(held_out):,} held out, labels "
        f"{', '.join(texts.classes)}, {len(words.vocabulary):,} words in the vocabulary",
        soft_wrap=True,
        markup=False,
    )
    place = out.with_name(f"{out.name}.checkpoints")
    checkpoints = place / training.compute_labelled_fingerprint(config, texts, start)
    classifier, points = training.train_classifier(
        config,
        words,
        training=learnt_from,
        validation=held_out,
        start=start,
        checkpoints=checkpoints,
        display=show_training,
    )
    learning = (
        config.model_dump(mode="json") | origin | {"points": [p.model_dump() for p in points]}
    )
    write_classifier(out, classifier, learning=learning)
    remove_checkpoints(checkpoints)
    best = max(point.validation_accuracy for point in points)
    console.print(
        f"{best:.2f} % of the labels held out found; the classifier is in {out}",
        soft_wrap=True,
        markup=False,
    )


def read_settings(
    kind: str, chosen: Sequence[str], initial: "MaskedTextModel | None", vectors: Path | None
) -> "LearnClassifierConfig | FineTuneConfig":
    """Return what is to be learnt, from ``name=value`` for all that is not as by default.

    Raises:
        ConfigError: naming what is unknown, of the wrong type or at odds with the rest.
    """
    from nmt_core.extensions.classifiers.initial import describe_encoder  # noqa: PLC0415 - takes seconds
    from nmt_core.extensions.classifiers.settings import (  # noqa: PLC0415
        BAG,
        ClassifierConfig,
        EncoderClassifierConfig,
        FineTuneConfig,
        LearnClassifierConfig,
    )

    if initial is not None:
        if vectors is not None:
            raise ConfigError("--initial-model brings embeddings of its own; leave --vectors out")
        if kind != "recurrent":
            raise ConfigError("--initial-model brings layers of its own; leave --kind out")
        encoder = describe_encoder(initial.model.config)
        default = FineTuneConfig(model=EncoderClassifierConfig(encoder=encoder))
        return change_settings(default, chosen, at="learn-classifier")
    start = BAG if kind == "bag" else LearnClassifierConfig()
    config = change_settings(start, chosen, at="learn-classifier")
    shape = config.model
    if isinstance(shape, ClassifierConfig) and shape.frozen and vectors is None:
        raise ConfigError("model.frozen leaves word vectors as given; add --vectors FILE")
    return config


def learn_words_of(
    config: "LearnClassifierConfig", texts: Sequence[str], vectors: Path | None
) -> "tuple[LearnClassifierConfig, HashedWords, Start]":
    """Return the words of texts, their vectors if there are any, and settings that fit these."""
    from nmt_core.extensions.classifiers.training import Start  # noqa: PLC0415 - takes seconds
    from nmt_core.extensions.classifiers.vectors import read_embeddings  # noqa: PLC0415 - takes seconds
    from nmt_core.extensions.classifiers.words import learn_words  # noqa: PLC0415

    words = learn_words(config.text, texts)
    if vectors is None:
        return config, words, Start()
    given = read_embeddings(vectors, words, seed=config.seed)
    shape = config.model.model_copy(update={"embedding_width": given.size(1)})
    return config.model_copy(update={"model": shape}), words, Start(vectors=given)
