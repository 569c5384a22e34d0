"""One run at a time works in a checkout: whoever comes later waits, and says so."""

import threading

import pytest

from stages.runtime.turns import take_turn
from tests.support.processes import wait_for


def test_who_comes_later_waits_until_the_first_has_ended(project):
    (project / ".dvc/tmp").mkdir(parents=True)
    said, order = [], []

    def follow():
        with take_turn(said.append):
            order.append("second")

    later = threading.Thread(target=follow)
    with take_turn(pytest.fail):
        later.start()
        assert wait_for(lambda: said, seconds=10)
        later.join(0.05)
        order.append("first")
    later.join()

    assert ["first", "second"] == order
    assert [True] == [str(project) in sentence for sentence in said]


def test_a_run_that_fails_holds_nobody_up(project):
    (project / ".dvc/tmp").mkdir(parents=True)
    with pytest.raises(ZeroDivisionError), take_turn(pytest.fail):
        raise ZeroDivisionError

    with take_turn(pytest.fail):
        pass


def test_where_dvc_knows_nothing_of_a_folder_there_is_nothing_to_hold(project):
    with take_turn(pytest.fail), take_turn(pytest.fail):
        assert [] == list(project.iterdir())
