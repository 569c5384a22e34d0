"""Fixtures for tests of flows."""

import logging
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest

from flows import dvc_program
from nmt_core.base.errors import NmtError
from tests.support.compositions import _remembered  # noqa: F401 - a fixture


@pytest.fixture
def fake_dvc(tmp_path, monkeypatch):
    """Replace dvc by a program: ``python -m dvc`` looks in the working folder first."""
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
    """Install a dvc with a given output and exit code; return its calls."""

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


@pytest.fixture
def patch(monkeypatch):
    """Replace attributes of a module by name."""

    def replace(module, **values):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)

    return replace


@pytest.fixture
def stub_flow(patch, monkeypatch, tmp_path):
    """Record the steps of a flow with ``look()`` at each; the step ``fails`` raises an error."""
    monkeypatch.chdir(tmp_path)
    state = SimpleNamespace(done=[], fails=None, look=Path("params.yaml").read_text)

    def note(what):
        state.done.append((what, state.look()))
        if what == state.fails:
            raise NmtError("a step fails")

    @contextmanager
    def hold_clone(_):
        note("hold")
        yield
        note("leave")

    def run_stages(stages, *, shared):
        note(stages)

    def install(module, **more):
        values = {
            "clone": SimpleNamespace(
                hold_clone=hold_clone, put_params=Path("params.yaml").write_text
            ),
            "introduce": lambda: None,
            "plan_stages": lambda until: until,
            "run_stages": run_stages,
            "check_text": lambda test_set: note(f"check {test_set}"),
            "publish": lambda: note("publish"),
            "flow_run": SimpleNamespace(get_name=lambda: "de-en", get_id=lambda: "number"),
            "get_run_logger": lambda: logging.getLogger("test"),
            "create_markdown_artifact": lambda text, *, key, **_: note(key),
        }
        patch(module, **{name: value for name, value in values.items() if hasattr(module, name)})
        patch(module, **more)
        return state

    state.note, state.install = note, install
    return state
