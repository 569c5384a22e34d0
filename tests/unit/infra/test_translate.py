"""The published translation server: its image, Compose services and manifests."""

import re
import tomllib

import pytest
import typer
import yaml

from nmt_core.cli import app
from nmt_core.server.run import STOP_SECONDS
from nmt_core.server.settings import ServerConfig
from stages.registry.__main__ import app as registry
from tests.support.projects import PROJECT

DOCKERFILE = (PROJECT / "infra/docker/Dockerfile.translate").read_text().replace("\\\n", " ")
COMPOSE = yaml.safe_load((PROJECT / "infra/compose.yaml").read_text())
SERVICES = COMPOSE["services"]
SERVER, FOLLOWER = SERVICES["translate"], SERVICES["champion"]
FOLDER = PROJECT / "infra/kubernetes/translate"
MANIFESTS = {path.stem: yaml.safe_load(path.read_text()) for path in FOLDER.glob("*.yaml")}
POD = MANIFESTS["deployment"]["spec"]["template"]
(CONTAINER,) = POD["spec"]["containers"]
CHAMPION = MANIFESTS["champion"]["spec"]["template"]
(KEEPER,) = CHAMPION["spec"]["containers"]
LOCKED = (PROJECT / "requirements/serve.txt").read_text()
PORT = ServerConfig().port


def pins(text):
    return set(re.findall(r"^([a-z0-9.-]+)==([^ ]+)", text, re.MULTILINE))


def test_the_image_contains_no_training_code():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    parts = ("serve", "translate", "glossary", "memory")
    asked = {*project["dependencies"], *(name for part in parts for name in extras[part])}
    names = {re.match(r"[a-z0-9-]+", name)[0] for name in asked} - {"nmt-pipeline"}
    locked = {name for name, _ in pins(LOCKED)}

    assert names <= locked
    assert not {"torch", "mlflow", "pandas", "prefect", "dvc", "spacy"} & locked
    assert "--requirements requirements/serve.txt" in DOCKERFILE


def test_the_image_runs_on_a_read_only_disk():
    assert "--compile-bytecode" in DOCKERFILE
    assert "compileall -q /opt/nmt/nmt_core" in DOCKERFILE
    assert SERVER["read_only"]
    assert ["models:/models:ro"] == SERVER["volumes"]
    assert CONTAINER["securityContext"]["readOnlyRootFilesystem"]
    assert {"models": True, "temporary": None} == {
        one["name"]: one.get("readOnly") for one in CONTAINER["volumeMounts"]
    }


IMAGE_COMMAND = re.findall(r'"([^"]*)"', re.findall(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE)[-1])


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (app, IMAGE_COMMAND),
        (app, SERVER["command"]),
        (app, CONTAINER["args"]),
        (registry, FOLLOWER["command"][3:]),
        (registry, KEEPER["args"][3:]),
    ],
    ids=["image", "compose", "kubernetes", "compose champion", "kubernetes champion"],
)
def test_programs_accept_their_arguments(program, words):
    group = typer.main.get_command(program)
    _, command, options = group.resolve_command(group.make_context("nmt", [*words]), [*words])
    context = command.make_context(words[0], options)

    given = {word.partition("=")[0] for word in words[1:] if word.startswith("--")}
    assert given <= {option for one in command.params for option in one.opts}
    assert "0.0.0.0" in words or "follow" == words[0] or "--host=0.0.0.0" in words
    assert "/models/champion" in str(context.params)


def test_the_server_gets_no_secret_and_no_network():
    for pod in (POD, CHAMPION):
        assert not pod["spec"]["automountServiceAccountToken"]
    assert "environment" not in SERVER
    assert not {"env", "envFrom"} & set(CONTAINER)
    assert "envFrom" not in str(POD)
    assert ["Ingress", "Egress"] == MANIFESTS["network"]["spec"]["policyTypes"]
    assert "egress" not in MANIFESTS["network"]["spec"]
    assert {"mem_limit", "pids_limit"} <= set(SERVER)
    options = COMPOSE["networks"]["translate"]["driver_opts"]
    assert options == {"com.docker.network.bridge.enable_ip_masquerade": "false"}
    assert ["translate"] == SERVER["networks"]
    assert not [name for name in str(FOLLOWER["environment"]) if "PASSWORD" in name]


def test_started_requests_are_finished_before_the_end():
    (seconds,) = re.findall(r"(\d+)s", SERVER["stop_grace_period"])
    waited = int(CONTAINER["lifecycle"]["preStop"]["exec"]["command"][-1])

    assert int(seconds) > STOP_SECONDS
    assert POD["spec"]["terminationGracePeriodSeconds"] > STOP_SECONDS + waited
    strategy = MANIFESTS["deployment"]["spec"]["strategy"]["rollingUpdate"]
    assert {"maxUnavailable": 0, "maxSurge": 1} == strategy
