"""The files under infra, checked by the programs that read them; no container is started."""

import json
import re
import subprocess
import tomllib

import jsonschema
import pytest
import yaml
from prefect.server.schemas.actions import WorkPoolCreate
from prefect.utilities.schema_tools.validation import validate

from tests.support.projects import PROJECT

INFRA = PROJECT / "infra"
LOCKED = (PROJECT / "requirements/dev.txt").read_text()
PINS = dict(re.findall(r"^([a-z0-9.-]+)==([^ ;]+)", LOCKED, re.MULTILINE))
VERSION = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
SECRETS = re.findall(r"^([A-Z_]+)=", (INFRA / ".env.example").read_text(), re.MULTILINE)
COMPOSE = yaml.safe_load((INFRA / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
LASTING = [name for name, service in SERVICES.items() if service["restart"] != "no"]


# compose.yaml


def test_services_refer_to_existing_names():
    names = {name for service in SERVICES.values() for name in service.get("depends_on", ())}
    volumes = [volume for service in SERVICES.values() for volume in service.get("volumes", ())]
    networks = {name for service in SERVICES.values() for name in service.get("networks", ())}

    assert names <= SERVICES.keys()
    assert {*COMPOSE["volumes"]} == {
        name for volume in volumes if (name := volume.split(":")[0])[0] not in "./"
    }
    assert networks == {"default", *COMPOSE["networks"]}


def test_compose_refuses_to_start_without_a_secret():
    values = set(re.findall(r"\$\{(\w+)([^}]*)\}", text("compose.yaml")))

    assert {(name, ":?set it in infra/.env") for name in SECRETS} == {
        (name, rest) for name, rest in values if not rest.startswith(":-")
    }


def test_compose_contains_no_secret():
    """Variables named like a secret come from the environment, and no service reads .env."""
    named = re.findall(
        r"^\s*(\w*(?:PASSWORD|SECRET|AUTH)\w*): (.*)$", text("compose.yaml"), re.MULTILINE
    )

    assert len(named) > 5
    assert [] == [(name, value) for name, value in named if ":?" not in value]
    assert 0 == program_of_git("check-ignore", "--quiet", "infra/.env")


def text(path):
    return (INFRA / path).read_text()


def program_of_git(*arguments):
    return subprocess.run(["git", *arguments], cwd=PROJECT, check=False).returncode


@pytest.mark.parametrize("name", SERVICES)
def test_services_are_pinned_and_restricted(name):
    service = SERVICES[name]

    assert re.search(r":\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?$", service["image"])
    assert ["ALL"] == service["cap_drop"]
    assert ["no-new-privileges:true"] == service["security_opt"]
    assert service["read_only"]
    assert "max-size" in service["logging"]["options"]
    assert "privileged" not in service
    assert "build" in service or service["user"] != "root"  # the Dockerfile names our images


@pytest.mark.parametrize("name", LASTING)
def test_lasting_services_have_a_health_check(name):
    assert SERVICES[name]["healthcheck"]["test"]


def test_ports_are_open_to_this_machine_only():
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]

    assert len(published) == 4
    assert [] == [port for port in published if not port.startswith("127.0.0.1:")]


def test_tags_are_the_pinned_versions():
    tags = dict(service["image"].split(":") for service in SERVICES.values())

    assert PINS["prefect"] == tags["nmt-prefect"]
    assert PINS["mlflow"] == tags["nmt-mlflow"]
    assert {f"{VERSION}-cpu", f"{VERSION}-gpu"} == {
        service["image"].split(":")[1] for name, service in SERVICES.items() if "worker" in name
    }
    assert VERSION == tags["nmt-translate"]
    assert f"rclone/rclone:{tags['nmt-store']} " in text("docker/Dockerfile.server")


# docker/


IMAGES = ("worker", "server", "translate")


@pytest.mark.parametrize("name", IMAGES)
def test_images_install_pinned_packages(name):
    lines = text(f"docker/Dockerfile.{name}").replace("\\\n", " ").splitlines()
    installs = [line for line in lines if "pip install" in line and not line.startswith("#")]

    assert installs
    for line in installs:
        assert "--require-hashes --constraint requirements/" in " ".join(line.split())
    assert [] == [line for line in installs if re.search(r"==[0-9]", line)]
    assert f"ghcr.io/astral-sh/uv:{PINS['uv']} " in text(f"docker/Dockerfile.{name}")
    assert {"boto3", "psycopg2-binary", "dvc-s3"} <= set(PINS)
    assert PINS["boto3"] == PINS["botocore"]


@pytest.mark.parametrize("part", ["train", "servers", "serve"])
def test_parts_have_the_pins_of_the_whole(part):
    pins, whole = (
        {*re.findall(r"^[a-z0-9.-]+==[^ ]+", path.read_text(), re.MULTILINE)}
        for name in (part, "dev")
        for path in [PROJECT / f"requirements/{name}.txt"]
    )
    assert len(pins) > 30
    assert pins <= whole


def test_all_dependencies_are_pinned():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    asked = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {
        re.match(r"[a-z0-9-]+", one.lower().replace(".", "-"))[0]
        for group in asked
        for one in group
    }

    assert names - {"nmt-pipeline", "torch"} <= set(PINS)
    for build in ("cpu", "cuda"):
        assert re.search(
            r"^torch==\d", (PROJECT / f"requirements/torch-{build}.txt").read_text(), re.MULTILINE
        )


# kubernetes/

MANIFESTS = [
    document
    for path in sorted((INFRA / "kubernetes").rglob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text())
]
RESOURCES = [one for one in MANIFESTS if "kustomize" not in one["apiVersion"]]
WORKERS = [one for one in RESOURCES if one["metadata"]["name"].startswith("worker-")]


@pytest.mark.parametrize(
    "pod",
    [one["spec"]["template"]["spec"] for one in RESOURCES if "template" in one.get("spec", {})],
)
def test_containers_may_do_little(pod):
    (container,) = pod["containers"]
    security = container["securityContext"]

    assert pod["securityContext"]["runAsNonRoot"]
    assert security["readOnlyRootFilesystem"]
    assert not security["allowPrivilegeEscalation"]
    assert ["ALL"] == security["capabilities"]["drop"]
    assert {"memory", "ephemeral-storage"} <= set(container["resources"]["limits"])
    assert {"cpu", "memory"} <= set(container["resources"]["requests"])


@pytest.mark.parametrize("deployment", WORKERS, ids=lambda one: one["metadata"]["name"])
def test_worker_pods_may_save(deployment):
    pod = deployment["spec"]["template"]["spec"]
    (worker,) = pod["containers"]
    limits = worker["resources"]["limits"]
    kind = deployment["metadata"]["name"].removeprefix("worker-")

    assert 120 == pod["terminationGracePeriodSeconds"]
    assert "Recreate" == deployment["spec"]["strategy"]["type"]
    assert f"nmt-worker:{VERSION}-{kind}" == worker["image"]
    assert f"--pool={kind}" in worker["args"]
    assert (kind == "gpu") == ("nvidia.com/gpu" in limits)
    assert "project" == pod["volumes"][0]["name"]  # which storage/ replaces
    probe = worker["livenessProbe"]  # a server that is away for half an hour ends no training
    assert probe["periodSeconds"] * probe["failureThreshold"] > 1800


def test_workers_accept_no_connections():
    (policy,) = (
        one
        for one in RESOURCES
        if one["kind"] == "NetworkPolicy" and one["metadata"]["name"] == "workers"
    )
    chosen = policy["spec"]["podSelector"]["matchLabels"].items()

    assert ["Ingress"] == policy["spec"]["policyTypes"]
    assert "ingress" not in policy["spec"]
    for deployment in WORKERS:
        assert chosen <= deployment["spec"]["template"]["metadata"]["labels"].items()


def test_no_manifest_contains_a_secret():
    assert "Secret" not in {resource["kind"] for resource in RESOURCES}


# pools/

POOLS = {
    path.stem: json.loads(path.read_text()) for path in sorted((INFRA / "pools").glob("*.json"))
}


@pytest.mark.parametrize("kind", POOLS)
def test_prefect_accepts_pools(kind):
    """The server validates in the second half, only after it has stored the first half."""
    pool = WorkPoolCreate(name=kind, type=kind, base_job_template=POOLS[kind])
    variables = pool.base_job_template["variables"]
    jsonschema.Draft202012Validator.check_schema(variables)
    defaults = {
        name: value["default"]
        for name, value in variables["properties"].items()
        if value.get("default") is not None
    }

    validate(defaults, variables, raise_on_error=True, allow_none_with_default=True)


@pytest.mark.parametrize("kind", POOLS)
def test_environment_of_flows_is_the_same_everywhere(kind):
    environment = POOLS[kind]["variables"]["properties"]["env"]["default"]
    here = SERVICES["worker-cpu"]["environment"]
    (settings,) = (one["data"] for one in RESOURCES if one["kind"] == "ConfigMap")
    shared = {name: value for name, value in environment.items() if "SIGTERM" not in name}

    assert shared
    assert shared == {name: here.get(name) for name in shared}
    assert shared == {name: settings.get(name) for name in shared}
