"""The embeddings stage on small texts and small vectors, with the real fastText."""

import json
import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from safetensors.numpy import load_file

from nmt_core.base import config
from nmt_core.base.errors import CorpusError, NmtError
from nmt_core.data.fasttext import Task, train_vectors
from nmt_core.data.settings import TrainedVectors
from nmt_core.text.vocabulary import SPECIALS, Vocabulary
from stages import embeddings as stage
from stages.params import EmbeddingsParams

ROOMS = ["küche", "flur", "keller", "garten"]
ANIMALS = ["hund", "katze", "pferd", "igel"]
RARE = "kellerhund"
SMALL = {"kind": "train", "dimensions": 8, "epochs": 3, "min_count": 2, "buckets": 50}
FOREVER = SMALL | {"dimensions": 1000, "epochs": 10_000}


def params(**values):
    return config.build(EmbeddingsParams, values, at="embeddings")


@pytest.fixture
def project(tmp_path):
    """Write a vocabulary and a tokenized text, the same on both sides."""
    draw = random.Random(1)
    lines = [f"{draw.choice(ANIMALS)} im {draw.choice(ROOMS)} , __label__x" for _ in range(200)] + [
        f"ein {RARE} </s> <s>"
    ]
    words = Vocabulary.most_frequent(Counter(" ".join([*lines, "ъъ"]).split()))
    for folder in ("vocabulary", "tokenized", "vectors"):
        (tmp_path / folder).mkdir()
    for side in ("source", "target"):
        words.save(tmp_path / "vocabulary" / f"{side}.txt")
        (tmp_path / "tokenized" / f"train.{side}").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(project, settings):
    return stage.run(
        settings,
        vocabulary=project / "vocabulary",
        tokenized=project / "tokenized",
        vectors=project / "vectors",
        embeddings=project / "embeddings",
    )


def description(project):
    return json.loads((project / "embeddings" / "embeddings.json").read_text())


def words_of(project):
    return Vocabulary.load(project / "vocabulary" / "source.txt")


def write_vectors(project, side, rows):
    dimensions = len(next(iter(rows.values())))
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in rows.items()]
    path = project / "vectors" / f"{side}.vec"
    path.write_text(f"{len(rows)} {dimensions}\n{''.join(lines)}")


@pytest.mark.slow
def test_training_gives_every_row_a_vector(project):
    metrics = run(project, params(vectors=SMALL))

    words = words_of(project)
    weight = load_file(project / "embeddings" / "source.safetensors")["weight"]
    assert weight.shape == (len(words), 8)
    assert weight.dtype == np.float32
    assert np.isfinite(weight).all()
    counts = {"vocabulary": len(words), "found": 11, "composed": 3, "missing": 0}
    assert counts == description(project)["source"] == description(project)["target"]
    assert description(project)["frozen"]
    assert metrics["source_composed"] == 3
    assert len(words) == len(SPECIALS) + 14


@pytest.mark.slow
def test_training_twice_gives_the_same_bytes(project):
    """Matrices of a few kilobytes are the hard case, because the heap reuses memory."""
    contents = set()
    for _ in range(3):
        run(project, params(vectors=SMALL))
        contents.add((project / "embeddings" / "source.safetensors").read_bytes())

    assert len(contents) == 1


@pytest.mark.slow
def test_rare_words_without_subwords_have_no_vector(project):
    run(project, params(vectors=SMALL | {"max_n": 0, "objective": "cbow"}, frozen=False))

    counts = description(project)["source"]
    assert counts["composed"] == 0
    assert counts["missing"] >= 3
    assert counts["found"] + counts["missing"] + len(SPECIALS) == counts["vocabulary"]
    assert not description(project)["frozen"]


@pytest.mark.slow
def test_text_with_only_rare_words_is_an_error(project):
    with pytest.raises(NmtError, match=r"Empty vocabulary.*lower one of.*min_count \(1000\)"):
        run(project, params(vectors=SMALL | {"min_count": 1000}))
    assert not (project / "embeddings").exists()


@pytest.mark.slow
def test_diverging_training_is_an_error(project):
    settings = TrainedVectors(**SMALL | {"learning_rate": 1e30})

    with pytest.raises(NmtError, match=r"(?i)nan|finite"):
        train_vectors(
            [project / "tokenized" / "train.source"],
            [project / "vocabulary" / "source.txt"],
            settings,
        )


@pytest.mark.slow
def test_one_failure_ends_the_other_training(project):
    texts = [project / "missing", project / "tokenized" / "train.source"]
    words = [project / "vocabulary" / "source.txt"] * 2
    forever = TrainedVectors(**FOREVER)

    with pytest.raises(NmtError, match="missing cannot be opened for training"):
        train_vectors(texts, words, forever)


@pytest.mark.slow
def test_training_ends_with_its_parent_process(project):
    task = Task(
        text=project / "tokenized" / "train.source",
        vocabulary=project / "vocabulary" / "source.txt",
        result=project / "result",
        vectors=TrainedVectors(**FOREVER),
    )
    command = [sys.executable, "-m", "nmt_core.data.fasttext", task.model_dump_json()]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)

    process.stdin.close()

    assert process.wait(timeout=60) == 1
    assert not (project / "result").exists()


def test_vectors_of_another_language_are_an_error(project):
    for side in ("source", "target"):
        write_vectors(project, side, {"perro": [1.0] * 3})

    with pytest.raises(CorpusError, match="none of the 18 source tokens has a vector"):
        run(project, params(vectors={"kind": "vectors"}))
