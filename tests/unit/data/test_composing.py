"""Which words get a vector, of which kind, for any fastText model."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import ValidationError
from safetensors.numpy import load_file, save_file

from nmt_core.base.errors import CorpusError, NmtError
from nmt_core.data import fasttext
from nmt_core.data.fasttext import Task
from nmt_core.data.settings import TrainedVectors
from nmt_core.data.vectors import COMPOSED, FOUND, MAX_DIMENSIONS, MISSING, open_vectors
from nmt_core.text.vocabulary import SPECIALS, Vocabulary

KNOWN, RARE, STRANGE = "known", "rare", "strange"
"""A word with a vector, a word with known subwords, and a word with no known subword."""


class Model:
    """Knows words by their first letters, and gives reserved tokens a vector, as fastText does."""

    def __init__(self, dimensions=2, number=7.0):
        self._dimensions, self._number = dimensions, number

    def get_dimension(self):
        return self._dimensions

    def get_word_vector(self, word):
        length = 0.0 if word.startswith(STRANGE) else self._number
        return np.array([0.0] * (self._dimensions - 1) + [length], dtype=np.float32)

    def get_word_id(self, word):
        return 0 if word.startswith((KNOWN, *SPECIALS)) else -1


@pytest.fixture
def task(tmp_path):
    Vocabulary([*SPECIALS, KNOWN, RARE, STRANGE]).save(tmp_path / "vocabulary")
    return Task(
        text=tmp_path / "text",
        vocabulary=tmp_path / "vocabulary",
        result=tmp_path / "result",
        vectors=TrainedVectors(dimensions=3),
    )


def train(monkeypatch, task, learn):
    monkeypatch.setattr(sys, "argv", ["fasttext", task.model_dump_json()])
    monkeypatch.setattr(fasttext, "_end_with_parent", lambda: None)
    monkeypatch.setattr(fasttext, "_train", learn)
    fasttext.main()


def test_the_program_writes_no_vectors_of_reserved_tokens(monkeypatch, task):
    told = []
    train(monkeypatch, task, lambda *given: told.append(given) or Model(3, -9999.0))
    assert told == [(task.text, task.vectors)]
    written = load_file(task.result)
    none = [0.0] * 3
    assert written["weight"].tolist() == [none] * 4 + [[0, 0, -9999], [0, 0, -9999], none]
    assert written["origin"].tolist() == [MISSING] * 4 + [FOUND, COMPOSED, MISSING]


@pytest.mark.parametrize("number", [1e4, -1e4, float("nan"), float("inf"), float("-inf")])
def test_the_program_writes_no_infinite_numbers(monkeypatch, task, number):
    with pytest.raises(SystemExit, match="not below 10000"):
        train(monkeypatch, task, lambda *_: Model(3, number))
    assert not task.result.exists()


@pytest.mark.parametrize("error", [RuntimeError, ValueError])
def test_the_program_says_what_fasttext_says(monkeypatch, task, error):
    def fail(*_):
        raise error("Empty vocabulary")

    with pytest.raises(SystemExit, match="fastText: Empty vocabulary"):
        train(monkeypatch, task, fail)


def ended(status, *messages):
    text = "".join(f"{message}\n" for message in messages)
    return SimpleNamespace(stderr=SimpleNamespace(read=lambda: text), wait=lambda: status)


@pytest.mark.parametrize(
    ("process", "reason"),
    [
        (ended(1, "progress", "fastText: Encountered NaN"), "fastText: Encountered NaN"),
        (ended(-9), "it ended with status -9"),
        (ended(2, " "), "it ended with status 2"),
    ],
)
def test_a_failure_is_reported_with_a_remedy(task, process, reason):
    with pytest.raises(NmtError) as told:
        fasttext._result(task, process)
    assert f"on {task.text}: {reason}; in embeddings.vectors, lower one of" in str(told.value)
    named = {"learning_rate (0.05)", "min_count (5)", "dimensions (3)", "buckets (200000)"}
    assert {*str(told.value).partition("lower one of ")[2].split(", ")} == named


def test_a_result_is_read_among_other_output(task):
    weight, origin = np.eye(2, dtype=np.float32), np.array([1, 2], dtype=np.uint8)
    save_file({"weight": weight, "origin": origin}, task.result)
    read = fasttext._result(task, ended(0, "a warning"))
    np.testing.assert_array_equal(read.weight, weight)
    np.testing.assert_array_equal(read.origin, origin)


def test_subwords_have_from_one_letter_to_the_maximum():
    for least in range(5):
        for most in range(5):
            if most == 0 or 1 <= least <= most:
                TrainedVectors(min_n=least, max_n=most)
            else:
                with pytest.raises(ValidationError, match=rf"to max_n \({most}\), got {least}"):
                    TrainedVectors(min_n=least, max_n=most)


@pytest.mark.parametrize(
    ("first", "sizes"),
    [
        ("3 1\n", (3, 1)),
        ("0 300 \r\n", (0, 300)),
        (f"1 {MAX_DIMENSIONS}\n", (1, MAX_DIMENSIONS)),
        (f"1 {MAX_DIMENSIONS + 1}\n", None),
        ("1 0\n", None),
        ("x" * 50 + "\n", None),
    ],
)
def test_the_first_line_says_how_many_numbers_follow(tmp_path, first, sizes):
    path = tmp_path / "a.vec"
    path.write_text(first)
    if sizes:
        rows, dimensions, lines = open_vectors(path)
        assert (rows, dimensions, [*lines]) == (*sizes, [])
        return
    with pytest.raises(CorpusError, match="must begin with a line 'rows dimensions'") as told:
        open_vectors(path)
    assert f"got {first.strip()[:40]!r}; " in str(told.value)
