import pytest

from tests.support.tiny import export


@pytest.fixture(scope="package")
def bundle(tmp_path_factory):
    return export(tmp_path_factory.mktemp("models") / "export")
