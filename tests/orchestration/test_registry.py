"""The real MLflow as registry: concurrent promotions, kills, outages, contests and a server."""

import itertools
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest
import torch
from mlflow.exceptions import MlflowException
from typer.testing import CliRunner

from nmt_core.base import files, seal
from nmt_core.base.errors import BundleError
from nmt_core.base.random import make_generator
from nmt_core.data.batch import collate
from nmt_core.evaluation.registry import GateConfig, load_metric
from nmt_core.training.loss import batch_loss
from stages import paths
from stages.params import EvaluateParams
from stages.registry.__main__ import app
from stages.registry.exported import Exported, HeldOut
from stages.registry.promotion import enact, record_verdict, run_contest
from stages.registry.registry import Registry, RegistryAwayError, RegistryError
from stages.runtime.checkout import find_free_port
from stages.tracking import tracker
from stages.tracking.journal import BUNDLE_DIGEST
from stages.tracking.tracker import open_tracker
from tests.support.processes import wait_for
from tests.support.registries import number, promote
from tests.support.scripted import LANGUAGES
from tests.support.tiny import LINES, export, tiny_translator
from tests.support.torch_settings import torchs_own_settings

pytestmark = pytest.mark.usefixtures("mlflow_here")

DEAD = "http://127.0.0.1:9"
NAME = "nmt-de-en"
WORDS = {"Hund": "dog", "Garten": "garden", "Haus": "house", "Brot": "bread"}
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(tracker.__file__).parents[2])}
ON_ONE_CORE = EvaluateParams(device="cpu", threads=1)


@pytest.fixture
def registry(project, empty_database, echo):
    (project / "mlflow.db").write_bytes(empty_database.read_bytes())
    return Registry(NAME)


@pytest.fixture(autouse=True)
def settings():
    with torchs_own_settings():
        yield


def register(registry, source, **tags):
    """Create a version with files in a folder, in MLflow's layout."""
    with suppress(MlflowException):
        registry._mlflow.create_registered_model(NAME)
    return int(registry._mlflow.create_model_version(NAME, str(source), tags=tags).version)


@pytest.fixture
def three(registry, project):
    """Three versions; the first one is the champion."""
    assert registry.champion() is None
    assert [register(registry, project, bleu=f"{n}.00") for n in (1, 2, 3)] == [1, 2, 3]
    assert promote(registry, 1, None, "first")
    return registry


def start(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


PROMOTER = """
import sys, time
from stages.registry.registry import Registry
from stages.registry.registry import ChampionMovedError
number, expected = sys.argv[1], int(sys.argv[2])
registry = Registry("nmt-de-en")
registry.champion()
replace = registry._replace_tags
registry._replace_tags = lambda *arguments: (time.sleep(1), replace(*arguments))
print("ready", flush=True)
sys.stdin.readline()
try:
    if number == "back":
        registry.rollback(by="", reason="", expected=expected)
    else:
        registry.promote(int(number), expected=expected, promotion=number, by="", reason="")
    print(number)
except ChampionMovedError:
    print("refused")
"""
"""Wait a second between reading the champion and replacing it."""


@pytest.mark.parametrize(
    ("moves", "champions"), [(("2", "3"), {"2": 2, "3": 3}), (("3", "back"), {"3": 3, "back": 1})]
)
def test_one_of_two_concurrent_moves_is_refused(three, moves, champions):
    expected = 1
    if "back" in moves:
        expected = 2
        promote(three, 2, 1, "second")
    movers = [start(PROMOTER, move, str(expected)) for move in moves]
    for one in movers:
        assert one.stdout.readline() == "ready\n"
    for one in movers:
        one.stdin.write("\n")
        one.stdin.flush()
    [moved] = {one.communicate()[0].strip() for one in movers} - {"refused"}

    assert number(three) == champions[moved]
    [refused] = {*champions.values()} - {number(three)}
    assert refused == 1 or "promotion" not in three.version(refused).tags


KILLED = """
import os, signal
from stages.registry.registry import Registry
registry = Registry("nmt-de-en")
registry._move = lambda _: os.kill(os.getpid(), signal.SIGKILL)
registry.promote(2, expected=1, promotion="second", by="me", reason="better")
"""


def test_kill_before_the_move_keeps_champion_and_lock(three):
    killed = start(KILLED)
    killed.communicate()

    assert killed.returncode == -signal.SIGKILL
    assert three.version(2).tags["promotion"] == "second"
    assert number(three) == 1
    assert promote(three, 2, 1, "second")
    assert number(three) == 2


def invoke(*arguments):
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "140"})


