"""Every known way to break the code can still be tried; `make mutants` tries them."""

from collections import Counter

import pytest

from tests.mutants import MUTANTS, TOP


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_a_mutant_changes_one_place_and_names_tests_that_are_there(mutant):
    assert (TOP / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1
    assert mutant.old != mutant.new
    tests = [word for word in mutant.tests.split() if word.startswith("tests/")]
    assert tests
    assert all((TOP / test.split("::")[0]).exists() for test in tests)


def test_no_two_mutants_have_a_name():
    """The command takes them by name."""
    assert [] == [name for name, count in Counter(m.name for m in MUTANTS).items() if count > 1]
