"""Train language models of a few tokens."""

from contextlib import nullcontext

from nmt_core.base.config import build
from nmt_core.extensions.language_models.bundle import with_units
from nmt_core.extensions.language_models.training import LearningConfig, train_language_model
from nmt_core.extensions.language_models.units import learn_units

TEXT = "the cat sat.\nthe dog sat, too.\n\nthe cat ran.\n" * 12


class Log:
    """A display that shows nothing."""

    def step(self, **_): ...

    def validation(self, point, *, best): ...

    def note(self, sentence): ...


SMALL = {"width": 12, "embedding_width": 6}


LSTM = {"kind": "rnn", "layers": 1, **SMALL}


TRANSFORMER = {
    "kind": "transformer",
    "layers": 1,
    "width": 12,
    "heads": 2,
    "feed_forward_width": 16,
    "context": 8,
}


MASKED = TRANSFORMER | {"kind": "masked"}


def learnt(folder, model=LSTM, *, log=None, unit="character", training=(), text=TEXT):
    config = build(
        LearningConfig,
        {
            "model": model,
            "unit": {"kind": unit},
            "training": {"epochs": 3, "rows": 4, "window": 8, **dict(training)},
        },
        at="learn",
    )
    units = learn_units(config.unit, text)
    ids = units.encode(text)
    arguments = {"training": ids, "validation": ids[:120], "checkpoints": folder / "checkpoints"}
    model, points = train_language_model(
        config, units, display=lambda _: nullcontext(log or Log()), **arguments
    )
    return config, with_units(model, units), points


def weights(text_model):
    return {name: w.numpy().tobytes() for name, w in text_model.model.state_dict().items()}
