"""A params.yaml that lies aside comes back, by whoever works in the checkout next."""

from pathlib import Path

import pytest

from stages import paths
from stages.runtime.settings_aside import ASIDE, put_aside, put_back
from stages.runtime.turns import take_turn


@pytest.fixture(autouse=True)
def _project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(".dvc").mkdir()
    paths.PARAMS.write_text("of a person")


def crash_amid_a_lesson():
    put_aside("of a lesson")
    paths.PARAMS.write_text("of a lesson")


def test_whoever_works_next_finds_what_lay_there_before_a_crash():
    """Be it make repro, python -m stages.configure or a flow: all of them take turns."""
    crash_amid_a_lesson()
    said = []
    with take_turn(said.append):
        assert paths.PARAMS.read_text() == "of a person"
    assert said == ["params.yaml is again as it was before a run that needed another one"]
    with take_turn(said.append):
        assert len(said) == 1
    assert not ASIDE.exists()


def test_a_file_that_is_gone_comes_back():
    crash_amid_a_lesson()
    paths.PARAMS.unlink()
    put_back()
    assert paths.PARAMS.read_text() == "of a person"


def test_what_a_person_has_written_since_stays():
    crash_amid_a_lesson()
    paths.PARAMS.write_text("edited after the crash")
    with take_turn(pytest.fail):
        assert paths.PARAMS.read_text() == "edited after the crash"
    assert not ASIDE.exists()


def test_a_crash_before_anything_took_its_place_changes_nothing():
    put_aside("of a lesson")
    with take_turn(pytest.fail):
        assert paths.PARAMS.read_text() == "of a person"
    assert not ASIDE.exists()
