"""Vectors that fastText trains; those of rare words it composes from subwords.

Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information". This is the only module
that knows the fasttext package, and it runs as a program of its own, see ``train_vectors``.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.base.packages import is_installed
from nmt_core.data.settings import TrainedVectors
from nmt_core.data.vectors import COMPOSED, FOUND, MISSING, WordVectors
from nmt_core.text.vocabulary import SPECIALS, Vocabulary

ZEROED_MEMORY = {
    "MALLOC_PERTURB_": "255",
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0",
}
"""Makes glibc hand out memory filled with zeros (the complement of 255), also the small blocks that
it would cache.

With one thread fastText gives random values to the first tenth of its matrix only and trains the
rest from whatever the memory held (facebookresearch/fastText#1061), so that vectors differ from run
to run and now and then are not numbers. With ten threads it would fill all, but race.
"""

LARGEST = 1e4
"""Numbers from here on come from uninitialized memory, not from training."""


class Task(Config):
    """The task of this module's program, as JSON in its only argument."""

    text: Path
    """Tokenized text, one line a sentence."""
    vocabulary: Path
    """Words to write vectors of."""
    result: Path
    """Where to write "weight" and "origin", as safetensors."""
    vectors: TrainedVectors
    """How to train."""


def train_vectors(
    texts: Sequence[Path], vocabularies: Sequence[Path], config: TrainedVectors
) -> list[WordVectors]:
    """Train on each text, the same to the last bit each time; compose words that are too rare.

    All are trained at once, each on one core in a process of its own, since glibc reads
    ``ZEROED_MEMORY`` only when a process starts. They end with this process. No model is kept:
    it can take gigabytes.

    Args:
        texts: files of tokens parted by single spaces, one sentence a line.
        vocabularies: for each text, the file of the tokens to return vectors of.
        config: how to train.

    Raises:
        ConfigError: if fastText is not installed.
        NmtError: if fastText fails, or its numbers are not finite.
    """
    if not is_installed("fasttext"):
        raise ConfigError(
            "fastText runs on Linux on x86-64 with Python 3.11 to 3.13 only; set "
            "embeddings.vectors.kind to none"
        )
    with tempfile.TemporaryDirectory(prefix="fasttext-") as folder, ExitStack() as stack:
        tasks = [
            Task(text=text, vocabulary=words, result=Path(folder, str(number)), vectors=config)
            for number, (text, words) in enumerate(zip(texts, vocabularies, strict=True))
        ]
        processes = [stack.enter_context(_start(task)) for task in tasks]
        return [_result(task, process) for task, process in zip(tasks, processes, strict=True)]


def main() -> None:
    """Train as the task says, and write the vectors."""
    Thread(target=_end_with_parent, daemon=True).start()
    task = Task.model_validate_json(sys.argv[1])
    try:
        model = _train(task.text, task.vectors)
    except (RuntimeError, ValueError) as error:
        sys.exit(f"fastText: {error}")
    vectors = _look_up(model, Vocabulary.load(task.vocabulary))
    if not (np.abs(vectors.weight) < LARGEST).all():
        sys.exit("fastText: the vectors hold numbers that are not finite or beyond all measure")
    save_file({"weight": vectors.weight, "origin": vectors.origin}, task.result)


def _start(task: Task) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "nmt_core.data.fasttext", task.model_dump_json()],
        env=os.environ | ZEROED_MEMORY | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,  # open while the parent waits for the result
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )


def _result(task: Task, process: subprocess.Popen[str]) -> WordVectors:
    assert process.stderr is not None
    messages = process.stderr.read().strip().splitlines()
    status = process.wait()
    if status:
        reason = messages[-1] if messages else f"it ended with status {status}"
        settings = task.vectors.model_dump(
            include={"learning_rate", "min_count", "dimensions", "buckets"}
        )
        raise NmtError(
            f"no word vectors could be trained on {task.text}: {reason}; in embeddings.vectors, "
            f"lower one of {', '.join(f'{name} ({value})' for name, value in settings.items())}"
        )
    tensors = load_file(task.result)
    return WordVectors(tensors["weight"], tensors["origin"])


def _end_with_parent() -> None:
    os.read(0, 1)  # standard input: returns when the other end is closed
    os._exit(1)


def _train(text: Path, config: TrainedVectors) -> Any:
    import fasttext  # heavy, and needed by few

    return fasttext.train_unsupervised(
        str(text),
        model=config.objective,
        dim=config.dimensions,
        epoch=config.epochs,
        minCount=config.min_count,
        lr=config.learning_rate,
        minn=config.min_n if config.max_n else 0,
        maxn=config.max_n,
        bucket=config.buckets,
        thread=1,
        label=" ",  # no word begins with it; the default would hide words like __label__
        verbose=0,
    )


def _look_up(model: Any, vocabulary: Vocabulary) -> WordVectors:
    """Return the vectors of words; the reserved tokens have none.

    A word whose subwords are all unknown would get zeros, and stays missing.
    """
    weight = np.zeros((len(vocabulary), model.get_dimension()), dtype=np.float32)
    origin = np.full(len(vocabulary), MISSING, dtype=np.uint8)
    for row, word in enumerate(vocabulary.tokens[len(SPECIALS) :], start=len(SPECIALS)):
        vector = model.get_word_vector(word)
        if vector.any():
            weight[row] = vector
            origin[row] = FOUND if model.get_word_id(word) >= 0 else COMPOSED
    return WordVectors(weight, origin)


if __name__ == "__main__":
    main()
