"""Vectors are read row by row, and the caller chooses the words."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import CorpusError
from nmt_core.base.raw_lines import BLOCK_BYTES
from nmt_core.data.vectors import FOUND, MISSING, read_vectors
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


@given(st.dictionaries(st.sampled_from(WORDS), st.tuples(numbers, numbers, numbers), min_size=1))
def test_written_vectors_are_read(tmp_path_factory, rows):
    """For any word, such as nan."""
    lines = [f"{word} {' '.join(map(repr, row))}\n" for word, row in rows.items()]
    path = write(tmp_path_factory.mktemp("vectors"), f"{len(rows)} 3\n{''.join(lines)}")
    vocabulary = vocabulary_of(*WORDS)

    vectors = read_vectors(path, vocabulary)

    assert {word: list(row) for word, row in rows.items()} == found(vectors, vocabulary)
    assert not vectors.weight[vectors.origin == MISSING].any()


def test_rows_of_reserved_tokens_are_not_used(tmp_path):
    vectors = read_vectors(write(tmp_path, "2 2\n</s> 3 3\nfluss 5 6\n"), vocabulary_of("fluss"))

    assert found(vectors, vocabulary_of("fluss")) == {"fluss": [5, 6]}
    assert vectors.counts() == {"vocabulary": 5, "found": 1, "composed": 0, "missing": 0}


ROWS = ["haus 1", "haus 1 2 3", "haus eins zwei", "haus"]
HEADERS = ["", "haus 1 2\n", "2\n", "1 0\n", "1 2 3\n", "-1 2\n", "1 99999999\nhaus 1\n"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        *(
            (f"2 2\n{row}\nbaum 1 2\n", r"source\.vec is damaged .* run the download")
            for row in ROWS
        ),
        *((text, "must begin with a line 'rows dimensions'") for text in HEADERS),
        ("2 2\nhaus 1 2\n", "header counts 2 rows, but it has 1"),
    ],
)
def test_rows_unlike_the_download_stages_are_refused(tmp_path, text, told):
    with pytest.raises(CorpusError, match=told):
        read_vectors(write(tmp_path, text), vocabulary_of("haus"))


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
    assert most_bytes < 2 * vectors.weight.nbytes + 4 * BLOCK_BYTES < path.stat().st_size / 3
