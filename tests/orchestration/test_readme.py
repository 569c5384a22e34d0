"""Every command that README.md shows, typed as it stands there, one after another."""

import pytest

from tests.support.reader import blocks, open_reader, type_block, typed

DOCUMENT = "README.md"


@pytest.fixture(scope="module")
def reader(postgresql):
    with open_reader() as reader:
        yield reader


@pytest.mark.parametrize("block", typed(DOCUMENT), ids=str)
def test_what_is_written_does_what_it_says(reader, block):
    type_block(reader, block)


def test_what_a_reader_started_ends_with_ctrl_c(reader):
    reader.leaves()


@pytest.mark.parametrize(("document", "least"), [(DOCUMENT, 8), ("docs/operations.md", 4)])
def test_every_block_is_typed_or_says_why_not(document, least):
    found = blocks(document)

    assert len(typed(document)) >= least
    assert {block.kind for block in found} <= {"", "python", "text"}
    assert [] == [block for block in found if block.not_run and block.kind]
