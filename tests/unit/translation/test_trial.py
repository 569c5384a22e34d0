"""A model that ends, blocks or fails the process that loads it is refused with one sentence."""

import re
import subprocess
import sys
from inspect import signature
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from nmt_core import cli
from nmt_core.base.errors import BundleError
from nmt_core.cli.options import open_translator
from nmt_core.cli.serve import serve
from nmt_core.server.models import Models, WatchedModel, poll_folder
from nmt_core.translation import trial
from stages.registry import __main__ as registry
from tests.support.stand_in import StandIn
from tests.support.tiny import export

FOLDER = Path("models/some")


def python(code):
    return [sys.executable, "-c", code]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", r"loaded it \(SIGKILL\)"),
        ("import os; os.abort()", r"loaded it \(SIGABRT\)"),
        ("", "gave no result"),
        ("raise SystemExit(3)", "gave no result"),
        ("print('no JSON')", "gave no result"),
        ("print('[]')", "gave no result"),
        ('print(\'{"problem": "it is square"}\')', "^it is square$"),
        ("print('a library talks'); print('{\"problem\": \"it is round\"}')", "^it is round$"),
    ],
)
def test_failures_of_the_trial_are_reported(code, told):
    try:
        problem = trial.run_trial(FOLDER, python(code))
    except BundleError as error:
        problem = str(error)
    assert re.search(told, problem)
    assert "\n" not in problem


def test_a_slow_model_is_ended():
    begun = []

    def begin(*arguments, **options):
        begun.append(subprocess.Popen(*arguments, **options))
        return begun[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial, "Popen", begin)
        with pytest.raises(BundleError, match=r"golden sentences within 0\.1 seconds"):
            trial.run_trial(FOLDER, python("import time; time.sleep(60)"), seconds=0.1)
    assert begun[0].poll() is not None


