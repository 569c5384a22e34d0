import gzip

import pytest

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.fetch.vectors import write_vectors


@pytest.fixture
def write(tmp_path):
    def write(content, *, rows=100, name="wiki.de.vec"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        counts = write_vectors(path, tmp_path / "out.vec", rows=rows)
        return counts, (tmp_path / "out.vec").read_bytes()

    return write


def refusal(write, content):
    with pytest.raises(CorpusError) as caught:
        write(content)
    return str(caught.value).split("/")[-1]


@pytest.mark.parametrize("name", ["wiki.de.vec", "wiki.de.vec.gz"])
@pytest.mark.parametrize("rows", [2, 100])
def test_the_first_sound_rows_are_copied_in_order(write, name, rows):
    """fastText ends its rows with a space."""
    counts, content = write(b"3 2\n, 1 -2.5 \nder 1e-3 0 \nHaus 1 1\n", name=name, rows=rows)

    copied = [b", 1 -2.5\n", b"der 1e-3 0\n", b"Haus 1 1\n"][:rows]
    assert content == b"%d 2\n" % len(copied) + b"".join(copied)
    assert counts == {"rows": len(copied), "dimensions": 2}


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (b"kurz 1", "malformed"),
        (b"1 2", "malformed"),
        (b"", "malformed"),
        (b"x" * 200_000, "malformed"),
        (b"New York 1 2", "malformed"),
        ("New\u00a0York 1 2".encode(), "malformed"),
        ("a\u2028b 1 2".encode(), "malformed"),
        (b" 1 2", "malformed"),
        (b"  1 2", "malformed"),
        (b"sch\xf6n 1 2", "malformed"),
        (b"nan 1 nan", "malformed"),
        (b"inf inf 1", "malformed"),
        (b"large 1e39 1", "malformed"),
        (b"word 1 two", "malformed"),
        (b"gut 3 4", "duplicate_word"),
    ],
)
def test_bad_rows_are_removed_and_counted(write, row, why):
    counts, content = write(b"3 2\ngut 1 2\n" + row + b"\nja 3 4\n")

    assert content == b"2 2\ngut 1 2\nja 3 4\n"
    assert {"rows": 2, "dimensions": 2, why: 1} == counts


def test_missing_rows_are_counted(write):
    assert write(b"5 2\ngut 1 2\n")[0] == {"rows": 1, "dimensions": 2, "missing": 4}


@pytest.mark.parametrize(
    ("start", "shown"),
    [
        (b"gut 1 2\n", "'gut 1 2'"),
        (b"", "''"),
        (b"3\n", "'3'"),
        (b"3 0\n", "'3 0'"),
        (b"3 99999999\n", "'3 99999999'"),
        (b"x" * 200_000, "''"),
        (b"\xff\n", "'\ufffd'"),
    ],
)
def test_a_missing_header_is_reported(write, start, shown):
    assert f"must begin with a line 'rows dimensions', got {shown};" in refusal(write, start)


def test_no_valid_row_is_an_error(write, tmp_path):
    told = refusal(write, b"2 3\ngut 1 2\n")
    assert "no valid row of 3 numbers (1 are malformed)" in told
    assert [path.name for path in tmp_path.iterdir()] == ["wiki.de.vec"]
