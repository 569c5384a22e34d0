"""The settings that fastText reports for its learning."""

import os
import subprocess
import sys

import pytest

from nmt_core.data.fasttext import ZEROED_MEMORY, _train
from nmt_core.data.settings import TrainedVectors

fasttext = pytest.importorskip("fasttext")

REUSED = """\
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
for size in [*range(8, 2000, 8), 2**14, 2**16, 2**18, 2**22]:
    for _ in range(3):
        block = libc.malloc(size)
        assert not any(ctypes.string_at(block, size)), size
        ctypes.memset(block, 170, size)
        libc.free(block)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="told to glibc")
def test_reused_memory_is_returned_as_zeros():
    subprocess.run([sys.executable, "-c", REUSED], env=os.environ | ZEROED_MEMORY, check=True)


@pytest.mark.parametrize(("most", "least"), [(5, 2), (0, 0)])
def test_fasttext_learns_as_the_settings_say(tmp_path, monkeypatch, most, least):
    """It uses one thread on any machine, so vectors are reproducible."""
    monkeypatch.setitem(fasttext.FastText.unsupervised_default, "thread", 9)
    text = tmp_path / "text"
    text.write_text("__label__a b c\n" * 20)
    config = TrainedVectors(
        objective="cbow",
        dimensions=4,
        epochs=3,
        min_count=2,
        learning_rate=0.25,
        min_n=2,
        max_n=most,
        buckets=10,
    )
    model = _train(text, config)
    told = model.f.getArgs()

    assert told.model.name == "cbow"
    assert (told.dim, told.epoch, told.minCount, told.lr) == (4, 3, 2, 0.25)
    assert (told.minn, told.maxn, told.thread) == (least, most, 1)
    assert most == 0 or told.bucket == 10
    assert {"__label__a", "b", "c"} <= {*model.words}
