"""What tests of flows are given."""

from pathlib import Path
from textwrap import dedent

import pytest

from flows import dvc_program
from tests.support.compositions import _remembered  # noqa: F401 - a fixture


@pytest.fixture
def fake_dvc(tmp_path, monkeypatch):
    """Put a program in the place of dvc: ``python -m dvc`` looks where it is run first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dvc_program, "GRACE_SECONDS", 1.0)

    def install(program: str) -> None:
        (tmp_path / "dvc").mkdir()
        (tmp_path / "dvc" / "__init__.py").touch()
        (tmp_path / "dvc.yaml").write_text("stages: {}\n")
        (tmp_path / "dvc" / "ui.py").write_text("class ui: write = print")
        (tmp_path / "dvc" / "__main__.py").write_text(dedent(program))

    return install


@pytest.fixture
def asked(fake_dvc):
    """Have a dvc that says and ends as given; return what it was asked for, call by call."""

    def answer(*ends: tuple[str, int]):
        fake_dvc(f"""
            import sys
            from pathlib import Path
            with Path("asked").open("a+") as log:
                print(*sys.argv[1:], file=log)
                log.seek(0)
                number = len(log.readlines()) - 1
            said, code = [*{ends!r}, ("", 0)][min(number, {len(ends)})]
            print(said)
            sys.exit(code)
        """)
        return lambda: Path("asked").read_text().splitlines()

    return answer
