"""Train language models with few tokens."""

from nmt_core.base.config import build
from nmt_core.extensions.language_models.model import TextModel
from nmt_core.extensions.language_models.reading import learn_units
from nmt_core.extensions.language_models.training import (
    LearningConfig,
    train_language_model,
    write_language_model,
)

TEXT = "the cat sat.\nthe dog sat, too.\n\nthe cat ran.\n" * 12


class Log:
    """A display without output."""

    def step(self, **_): ...

    def validation(self, point, *, best): ...

    def note(self, sentence): ...


SMALL = {"width": 12, "embedding_width": 6}
LSTM = {"kind": "rnn", "layers": 1, **SMALL}
LAYERS = {"layers": 1, "width": 12, "heads": 2, "feed_forward_width": 16, "context": 8}
TRANSFORMER = {"kind": "transformer", **LAYERS}


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
    model, points = train_language_model(config, units, display=lambda _: log or Log(), **arguments)
    return config, TextModel(model, units), points


def seal(folder, text_model, **learning):
    """Write a model that was trained here."""
    write_language_model(folder, text_model.model, text_model.units, learning=learning)


def weights(text_model):
    return {name: w.numpy().tobytes() for name, w in text_model.model.state_dict().items()}