def test_registry_commands_promote_and_roll_back(three, project):
    files.write_text(
        project / "params.yaml",
        "download: {languages: {source: de, target: en}, "
        "corpora: {demo: {kind: demo, grammar: {}}}}\n",
    )
    promoted = invoke("promote", "3", "--reason", "it looks better").output
    assert promoted == "version 3 of nmt-de-en is the champion\n"
    assert three.champion().tags["promotion"].startswith("by hand ")
    shown = invoke("show").output
    rows = [line.split() for line in shown.splitlines()[2:]]
    assert [row[:2] for row in rows] == [["3", "champion"], ["2", "–"], ["1", "–"]]
    assert [score for row in rows for score in row if score.endswith(".00")] == [
        "3.00",
        "2.00",
        "1.00",
    ]
    assert "it looks better" in shown
    assert "version 1 of nmt-de-en is" in invoke("rollback", "--reason", "it is not").output
    shown = invoke("show", "--name", NAME).output
    assert [line.split()[1] for line in shown.splitlines()[2:]] == ["withdrawn", "–", "champion"]
    assert "it is not" in shown
    refused = invoke("serve", "--name", "nmt-fr-en").exception
    assert str(refused).startswith("nmt-fr-en has no champion; no version")
    for said in (str(refused), invoke("show", "--name", "nmt-fr-en").output):
        assert "make sync" in " ".join(said.split())
    three._mlflow.delete_registered_model_alias(NAME, "champion")
    told = str(invoke("serve").exception)
    assert told.startswith("nmt-de-en has no champion; ")
    assert "make promote VERSION=3 REASON=" in told


def sealed(project, name, translator, **tags):
    """An export in a checkout, and in MLflow's layout."""
    folder = export(project / name / "artifacts" / "export", translator=translator)
    told = {
        "fingerprint": name,
        "bundle_sha256": seal.digest_bundle(folder),
        "test_set": HELD_OUT.digest,
        "held_out": "by hash",
        "bleu": "30.10",
        "signature": load_metric("bleu", "en").signature,
    }
    return Exported(folder, NAME, LANGUAGES, HELD_OUT, told | tags)


ROWS = list(itertools.product(WORDS, repeat=4))
CHOSEN = [ROWS[n] for n in make_generator(1, "words").permutation(len(ROWS))[:60]]
HELD_OUT = HeldOut(
    [f"{' '.join(row)}." for row in CHOSEN],
    [f"{' '.join(WORDS[word] for word in row)}." for row in CHOSEN],
)


@pytest.fixture(scope="module")
def systems():
    """A model after 20 updates, and one after 120."""
    translator = tiny_translator()
    numbers = (
        [side.ids(line) for line in lines]
        for side, lines in (
            (translator.source, HELD_OUT.sources),
            (translator.target, HELD_OUT.references),
        )
    )
    batch = collate(list(zip(*numbers, strict=True)))
    model = translator.full.model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    states = {}
    for step in range(1, 121):
        optimizer.zero_grad()
        batch_loss(model, batch, label_smoothing=0.0, per="token")[0].backward()
        optimizer.step()
        if step in (20, 120):
            states[step] = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    taught = [tiny_translator(), tiny_translator()]
    for one, state in zip(taught, states.values(), strict=True):
        one.full.model.load_state_dict(state)
    return taught


@pytest.mark.parametrize(
    ("champion", "challenger", "expected"), [(0, 1, "promote"), (1, 0, "reject"), (1, 1, "hold")]
)
def test_contest_compares_sealed_exports(
    registry, project, systems, champion, challenger, expected
):
    """It covers the exports, their translations, the champion, and MLflow's records."""
    old = sealed(project, "old", systems[champion])
    register(registry, old.folder.parents[1], **old.tags)
    promote(registry, 1, None, "first")
    new = sealed(project, "new", systems[challenger])
    if champion == challenger:
        card = new.folder / "README.md"
        card.write_text("# The same weights, told of otherwise\n")
        manifest = {"format": seal.FORMAT, "files": seal.list_contents(new.folder)}
        files.write_json(new.folder / seal.MANIFEST, manifest)
        new.tags["bundle_sha256"] = seal.digest_bundle(new.folder)

    found = run_contest(registry, new, ON_ONE_CORE, gate=GateConfig(minimum_effect=0.1))

    assert (found.outcome, found.champion) == (expected, 1)
    assert found.verdict.test_set == HELD_OUT.digest
    won = enact(registry, found, new, promotion="flow", by="a flow")
    assert won == (expected == "promote")
    assert not enact(registry, found, new, promotion="flow", by="a flow")
    assert registry.champion().digest == (new if won else old).digest
    record_verdict(found, new)
    [kept] = registry._mlflow.search_runs(
        [registry._mlflow.get_experiment_by_name(paths.EXPERIMENT).experiment_id]
    )
    assert kept.data.tags.items() >= {"gate_outcome": expected, "nmt.fingerprint": "new"}.items()
    assert kept.data.metrics["gate_bleu_difference"] == found.verdict.effects[0].difference
    assert files.read_json(Path("runs/new/promotion.json"))["outcome"] == expected
    assert Path("runs/new/promotion.md").read_text().startswith(f"**{expected}**")
    if won:
        tags = registry.champion().tags
        assert tags["test_set"] == HELD_OUT.digest
        assert tags["previous_champion"] == "1"
        again = run_contest(registry, new, ON_ONE_CORE, gate=GateConfig())
        assert again.outcome == "same"
        record_verdict(again, new)
        assert files.read_json(Path("runs/new/promotion.json"))["outcome"] == "promote"


