"""Text for trainings of twelve updates."""

import pytest

from tests.support.pairs import write_pairs


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("data") / "train", longest=6)
