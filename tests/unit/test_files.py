"""Files and folders appear whole or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core import files

lines = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])))


class FailureError(Exception):
    pass


def test_a_failed_file_leaves_the_old_one_and_no_trace(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    with pytest.raises(FailureError), files.whole_file(path) as part:
        part.write_text("half")
        raise FailureError

    assert path.read_text() == "old"
    assert [path] == list(tmp_path.iterdir())


def test_a_failed_folder_leaves_the_old_one_and_no_trace(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "old").touch()

    with pytest.raises(FailureError), files.whole_folder(folder) as part:
        (part / "half").touch()
        raise FailureError

    assert [folder, folder / "old"] == sorted(tmp_path.rglob("*"))


def test_a_folder_replaces_the_old_one(tmp_path):
    folder = tmp_path / "a"
    for name in ("old", "new"):
        with files.whole_folder(folder) as part:
            (part / name).touch()

    assert [folder / "new"] == list(folder.iterdir())


@given(lines)
def test_lines_come_back(tmp_path_factory, lines):
    """Whatever a line holds, U+2028 and carriage returns too, lines are split at newlines alone."""
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    files.write_lines(path, lines)

    assert lines == list(files.read_lines(path))


def test_json_comes_back(tmp_path):
    value = {"ä": [1, 0.1, None, True]}
    files.write_json(tmp_path / "a.json", value)

    assert value == files.read_json(tmp_path / "a.json")


def test_a_digest_is_that_of_the_content(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")

    assert files.sha256(tmp_path / "a").startswith("ba7816bf8f01cfea414140de5dae2223")
