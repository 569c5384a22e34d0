import pytest

from tests.support.tiny import export


@pytest.fixture(scope="package")
def bundle(tmp_path_factory):
    return export(tmp_path_factory.mktemp("models") / "export")


@pytest.fixture(autouse=True)
def _no_trial(monkeypatch):
    """Load models without the trial in another process, which test_trial.py tests."""
    monkeypatch.setattr("nmt_core.cli.options.try_once", lambda *_, **__: None)
