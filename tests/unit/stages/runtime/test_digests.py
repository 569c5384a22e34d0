"""A stage believes no file that its maker has not written, and names it and the maker."""

import json
import re

import pytest

from nmt_core.base.errors import NmtError
from stages.runtime.fingerprint import DIGESTS, check_digests, write_digests


@pytest.fixture
def made(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.bin").write_bytes(bytes(100))
    write_digests(tmp_path)
    return tmp_path


def test_what_was_written_is_believed(made):
    check_digests(made, stage="train")

    assert {"a.txt", "b.bin"} == {*json.loads((made / DIGESTS).read_text())}


@pytest.mark.parametrize("name", ["a.txt", "b.bin"])
def test_each_altered_or_missing_file_is_named(made, name):
    before, name_of = (made / name).read_bytes(), str(made / name)
    for number in (0, len(before) - 1):
        flipped = bytearray(before)
        flipped[number] ^= 1
        (made / name).write_bytes(flipped)
        with pytest.raises(NmtError, match=f"^{re.escape(name_of)} was altered.* make repro$"):
            check_digests(made, stage="train")
    (made / name).unlink()
    with pytest.raises(NmtError, match=f"^{re.escape(name_of)} is missing.* make repro$"):
        check_digests(made, stage="train")
