"""Run every command in README.md as written, in order."""

import pytest

from tests.support.reader import blocks, type_block, typed

STARTED = ()
DOCUMENTS = ("your-text", "integrate", "research", "operations")


@pytest.mark.parametrize("block", typed("README.md"), ids=str)
def test_commands_have_the_documented_effects(reader, block):
    type_block(reader, block)


@pytest.mark.parametrize("document", ["README.md", *(f"docs/{name}.md" for name in DOCUMENTS)])
def test_every_block_is_run_or_has_a_reason(document):
    found = blocks(document)

    assert len(typed(document)) > 1
    assert {block.kind for block in found} <= {"", "python", "text"}
    assert [] == [block for block in found if block.reason and block.kind]
