"""Every command of README.md and of what it leads to, typed as they stand, one after another."""

import pytest

from tests.support.reader import blocks, open_reader, type_block, typed

DOCUMENTS = (
    "README.md",
    "docs/your-text.md",
    "docs/integrate.md",
    "docs/research.md",
    "docs/course.md",
)
BLOCKS = [block for document in DOCUMENTS for block in typed(document)]


@pytest.fixture(scope="module")
def reader():
    with open_reader() as reader:
        yield reader


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_what_is_written_does_what_it_says(reader, block):
    type_block(reader, block)


def test_what_a_reader_started_ends_with_ctrl_c(reader):
    reader.leaves()


@pytest.mark.parametrize("document", [*DOCUMENTS, "docs/operations.md"])
def test_every_block_is_typed_or_says_why_not(document):
    found = blocks(document)

    assert len(typed(document)) > 1
    assert {block.kind for block in found} <= {"", "python", "text"}
    assert [] == [block for block in found if block.reason and block.kind]
