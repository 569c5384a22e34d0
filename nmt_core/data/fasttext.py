"""Word vectors trained by fastText, which composes vectors of rare words from subwords.

Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information". Only this module imports
the fasttext package. ``train_vectors`` runs the module as a program.
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
"""Environment that makes glibc fill allocated memory with zeros (the complement of 255).

With one thread, fastText initializes only a tenth of its matrix and trains the remainder from
uninitialized memory (facebookresearch/fastText#1061). Vectors would then differ between runs, or
become NaN. Ten threads would initialize the whole matrix, but with data races.
"""

MAX_ABSOLUTE_VALUE = 1e4
"""Limit of a vector's elements; larger values come from uninitialized memory."""


class Task(Config):
    """The argument of this module's program, as JSON."""

    text: Path
    """Tokenized text, one sentence per line."""
    vocabulary: Path
    """Words that need a vector."""
    result: Path
    """Output file: the tensors "weight" and "origin", as safetensors."""
    vectors: TrainedVectors
    """Settings of the training."""


def train_vectors(
    texts: Sequence[Path], vocabularies: Sequence[Path], config: TrainedVectors
) -> list[WordVectors]:
    """Train vectors on each text; return the vectors of each vocabulary, the same in every run.

    Each text has a separate process on one core, because glibc reads ``ZEROED_MEMORY`` when a
    process starts. The processes end with this one. fastText's models are
    not saved, because they can take gigabytes.

    Args:
        texts: files with one sentence per line, tokens separated by single spaces.
        vocabularies: the vocabulary file of each text.
        config: settings of the training.

    Raises:
        ConfigError: if fastText is not installed.
        NmtError: if fastText fails, or a vector is not finite.
    """
    if not is_installed("fasttext"):
        raise ConfigError(
            "fastText is not installed (it needs Linux on x86-64 and Python 3.11 to 3.13); set "
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
    """Run the task in the first argument: train, and write the vectors."""
    Thread(target=_end_with_parent, daemon=True).start()
    task = Task.model_validate_json(sys.argv[1])
    try:
        model = _train(task.text, task.vectors)
    except (RuntimeError, ValueError) as error:
        sys.exit(f"fastText: {error}")
    vectors = _look_up(model, Vocabulary.load(task.vocabulary))
    if not (np.abs(vectors.weight) < MAX_ABSOLUTE_VALUE).all():
        sys.exit(f"fastText: vectors have elements that are not below {MAX_ABSOLUTE_VALUE:g}")
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
            f"cannot train word vectors on {task.text}: {reason}; in embeddings.vectors, "
            f"lower one of {', '.join(f'{name} ({value})' for name, value in settings.items())}"
        )
    tensors = load_file(task.result)
    return WordVectors(tensors["weight"], tensors["origin"])


def _end_with_parent() -> None:
    os.read(0, 1)  # returns when the parent ends, which closes its end of the pipe
    os._exit(1)


def _train(text: Path, config: TrainedVectors) -> Any:
    import fasttext  # slow to import, and rarely needed

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
        label=" ",  # no word begins with a space; the default would drop words like __label__
        verbose=0,
    )


def _look_up(model: Any, vocabulary: Vocabulary) -> WordVectors:
    """Return the vectors of a vocabulary's words, but not of its reserved tokens.

    fastText returns zeros if it knows none of a word's subwords; such a word stays MISSING.
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
