"""Run every command in docs/operations.md as written, in order."""

import pytest

from tests.support.reader import open_reader, type_block, typed

CLONE = "git clone REPOSITORY nmt && cd nmt"
"""Set up the machine of a reader who comes from README.md."""


@pytest.fixture(scope="module")
def reader():
    with open_reader() as reader:
        reader.types(CLONE)
        yield reader


@pytest.mark.parametrize("block", typed("docs/operations.md"), ids=str)
def test_commands_have_the_documented_effects(reader, block):
    type_block(reader, block)


def test_started_programs_end_with_ctrl_c(reader):
    reader.leaves()