def test_export_is_registered_once_and_fetched_unchanged(registry, project, monkeypatch):
    """This holds even if MLflow did not answer during the export."""
    exported = sealed(project, "f", tiny_translator())
    with monkeypatch.context() as outage:
        outage.setenv("MLFLOW_TRACKING_URI", DEAD)
        with open_tracker("f") as tracker:
            tracker.model(exported.folder, name=NAME, tags=exported.tags)
        with pytest.raises(RegistryAwayError, match=f"MLflow at {DEAD}: .*; start it"):
            Registry(NAME).version_holding(exported)
    version = registry.version_holding(exported)

    assert version == registry.version_holding(exported)
    told = registry._mlflow.get_model_version(NAME, str(version.number)).description
    assert told.startswith("# ")  # the model card without its metadata
    assert [*registry.versions()] == [version.number] == [1]
    assert version.tags == exported.tags
    back = registry.fetch(version, project / "fetched")
    assert seal.list_contents(back) == seal.list_contents(exported.folder)


def test_altered_export_is_rejected(registry, project):
    exported = sealed(project, "f", tiny_translator())
    source = exported.folder.parents[1]
    other = registry.version(register(registry, source, **exported.tags | {"bundle_sha256": "0"}))
    with pytest.raises(RegistryError, match="version 1 of nmt-de-en does not match its tag"):
        registry.fetch(other, project / "other")
    version = registry.version(register(registry, source, **exported.tags))
    (exported.folder / "README.md").write_text("# A better model\n")

    with pytest.raises(BundleError, match=r"README\.md was altered"):
        registry.fetch(version, project / "altered")


def ask_server(address):
    """Return the translation of the first line, and the served version."""
    fields = {"q": LINES[0], "source": "de", "target": "en"}
    answer = httpx2.post(f"{address}/translate", json=fields, timeout=60)
    [model] = httpx2.get(f"{address}/status", timeout=60).json()["models"]
    return answer.status_code, answer.json().get("translatedText"), model


def test_server_follows_promotions_and_rejects_broken_models(registry, project):
    """Requests during the change are answered by one of the two models."""
    translators = [tiny_translator(seed=seed) for seed in (1, 2)]
    exports = [sealed(project, f"f{seed}", one) for seed, one in enumerate(translators)]
    first, second = (registry.version_holding(one).number for one in exports)
    promote(registry, first, None, "first")
    broken = register(registry, project / "nothing", **{BUNDLE_DIGEST: "of nothing"})
    port = find_free_port("127.0.0.1")
    command = [sys.executable, "-m", "stages.registry", "serve", "--name", NAME]
    process = subprocess.Popen([*command, "--port", str(port)], env=ENVIRONMENT)
    address, answers = f"http://127.0.0.1:{port}", []

    def serves(claim):
        answers.append(ask_server(address))
        return claim(answers[-1][2])

    try:
        assert wait_for(lambda: is_up(address), seconds=120)
        assert serves(lambda model: model["version"] == str(first))
        promote(registry, second, first, "second")
        assert wait_for(lambda: serves(lambda model: model["version"] == str(second)), seconds=120)
        promote(registry, broken, second, "broken")
        assert wait_for(lambda: serves(lambda model: model["problem"]), seconds=120)
        assert answers[-1][2]["version"] == str(second)
        registry.rollback(by="me", reason="broken")
        assert wait_for(lambda: serves(lambda model: not model["problem"]), seconds=120)
    finally:
        process.terminate()
        ended = process.wait(60)

    expected = [one.translate(LINES[:1])[0] for one in translators]
    assert {200} == {status for status, _, _ in answers}
    assert expected[0] == answers[0][1]
    assert expected[1] == answers[-1][1]
    assert {text for _, text, _ in answers} == set(expected)
    assert ended == 0


def is_up(address):
    with suppress(httpx2.TransportError):
        return httpx2.get(f"{address}/health").is_success
