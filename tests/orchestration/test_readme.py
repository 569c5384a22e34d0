"""Run every command in README.md and the pages it links to as written, in order."""

import pytest

from tests.support.reader import blocks, open_reader, type_block, typed

DOCUMENTS = ("README.md", "docs/your-text.md", "docs/integrate.md", "docs/research.md")
BLOCKS = [block for document in DOCUMENTS for block in typed(document)]


@pytest.fixture(scope="module")
def reader():
    with open_reader() as reader:
        yield reader


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_commands_have_the_documented_effects(reader, block):
    type_block(reader, block)


def test_started_programs_end_with_ctrl_c(reader):
    reader.leaves()


@pytest.mark.parametrize("document", [*DOCUMENTS, "docs/operations.md"])
def test_every_block_is_run_or_has_a_reason(document):
    found = blocks(document)

    assert len(typed(document)) > 1
    assert {block.kind for block in found} <= {"", "python", "text"}
    assert [] == [block for block in found if block.reason and block.kind]