def test_the_trial_ends_with_its_parent():
    waits = (
        "from nmt_core.translation import trial; print(flush=True); trial.exit_at_end_of_input()"
    )

    with subprocess.Popen(python(waits), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as asked:
        assert asked.stdout.readline()
        asked.stdin.write(b"more")
        asked.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            asked.wait(0.1)
        asked.stdin.close()

        assert asked.wait(30) == 1


def test_a_folder_without_a_manifest_is_refused(tmp_path):
    with pytest.raises(BundleError, match=r"manifest\.json is missing"):
        trial.load_tried(tmp_path, threads=1)


@pytest.mark.slow
def test_trial_uses_the_requested_engine(tmp_path):
    folder = export(tmp_path / "export")
    with pytest.raises(BundleError, match="there is no engine 'abacus'"):
        trial.load_tried(folder, engine="abacus", device="cpu", threads=1)
    assert trial.load_tried(folder, engine="torch", device="cpu", threads=1).engine.name == "torch"


def test_command_tries_a_model_once(monkeypatch, tmp_path):
    tried = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(trial, "run_trial", lambda folder, _: tried.append(folder) or "other")
    (manifest := tmp_path / "manifest.json").write_text("1")
    for _ in range(2):
        trial.try_once(tmp_path)
    assert len(tried) == 1
    trial.try_once(tmp_path, engine="ctranslate2")
    manifest.write_text("2")
    trial.try_once(tmp_path)
    monkeypatch.setattr(trial, "PARSERS", ("json",))
    trial.try_once(tmp_path)
    assert len(tried) == 4


def test_commands_try_before_they_load(monkeypatch):
    tried = []

    def refuse(folder, **options):
        tried.append((folder, options))
        raise BundleError("it is square")

    monkeypatch.setattr("nmt_core.cli.options.try_once", refuse)
    with pytest.raises(BundleError, match="square"):
        open_translator(FOLDER, "cpu", 1, engine="ctranslate2")
    assert tried == [(FOLDER, {"engine": "ctranslate2", "device": "cpu", "threads": 1})]


def test_model_that_ends_its_process_is_tried_again(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(trial, "_command", lambda *_: python("import os; os.abort()"))
    (tmp_path / "manifest.json").write_text("1")
    for _ in range(2):
        with pytest.raises(BundleError, match="SIGABRT"):
            trial.try_once(tmp_path)


@pytest.mark.parametrize("error", [KeyError("secret"), ZeroDivisionError(), MemoryError("secret")])
def test_unexpected_failures_are_one_sentence_too(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(trial.Translator, "load", fail)

    told = trial.find_problem(FOLDER, engine="auto", device="auto", threads=None)

    assert type(error).__name__ in told
    assert "secret" not in told
    assert "\n" not in told


@pytest.fixture
def served(monkeypatch):
    """What ``nmt serve`` and the server of the registry's champion would serve."""
    served = []
    monkeypatch.setattr("nmt_core.cli.serve.serve_models", lambda *given, **_: served.append(given))
    monkeypatch.setattr(registry, "serve_models", lambda *given, **_: served.append(given))
    known = SimpleNamespace(champion=lambda: "1", name="nmt-de-en")
    monkeypatch.setattr(registry, "open_registry", lambda _: known)
    return served


def test_server_tries_the_champion_with_operators_files(served, tmp_path):
    files = {name: tmp_path / name for name in ("memory", "corrections")}
    options = [f"--{name}={path}" for name, path in files.items()]
    assert CliRunner().invoke(registry.app, ["serve", *options]).exit_code == 0

    [(_, load, config)] = served
    assert load.func is trial.load_tried
    assert {name: getattr(config, name) for name in files} == files


def test_every_option_of_serve_reaches_the_server(served, tmp_path):
    given = {name: tmp_path / name for name in ("memory", "corrections")}
    given |= {"host": "127.0.0.2", "suggestions": "keys"}
    counts = ("port", "rate_limit", "max_characters", "max_file_bytes", "threads")
    given |= {name: number for number, name in enumerate(counts, start=11)}
    given |= {"host_name": "a.org", "trusted_proxy": "10.0.0.1", "origin": "https://b.org"}
    elsewhere = {"model", "engine", "device", "api_keys"}
    assert given.keys() | elsewhere == signature(serve).parameters.keys()
    options = [[f"--{name.replace('_', '-')}", str(value)] for name, value in given.items()]
    result = CliRunner().invoke(cli.app, ["serve", "--model", str(tmp_path), *chain(*options)])

    assert result.exit_code == 0, result.output
    [(_, load, config)] = served
    assert load.func is trial.load_tried
    names = {"host_name": "hosts", "trusted_proxy": "trusted_proxies", "origin": "origins"}
    names |= {"threads": "workers"}
    for name, value in given.items():
        found = getattr(config, names.get(name, name))
        assert found == ((value,) if isinstance(found, tuple) else value), name


def test_a_crashing_model_leaves_the_old_one_serving(tmp_path):
    folder = tmp_path / "export"
    folder.mkdir()
    manifest = folder / "manifest.json"
    manifest.write_text("1")
    codes = {"1": 'print(\'{"problem": ""}\')', "2": "import os; os.abort()"}

    def load(folder):
        trial.run_trial(folder, python(codes[manifest.read_text()]))
        return StandIn(mark=manifest.read_text())

    models = Models([WatchedModel(lambda: poll_folder(folder), ("de", "en"))], load)
    manifest.write_text("2")

    assert models.refresh() == 0
    assert models.served[0].translator.mark == "1"
    assert "SIGABRT" in models.watched[0].problem


def test_the_trial_ends_first_and_leaves_nothing():
    code = """
import resource
from pathlib import Path
from nmt_core.translation.trial import give_way
give_way()
print(resource.getrlimit(resource.RLIMIT_FSIZE), Path("/proc/self/oom_score_adj").read_text())
"""
    said = subprocess.run(python(code), capture_output=True, check=True, text=True)

    assert said.stdout.split() == ["(0,", "0)", "1000"]
