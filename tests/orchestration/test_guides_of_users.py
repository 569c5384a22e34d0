"""Run every command in the guides to text and translation as written, in order."""

import pytest

from tests.support.reader import CLONE, type_block, typed

STARTED = (CLONE, "make repro")


@pytest.mark.parametrize("block", typed("docs/your-text.md") + typed("docs/integrate.md"), ids=str)
def test_commands_have_the_documented_effects(reader, block):
    type_block(reader, block)
