"""Requests that all fast engines refuse alike."""

import pytest

from nmt_core.base.errors import BundleError
from nmt_core.search.ctranslate2 import CTranslate2Engine
from nmt_core.search.engine import (
    PROGRAMS,
    Engine,
    Program,
    explain_failure,
    find_program,
    list_engine_choices,
)
from nmt_core.search.settings import BeamConfig


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"diversity": 1.0}, "diversity"),
        ({"unknown": "copy"}, None),
        ({}, None),
        ({"beam_size": 9, "n_best": 4, "length_penalty": 0.3, "no_repeat_ngram_size": 3}, None),
    ],
)
def test_unsupported_requests_are_refused(changes, said):
    engine = CTranslate2Engine(None, None, None, "ctranslate2_int8")
    search = BeamConfig(**changes)

    assert engine.explain_refusal(search, prefixes=False) == said
    assert engine.explain_refusal(search, prefixes=True) == "a prefix"


@pytest.mark.parametrize("name", ["ctranslate2", "their_own"])
def test_program_of_an_engine_is_found(monkeypatch, name):
    program = Program("torch", loader="module:load", writer="module:write")
    monkeypatch.setattr(PROGRAMS, "builtins", {name: program, "torch": PROGRAMS.load("torch")})

    assert list_engine_choices() == ["auto", name, f"{name}_int8", f"{name}_float32", "torch"]
    assert find_program(f"{name}_int8") is find_program(f"{name}_float32") is program
    assert find_program("torch") is PROGRAMS.load("torch")


class Blind(Engine):
    """A model without attention."""


def test_without_attention_nothing_is_copied():
    engine = Blind()

    assert engine.explain_refusal(BeamConfig(), prefixes=False) is None
    assert engine.explain_refusal(BeamConfig(unknown="copy"), prefixes=False) == (
        "copying unknown words"
    )


def test_a_librarys_failure_is_shortened_to_one_line():
    with (
        pytest.raises(
            BundleError, match=r"ctranslate2_int8 cannot compute with this model \(broken\);"
        ),
        explain_failure("ctranslate2_int8", RuntimeError),
    ):
        raise RuntimeError("broken\nat line 3")


@pytest.mark.parametrize(
    "error", [RuntimeError("CUDA failed to allocate memory"), ValueError("ours"), MemoryError()]
)
def test_lack_of_memory_and_other_failures_are_raised(error):
    with pytest.raises(type(error)) as passed, explain_failure("ctranslate2_int8", RuntimeError):
        raise error
    assert passed.value is error
