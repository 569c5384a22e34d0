"""``nmt learn``: a language model from a text."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.utf8 import decode_utf8
from nmt_core.cli.program import Threads
from nmt_core.cli.set_options import change_settings

if TYPE_CHECKING:  # torch takes seconds to import, and help should not
    from nmt_core.base.progress import TrainingDisplay
    from nmt_core.extensions.language_models.training import LearningConfig
    from nmt_core.extensions.language_models.units import Units


def learn(  # noqa: PLR0913 - one argument per option
    *,
    text: Annotated[list[Path], typer.Option(metavar="FILE", help="Text, UTF-8; repeatable.")],
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Folder to write the model to, new or of an older one."),
    ],
    validation: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Text to validate on. \\[default: the end of --text]"),
    ] = None,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="ngram, feed_forward, rnn, transformer or masked.")
    ] = "ngram",
    unit: Annotated[
        str, typer.Option(metavar="UNIT", help="character, word or subword.")
    ] = "character",
    tokens_of: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Exported translator whose target tokens it uses."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; repeatable."),
    ] = None,
    threads: Threads = None,
) -> None:
    """Learn a language model from a text: how likely is a text, and what comes next, or is missing?

    A training that is stopped goes on after its last whole epoch when the same command is given.

    **Examples**

        nmt learn --text plays.txt --kind rnn --unit character --out models/plays

        nmt learn --text train.en --validation val.en --unit word --out models/words

        nmt learn --text train.en --unit subword --tokens-of models/export --out models/english

    The last can help a translator: `nmt translate --fuse models/english`. An `rnn` does so best
    with `--set model.stateful=false`, which learns every line from its beginning.

    **Kinds**: `ngram` counts (Kneser-Ney smoothing), `feed_forward` looks at the last few tokens,
    `rnn` remembers all it has read, `transformer` looks at the last `model.context` tokens, or half
    as many. `masked` looks at a whole line, and learns what hidden tokens are: other models start
    from it (`nmt learn-classifier --initial-model`), and `nmt fill` asks it.

    **Units**: characters make one stream, line ends included; words and subwords make lines.

    **Settings** and their defaults:

    - ngram: `model.order=5`, `model.smoothing.kind=kneser_ney` (or `maximum_likelihood`, or `add_k`
      with `model.smoothing.k=0.01`)

    - feed_forward: `model.order=5`, `model.embedding_width=128`, `model.width=512`,
      `model.dropout=0.2`

    - rnn: `model.cell=lstm` (or `gru`, `lstm_1997` without forget gate, `tanh` without any),
      `model.layers=2`, `model.input=embedding` (or `one_hot`), `model.embedding_width=64`,
      `model.width=512`, `model.dropout=0.2`, `model.state_dropout=0.0`, `model.tie=false`,
      `model.stateful=true`

    - transformer: `model.layers=4`, `model.width=128`, `model.heads=4`,
      `model.feed_forward_width=512`, `model.dropout=0.1`, `model.attention_dropout=0.0`,
      `model.context=64` (no more than `training.window`)

    - masked: `model.layers=4` and all else as of `transformer`

    - character: `unit.lower_case=false`

    - word: `unit.split=punctuation` (or `whitespace`), `unit.lower_case=false`, `unit.min_count=2`,
      `unit.max_words=null`

    - training: `training.epochs=10`, `training.rows=32`, `training.window=64`,
      `training.schedule.learning_rate=0.004`, `training.max_gradient_norm=1.0`,
      `training.patience=null`

    - all: `held_out=0.1` (validated on; 0 learns from all of the text and validates on it),
      `tested=0.0` (the end, tested on once), `gap=0` (between), `seed=1`
    """
    chosen = [f'model.kind="{kind}"', f'unit.kind="{unit}"', *(settings or [])]
    if threads:
        chosen.append(f"training.compute.threads={threads}")
    from nmt_core.base.seal import LANGUAGE_MODEL, require_replaceable  # noqa: PLC0415 - takes a moment
    from nmt_core.extensions.language_models import bundle  # noqa: PLC0415 - takes seconds
    from nmt_core.extensions.language_models import training as language_model  # noqa: PLC0415 - takes seconds
    from nmt_core.extensions.language_models.parts import Parts, cut_in_order, encode_parts  # noqa: PLC0415

    built = read_settings(chosen)
    require_replaceable(out, known=LANGUAGE_MODEL)
    document = built.unit.kind == "character"
    if validation and (built.tested or built.gap):
        raise ConfigError("tested and gap cut the end off --text; leave --validation out for that")
    parts = (
        Parts(read_text(text), read_text(validation), "")
        if validation
        else cut_in_order(
            read_text(text),
            held_out=built.held_out,
            tested=built.tested,
            gap=built.gap,
            document=document,
        )
    )
    units = find_units(built, parts.training, tokens_of)
    from rich.console import Console  # noqa: PLC0415 - slow to import

    console = Console(stderr=True, highlight=False)
    texts = encode_parts(parts, units, masked=built.model.kind == "masked", tested=built.tested > 0)
    test = texts.pop("test", None)
    console.print(
        f"{len(texts['training']):,} tokens to learn from, {len(texts['validation']):,} to "
        f"validate on, {len(units.vocabulary):,} in the vocabulary"
    )
    place = out.with_name(f"{out.name}.checkpoints")
    checkpoints = place / language_model.compute_text_fingerprint(built, units, **texts)
    model, points = language_model.train_language_model(
        built, units, **texts, checkpoints=checkpoints, display=show_training
    )
    learning = built.model_dump(mode="json") | {"points": [p.model_dump() for p in points]}
    if test is not None:
        learning["test_loss"] = language_model.mean_loss(model, test, document=document)
    read = bundle.with_units(model, units)
    bundle.write_language_model(out, read, model_config=built.model, learning=learning)
    remove_checkpoints(checkpoints)
    best = min(point.validation_loss for point in points)
    if test is not None:
        console.print(f"test loss {learning['test_loss']:.4f} nats per token")
    console.print(
        f"validation loss {best:.4f} nats per token; the model is in {out}",
        soft_wrap=True,
        markup=False,
    )


def read_settings(settings: Sequence[str]) -> "LearningConfig":
    """Return what is to be learnt, from ``name=value`` for all that is not as by default."""
    from nmt_core.extensions.language_models.training import LearningConfig  # noqa: PLC0415 - takes seconds

    return change_settings(LearningConfig(), settings, at="learn")


def read_text(paths: Sequence[Path]) -> str:
    """Return texts as one.

    Raises:
        CorpusError: if one cannot be read, or is not UTF-8.
    """
    texts = []
    for path in paths:
        try:
            texts.append(decode_utf8(path.read_bytes(), path))
        except OSError as error:
            raise CorpusError(f"{path} cannot be read ({error.strerror}); check its name") from None
    return "".join(
        text if text.endswith("\n") or len(texts) == 1 else f"{text}\n" for text in texts
    )


def find_units(built: "LearningConfig", text: str, tokens_of: Path | None) -> "Units":
    """Return the units that are asked for."""
    from nmt_core.extensions.language_models.units import SubwordUnit, Units, learn_units  # noqa: PLC0415
    from nmt_core.translation.translator import Translator  # noqa: PLC0415 - takes a moment

    if not isinstance(built.unit, SubwordUnit):
        if tokens_of:
            raise ConfigError(f"--tokens-of goes with --unit subword, not {built.unit.kind}")
        return learn_units(built.unit, text)
    if tokens_of is None:
        raise ConfigError(
            "--unit subword takes its tokens from a translator; add --tokens-of models/export"
        )
    target = Translator.load(tokens_of).target
    return Units(built.unit, target.tokenizer, target.vocabulary)


def remove_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of a training that has ended."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # others may be there, of other settings
        folder.parent.rmdir()


def show_training(total_steps: int) -> "TrainingDisplay":
    """Show a training of so many updates on standard error."""
    from nmt_core.base.progress import TrainingDisplay  # noqa: PLC0415 - takes a moment

    return TrainingDisplay(lambda *, steps, **_: steps / total_steps)
