"""What tests of flows are given."""

from textwrap import dedent

import pytest

from flows import dvc_program


@pytest.fixture
def fake_dvc(tmp_path, monkeypatch):
    """Put a program in the place of dvc: ``python -m dvc`` looks where it is run first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dvc_program, "GRACE_SECONDS", 1.0)

    def install(program: str) -> None:
        (tmp_path / "dvc").mkdir()
        (tmp_path / "dvc" / "__init__.py").touch()
        (tmp_path / "dvc" / "__main__.py").write_text(dedent(program))

    return install
