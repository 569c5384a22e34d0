"""Run every command in docs/operations.md as written, in order."""

import pytest

from tests.support.reader import CLONE, type_block, typed

STARTED = (CLONE,)


@pytest.mark.parametrize("block", typed("docs/operations.md"), ids=str)
def test_commands_have_the_documented_effects(reader, block):
    type_block(reader, block)
