"""Every command that docs/operations.md shows, typed as it stands there, one after another."""

import pytest

from tests.support.reader import open_reader, type_block, typed

CLONE = "git clone REPOSITORY nmt && cd nmt"
"""What a reader has done before, who comes from README.md."""


@pytest.fixture(scope="module")
def reader():
    with open_reader() as reader:
        reader.types(CLONE)
        yield reader


@pytest.mark.parametrize("block", typed("docs/operations.md"), ids=str)
def test_what_is_written_does_what_it_says(reader, block):
    type_block(reader, block)


def test_what_a_reader_started_ends_with_ctrl_c(reader):
    reader.leaves()
