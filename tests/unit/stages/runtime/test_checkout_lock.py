"""One run at a time works in a checkout, and finds the params.yaml that a crashed one replaced."""

import threading

import pytest

from stages import paths
from stages.runtime.checkout import ASIDE, LOCK, hold_checkout, put_aside
from tests.support.processes import wait_for


@pytest.fixture
def checkout(project):
    LOCK.parent.mkdir(parents=True)
    paths.PARAMS.write_text("mine")
    return project


def test_a_later_run_waits_and_says_so(checkout):
    said, order = [], []

    def follow():
        with hold_checkout(said.append):
            order.append("second")

    later = threading.Thread(target=follow)
    with hold_checkout(pytest.fail):
        later.start()
        assert wait_for(lambda: said, seconds=10)
        later.join(0.05)
        order.append("first")
    later.join()

    assert order == ["first", "second"]
    assert [str(checkout) in sentence for sentence in said] == [True]


def test_a_failed_run_holds_nothing(checkout):
    with pytest.raises(ZeroDivisionError), hold_checkout(pytest.fail):
        raise ZeroDivisionError
    with hold_checkout(pytest.fail):
        pass


def test_outside_a_project_there_is_no_lock(project):
    with hold_checkout(pytest.fail), hold_checkout(pytest.fail):
        assert list(project.iterdir()) == []


@pytest.mark.parametrize(
    ("present", "found", "told"),
    [
        ("replacement", "mine", True),  # a crash
        (None, "mine", True),
        ("edited since", "edited since", False),
        ("mine", "mine", False),  # a crash before the replacement was written
    ],
)
def test_params_come_back_after_a_crash(checkout, present, found, told):
    put_aside("replacement")
    paths.PARAMS.unlink()
    if present:
        paths.PARAMS.write_text(present)

    said = []
    with hold_checkout(said.append):
        assert paths.PARAMS.read_text() == found
    assert len(said) == told
    assert not ASIDE.exists()
