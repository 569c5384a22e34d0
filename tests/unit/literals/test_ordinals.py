"""Endings of ordinal numbers in English."""

import pytest

from nmt_core.literals.ordinals import correct_ordinals, find_ending
from tests.support.scripted import scripted_translator

ENDINGS = {
    **dict.fromkeys((1, 21, 101, 1001, 191), "st"),
    **dict.fromkeys((2, 22, 102, 32), "nd"),
    **dict.fromkeys((3, 23, 203, 93), "rd"),
    **dict.fromkeys((0, 4, 9, 10, 11, 12, 13, 14, 20, 111, 112, 213, 1011, 100), "th"),
}


@pytest.mark.parametrize("ending", ["st", "nd", "rd", "th"])
def test_every_number_has_its_ending(ending):
    for number, expected in ENDINGS.items():
        assert find_ending(str(number)) == expected
        line = f"the {number}{ending} of May, {number}{ending}."
        assert correct_ordinals(line, "en-GB") == line.replace(
            f"{number}{ending}", f"{number}{expected}"
        )
        assert correct_ordinals(line, "de") == line


def test_what_is_no_ordinal_stays():
    for line in ("3the", "A3th", "1.3th", "3 th", "2-3th", "3ths", "th"):
        assert correct_ordinals(line, "en") == line


def test_an_engine_that_copies_numbers_writes_ordinals_as_they_are_written():
    own = scripted_translator(lambda text: text.replace(".", "th"))
    [[best]] = own.search(["das 3. Haus und 21. Haus"])
    assert best.text == "das 3rd Haus und 21st Haus"
