"""Settings are strict, and their messages name the place, the value and the remedy."""

from typing import Annotated, Literal

import pytest
from pydantic import Field, model_validator

from nmt_core.base import config
from nmt_core.base.config import Config, OpenUnion, build
from nmt_core.base.errors import ConfigError
from nmt_core.base.registry import Registry


class Adam(Config):
    kind: Literal["adam"] = "adam"
    rate: float
    betas: tuple[float, ...] = (0.9,)


class Sgd(Config):
    kind: Literal["sgd"] = "sgd"
    momentum: float = Field(0.9, ge=0, lt=1)


class Train(Config):
    seed: int
    names: Annotated[tuple[str, ...], Field(min_length=1)] = ("a",)
    clip: float | None = None
    how: Literal["fast", "slow"] = "fast"
    optimizer: Annotated[Adam | Sgd, Field(discriminator="kind")] = Sgd()

    @model_validator(mode="after")
    def _check(self):
        if self.seed == 13:
            raise ValueError("seed 13 brings bad luck; choose another")
        return self


ADAM = {"kind": "adam", "rate": 1}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "train.seed is missing; it has no default"),
        ({"seed": 1, "sede": 2}, "train.sede is not a parameter; did you mean 'seed'?"),
        ({"seed": 1, "zzz": 2}, "train.zzz is not a parameter; valid here: seed, names, clip"),
        ({"seed": "1"}, "train.seed must be integer, got '1' (str)"),
        ({"seed": True}, "train.seed must be integer, got True (bool)"),
        ({"seed": 1.5}, "train.seed must be integer, got 1.5 (float)"),
        ({"seed": 1, "clip": "x"}, "train.clip must be number, got 'x' (str)"),
        ({"seed": 1, "clip": float("inf")}, "train.clip must be a finite number, got inf (float)"),
        ({"seed": 1, "how": "best"}, "train.how must be 'fast' or 'slow', got 'best' (str)"),
        ({"seed": 1, "optimizer": {}}, "train.optimizer.kind is missing"),
        ({"seed": 1, "optimizer": 3}, "train.optimizer must be an object, got 3 (int)"),
        ({"seed": 1, "names": []}, "train.names must be of length 1 or more, got [] (list)"),
        ({"seed": 1, "names": [7]}, "train.names.0 must be string, got 7 (int)"),
        ({"seed": 13}, "train: seed 13 brings bad luck; choose another"),
        *(
            ({"seed": 1, "optimizer": optimizer}, f"train.optimizer.{message}")
            for optimizer, message in [
                ({"kind": "rms"}, "kind must be one of 'adam', 'sgd', got 'rms'"),
                ({"kind": "adam"}, "rate is missing"),
                (ADAM | {"beta": 1}, "beta is not a parameter; did you mean 'betas'?"),
                (ADAM | {"betas": [0.9, "y"]}, "betas.1 must be number, got 'y' (str)"),
                ({"kind": "sgd", "momentum": 1}, "momentum must be less than 1, got 1 (int)"),
            ]
        ),
    ],
)
def test_a_bad_parameter_is_named_with_its_place(values, message):
    with pytest.raises(ConfigError) as error:
        build(Train, values, at="train")

    assert str(error.value).split("\n")[-1].startswith(message)


def test_all_problems_are_reported_at_once():
    with pytest.raises(ConfigError) as error:
        build(Train, {"sede": 1, "clip": "x"}, at="train")

    assert len(str(error.value).split("\n")) == 3


def test_values_are_typed():
    """An int is accepted for a float; a list is read as a tuple."""
    adam = {"kind": "adam", "rate": 1, "betas": [1, 0.5]}

    built = build(Train, {"seed": 1, "clip": 2, "optimizer": adam}, at="train")

    assert Train(seed=1, clip=2.0, optimizer=Adam(rate=1.0, betas=(1.0, 0.5))) == built
    assert isinstance(built.clip, float)


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        Train(seed=1).seed = 2


class Optimizer(Config):
    kind: str


class Cosine(Optimizer):
    kind: Literal["cosine"]
    steps: tuple[int, ...]


class Linear(Optimizer):
    kind: Literal["linear"] = "linear"


class Open(Config):
    """Like ``Train``, but with a union that a registry can extend."""

    inner: Annotated[
        Optimizer, OpenUnion(Registry("a kind", "nmt.kinds", {"cosine": Cosine, "linear": Linear}))
    ] = Linear()


class Closed(Config):
    inner: Annotated[Cosine | Linear, Field(discriminator="kind")] = Linear()


@pytest.mark.parametrize(
    "inner",
    [
        {},
        3,
        None,
        {"kind": "cosin"},
        {"kind": "cosine"},
        {"kind": "cosine", "steps": [1, "x"], "step": 2},
        {"kind": "linear", "steps": [1]},
    ],
)
def test_open_and_closed_unions_report_alike(inner):
    told = []
    for kind in (Open, Closed):
        with pytest.raises(ConfigError) as error:
            build(kind, {"inner": inner}, at="train")
        told.append(str(error.value))

    assert told[0] == told[1]


def test_open_and_closed_unions_are_stored_alike():
    values = {"inner": {"kind": "cosine", "steps": [1, 2]}}
    one, other = (build(kind, values, at="train") for kind in (Open, Closed))

    assert one.inner == other.inner == Cosine(kind="cosine", steps=(1, 2))
    assert one.model_dump(mode="json") == other.model_dump(mode="json") == values
    assert one.model_dump() == other.model_dump()
    assert Open(inner=one.inner) == one
    assert isinstance(Open().inner, Linear)


@pytest.mark.parametrize("failures", [0, 1, 19, 20])
def test_source_is_parsed_while_other_threads_parse(monkeypatch, failures):
    """CPython 3.11 then raises SystemError for valid source."""
    parse, left = config.ast.parse, [SystemError("recursion depth mismatch")] * failures

    def fail_first(*arguments, **named):
        if left:
            raise left.pop()
        return parse(*arguments, **named)

    monkeypatch.setattr(config.ast, "parse", fail_first)
    monkeypatch.setattr(config, "PAUSE_SECONDS", 0)
    if failures == config.PARSE_ATTEMPTS:
        with pytest.raises(SystemError, match="mismatch"):
            config.parse_source("a = 1")
        return
    assert config.parse_source("a = 1").body
