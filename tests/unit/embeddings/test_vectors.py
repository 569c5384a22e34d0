"""Vectors are read row by row, and a row that cannot be used does no harm but is counted."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.embeddings.vectors import FOUND, MISSING, read_vectors
from nmt_core.errors import CorpusError
from nmt_core.text.vocabulary import SPECIALS, Vocabulary

WORDS = ["haus", "nan", "null", "NA", '"', "ein\u00a0wort", "a\u2028b", "größe"]


def vocabulary_of(*words):
    return Vocabulary([*SPECIALS, *words])


def write(folder, text):
    path = folder / "source.vec"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def found(vectors, vocabulary):
    return {
        vocabulary.tokens[row]: vectors.weight[row].tolist()
        for row in np.flatnonzero(vectors.origin == FOUND)
    }


numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(
    st.dictionaries(st.sampled_from(WORDS), st.tuples(numbers, numbers, numbers), min_size=1),
    st.sampled_from(["\n", " \n"]),
)
def test_what_is_written_is_read(tmp_path_factory, rows, end):
    """Whatever the word, such as nan; fastText itself ends its lines with a space."""
    lines = [f"{word} {' '.join(map(repr, row))}{end}" for word, row in rows.items()]
    path = write(tmp_path_factory.mktemp("vectors"), f"{len(rows)} 3\n{''.join(lines)}")
    vocabulary = vocabulary_of(*WORDS)

    vectors = read_vectors(path, vocabulary)

    assert {word: list(row) for word, row in rows.items()} == found(vectors, vocabulary)
    assert not vectors.left_out
    assert not vectors.weight[vectors.origin == MISSING].any()


def test_bad_rows_are_left_out_and_counted(tmp_path):
    rows = [
        b"haus 1 2",
        b"haus 9 9",  # comes second
        b"baum 1",  # too short
        b"tal",
        b". . 1 2",  # a word with a space
        b"berg nan 1",
        b"see 1e99 1",
        b"meer eins zwei",
        b"\xff\xfe 1 2",  # no word at all, and none of ours
        b"fremd nan nan",  # unknown, so its numbers are not read
        b"</s> 3 3",
        b"fluss 5 6",
    ]
    path = write(tmp_path, b"\n".join([b"12 2", *rows]))
    vocabulary = vocabulary_of("haus", "baum", "tal", ".", "berg", "see", "meer", "fluss")

    vectors = read_vectors(path, vocabulary)

    assert found(vectors, vocabulary) == {"haus": [1, 2], "fluss": [5, 6]}
    assert vectors.left_out == {
        "duplicate_word": 1,
        "not_finite": 3,
        "space_in_word": 1,
        "wrong_length": 2,
    }
    assert vectors.counts() == {"vocabulary": 12, "found": 2, "composed": 0, "missing": 6}


@pytest.mark.parametrize(
    "text", ["", "haus 1 2\n", "2\n", "1 0\n", "1 2 3\n", "-1 2\n", "1 99999999\nhaus 1\n"]
)
def test_a_bad_header_is_refused(tmp_path, text):
    with pytest.raises(CorpusError, match="must begin with a line 'rows dimensions'"):
        read_vectors(write(tmp_path, text), vocabulary_of("haus"))


def test_a_file_that_lost_its_end_is_refused(tmp_path):
    with pytest.raises(CorpusError, match="promises 2 rows and holds 1"):
        read_vectors(write(tmp_path, "2 2\nhaus 1 2\n"), vocabulary_of("haus"))


def test_an_endless_line_is_refused(tmp_path):
    with pytest.raises(CorpusError, match="a line of 1048576 bytes or more"):
        read_vectors(write(tmp_path, "1 2\n" + "x" * 2**21), vocabulary_of("haus"))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(CorpusError, match=r"does not exist; set download\.vectors"):
        read_vectors(tmp_path / "source.vec", vocabulary_of("haus"))


def test_memory_holds_the_vocabulary_and_not_the_file(tmp_path):
    row = " ".join(["0.12345"] * 300)
    path = tmp_path / "source.vec"
    with path.open("w") as file:
        file.write("10000 300\n")
        file.writelines(f"w{number} {row}\n" for number in range(10_000))
    vocabulary = vocabulary_of(*(f"w{number}" for number in range(0, 10_000, 10)))

    tracemalloc.start()
    vectors = read_vectors(path, vocabulary)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert vectors.counts()["found"] == 1000
    assert most_bytes < 2 * vectors.weight.nbytes
    assert most_bytes < path.stat().st_size / 8
