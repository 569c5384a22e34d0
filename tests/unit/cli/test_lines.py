"""Lines are read from a stream as they arrive."""

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import CorpusError
from nmt_core.cli import lines as streams


def test_chunks_grow_to_a_limit():
    text = io.BytesIO("\n".join(str(number) for number in range(30_000)).encode())

    assert [len(chunk) for chunk in streams.read_chunks(text)] == [
        *[16, 128, 1024, 8192, 8192, 8192],
        4256,
    ]


@pytest.fixture
def pipe():
    """Both ends of a pipe, read and written like standard input."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "wb", buffering=0) as writer:
        yield reader, writer


def test_slow_lines_do_not_wait_for_others(pipe):
    """A line is read when it ends; lines that arrive together are read together."""
    reader, writer = pipe
    portions = streams.read_chunks(reader)
    writer.write(b"one\n")
    assert next(portions) == ["one"]
    writer.write(b"two\nthree\nfo")
    assert next(portions) == ["two", "three"]
    writer.write("ur\n\nfünf".encode())
    assert next(portions) == ["four", ""]
    writer.close()

    assert list(portions) == [["fünf"]]


@given(st.lists(st.binary(max_size=12), max_size=40), st.integers(1, 9), st.integers(1, 9))
def test_lines_are_split_as_python_splits_them(blocks, first, most):
    """However the input is split into blocks."""

    class Blocks(io.BytesIO):
        def read1(self, size=-1):
            return next(coming, b"")

    coming = iter([block for block in blocks if block])
    text = b"".join(blocks).decode("latin-1")
    expected = io.StringIO(text, newline="\n").read().split("\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "FIRST_LINES", first)
        patch.setattr(streams, "MAX_LINES", most)
        patch.setattr(
            streams, "decode_utf8", lambda data, _, *, line: (line, data.decode("latin-1"))
        )
        found = [line for portion in streams.read_chunks(Blocks()) for line in portion]

    assert found == list(enumerate(expected if expected[-1] else expected[:-1], start=1))


def test_a_line_without_an_end_is_refused(monkeypatch):
    monkeypatch.setattr(streams, "MAX_LINE_BYTES", 1000)
    with pytest.raises(CorpusError, match="line 3 of the input is longer than 1,000 bytes"):
        list(streams.read_chunks(io.BytesIO(b"a\nb\n" + b"c" * 1001)))
