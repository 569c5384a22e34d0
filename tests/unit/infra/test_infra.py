"""The files under infra, checked by the programs that read them; no container is started."""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import jsonschema
import kubernetes_validate
import psutil
import pytest
import yaml
from prefect.server.schemas.actions import WorkPoolCreate
from prefect.utilities.schema_tools.validation import validate
from prefect.utilities.templating import find_placeholders

from tests.support.git import commit_all, git
from tests.support.processes import STAGE
from tests.support.projects import PROJECT

INFRA = PROJECT / "infra"
LOCKED = (PROJECT / "requirements/dev.txt").read_text()
PINS = dict(re.findall(r"^([a-z0-9.-]+)==([^ ;]+)", LOCKED, re.MULTILINE))
VERSION = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
SECRETS = re.findall(r"^([A-Z_]+)=", (INFRA / ".env.example").read_text(), re.MULTILINE)
COMPOSE = yaml.safe_load((INFRA / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
LASTING = [name for name, service in SERVICES.items() if service["restart"] != "no"]


def program(name, *arguments, **environment):
    """Run a program of this virtual environment, knowing of no variable of ours but those given."""
    known = {name: value for name, value in os.environ.items() if name not in SECRETS}
    return subprocess.run(
        [Path(sys.executable).parent / name, *arguments],
        cwd=PROJECT,
        env=known | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def rendered(**secrets):
    arguments = ["-f", INFRA / "compose.yaml", "--env-file", "/dev/null", "--profile", "*"]
    return program("docker-compose", *arguments, "config", "--format=json", **secrets)


# compose.yaml


def test_compose_takes_the_file_with_what_the_example_asks_for():
    answer = rendered(**{name: f"canary-{name}" for name in SECRETS})

    assert "" == answer.stderr
    assert set(SERVICES) == set(json.loads(answer.stdout)["services"])


@pytest.mark.parametrize("missing", SECRETS)
def test_compose_refuses_to_start_without_a_secret(missing):
    answer = rendered(**{name: "canary" for name in SECRETS if name != missing})

    assert answer.returncode != 0
    assert f"{missing} is missing a value: set it in infra/.env" in answer.stderr


def test_no_secret_is_written_down():
    """Whatever is named like a secret comes from the environment, and .env from nobody."""
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
def test_a_service_is_pinned_and_may_do_little(name):
    service = SERVICES[name]

    assert re.search(r":\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?$", service["image"])
    assert ["ALL"] == service["cap_drop"]
    assert ["no-new-privileges:true"] == service["security_opt"]
    assert service["read_only"]
    assert "max-size" in service["logging"]["options"]
    assert "privileged" not in service
    assert "build" in service or service["user"] != "root"  # of ours, the Dockerfile says


@pytest.mark.parametrize("name", LASTING)
def test_a_service_that_stays_can_be_asked_whether_it_is_well(name):
    assert SERVICES[name]["healthcheck"]["test"]


def test_prefect_unpacks_its_pages_where_it_may_write():
    """Its image is read-only and its user without rights; without its pages it would start, too."""
    prefect = SERVICES["prefect"]
    folder = Path(prefect["environment"]["PREFECT_UI_STATIC_DIRECTORY"])
    writable = {Path(mount.partition(":")[0]) for mount in prefect["tmpfs"]}

    assert writable & {*folder.parents}
    assert ["", "api/ready"] == asked(prefect["healthcheck"]["test"][-1])


def asked(program):
    """What a health check asks for."""
    paths = []
    opener = "from urllib.request import urlopen as u; "
    assert program.startswith(opener)
    exec(  # noqa: S102 - our own file
        program.removeprefix(opener),
        {"u": lambda url, **_: paths.append(url.removeprefix("http://127.0.0.1:4200/"))},
    )
    return paths


def test_ports_are_open_to_this_machine_only():
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]

    assert len(published) == 4
    assert [] == [port for port in published if not port.startswith("127.0.0.1:")]


def test_a_service_waits_until_what_it_needs_is_well():
    for name, service in SERVICES.items():
        for needed, how in service.get("depends_on", {}).items():
            expected = "healthy" if needed in LASTING else "completed_successfully"
            assert f"service_{expected}" == how["condition"], name


def test_volumes_are_declared_and_used():
    mounted = {
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
    }

    assert set(COMPOSE["volumes"]) == {name for name in mounted if not name.startswith(".")}
    assert all((INFRA / name).exists() for name in mounted if name.startswith("."))


def test_images_carry_the_version_they_hold():
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
def test_hadolint_has_nothing_to_say(name):
    answer = program("hadolint", f"infra/docker/Dockerfile.{name}")

    assert (0, "") == (answer.returncode, answer.stdout)


@pytest.mark.parametrize("name", IMAGES)
def test_images_hold_the_packages_that_were_tested(name):
    lines = text(f"docker/Dockerfile.{name}").replace("\\\n", " ").splitlines()
    installs = [line for line in lines if "pip install" in line and not line.startswith("#")]

    assert installs
    for line in installs:
        assert "--require-hashes --constraint requirements/" in " ".join(line.split())
    assert [] == [line for line in installs if re.search(r"==[0-9]", line)]
    assert f"ghcr.io/astral-sh/uv:{PINS['uv']} " in text(f"docker/Dockerfile.{name}")
    assert {"boto3", "psycopg2-binary", "dvc-s3"} <= set(PINS)
    assert PINS["boto3"] == PINS["botocore"]


def test_a_worker_can_train_and_reach_its_store():
    assert {"train", "s3"} < set(re.findall(r"--extra (\w+)", text("docker/Dockerfile.worker")))


@pytest.mark.parametrize("part", ["train", "servers", "serve"])
def test_parts_are_pinned_as_the_whole(part):
    pins, whole = (
        {*re.findall(r"^[a-z0-9.-]+==[^ ]+", path.read_text(), re.MULTILINE)}
        for name in (part, "dev")
        for path in [PROJECT / f"requirements/{name}.txt"]
    )
    assert len(pins) > 30
    assert pins <= whole


def test_every_package_is_pinned_with_digests():
    for path in (PROJECT / "requirements").glob("*.txt"):
        for entry in re.split(r"\n(?=[^ #])", path.read_text())[1:]:
            assert re.match(r"[a-z0-9.-]+==[^ ]+ ", entry), entry
            assert "--hash=sha256:" in entry, entry


def test_all_that_the_project_asks_for_is_pinned():
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


def test_every_image_we_build_ends_as_a_user_without_rights():
    for name in IMAGES:
        stages = re.split(r"^FROM ", text(f"docker/Dockerfile.{name}"), flags=re.MULTILINE)[1:]
        wanted = stages[1:] if name == "server" else stages[-1:]  # one file, three images
        for stage in wanted:
            assert "\nUSER 1000:1000\n" in stage


def test_the_build_sees_what_it_copies_and_nothing_else():
    seen = set(re.findall(r"^!(.*)$", (PROJECT / ".dockerignore").read_text(), re.MULTILINE))
    copied = {
        path
        for name in IMAGES
        for line in re.findall(r"^COPY (.*) \S+$", text(f"docker/Dockerfile.{name}"), re.MULTILINE)
        for path in line.split()
        if not line.startswith("--from") and not path.startswith("--")
    }

    assert seen == copied
    assert all((PROJECT / path).exists() for path in seen)


# docker/entrypoint.py


@pytest.fixture
def repository(tmp_path):
    """A repository of two commits, the first tagged v1."""
    place = tmp_path / "repository"
    place.mkdir()
    git("init", "--quiet", "--initial-branch", "main", folder=place)
    for word in ("one", "two"):
        (place / "word").write_text(word)
        commit_all(place, subject=word)
        git("tag", f"v{word}", folder=place)
    return place


def container(repository, place, *command, **more):
    place.mkdir(exist_ok=True)
    known = {"NMT_REPOSITORY": str(repository), "NMT_DVC_REMOTE": ""}
    environment = os.environ | known | more.pop("environment", {})
    return subprocess.Popen(
        [sys.executable, INFRA / "docker" / "entrypoint.py", *command],
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def test_a_container_works_on_the_wanted_revision_and_keeps_what_git_does_not_know(
    repository, tmp_path
):
    place = tmp_path / "project"
    seen = []
    git("branch", "old", "vone", folder=repository)
    for revision in (None, "vone", "origin/old", "vone"):
        environment = {"NMT_REVISION": revision} if revision else {}
        with container(repository, place, "cat", "word", environment=environment) as process:
            seen.append(process.communicate()[0])
        (place / "word").write_text("altered")
        (place / "checkpoint").touch()
        if revision == "origin/old":
            git("tag", "--force", "vone", "vtwo", folder=repository)

    assert ["two", "one", "one", "two"] == seen
    assert (place / "checkpoint").exists()


def test_a_container_works_on_a_repository_whose_head_is_at_no_branch(repository, tmp_path):
    """Such as that of a checkout in which a flow was told to work on a commit."""
    place = tmp_path / "project"
    seen = []
    head = "origin/HEAD"
    for at, wanted in zip(
        ("vone", "vtwo", "main", "vone", "vone"), (*[head] * 4, "origin/main"), strict=True
    ):
        git("checkout", "--quiet", at, folder=repository)
        environment = {"NMT_REVISION": wanted}
        with container(repository, place, "cat", "word", environment=environment) as process:
            seen.append(process.communicate())

    assert [(word, "") for word in ("one", "two", "two", "one", "two")] == seen


DVC = """\
import pathlib, sys
pathlib.Path("asked").write_text(" ".join(sys.argv[1:]))
sys.exit(sys.argv[-1] == "nowhere")
"""


@pytest.mark.parametrize("remote", ["s3://nmt/dvc", "nowhere"])
def test_a_container_shares_what_dvc_keeps_where_it_is_told(repository, tmp_path, remote):
    """And does not begin where dvc refuses, or it would make everything anew."""
    place = tmp_path / "project"
    (place / "dvc").mkdir(parents=True)
    (place / "dvc" / "__init__.py").touch()
    (place / "dvc" / "__main__.py").write_text(DVC)
    environment = {"NMT_DVC_REMOTE": remote}
    with container(repository, place, "echo", "begun", environment=environment) as process:
        told, errors = process.communicate()

    assert (place / "asked").read_text().endswith(f"--local --force --default store {remote}")
    assert ("nowhere" == remote) == ("error:" in errors) == ("begun" not in told)


@pytest.mark.parametrize(("command", "code"), [("exit 7", 7), ("kill -9 $$", 128 + 9)])
def test_a_container_ends_with_the_code_of_its_command(repository, tmp_path, command, code):
    """As a shell tells it."""
    with container(repository, tmp_path / "project", "sh", "-c", command) as process:
        process.communicate()

    assert code == process.returncode


WORKER = """\
import os, signal, subprocess, sys, time
def end(*_):
    stage.send_signal(signal.SIGTERM)
    os._exit(0)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "SIGINT is ignored"
signal.signal(signal.SIGTERM, end)
stage = subprocess.Popen([sys.executable, "-c", sys.argv[1]], start_new_session=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="containers are Linux")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_container_stays_until_stages_have_saved(repository, tmp_path, number):
    """Even if it was started with SIGINT ignored, which makes a Prefect worker deaf to SIGTERM."""
    place = tmp_path / "project"
    command = (sys.executable, "-c", WORKER, STAGE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = container(repository, place, *command)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with process:
        assert "ready\n" == process.stdout.readline()
        (worker,) = psutil.Process(process.pid).children()
        process.send_signal(number)
        worker.wait(60)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        (place / "leave").touch()
        assert 0 == process.wait(60)
        assert (place / "saved").exists()
        assert "" == process.stderr.read()


# kubernetes/

MANIFESTS = [
    document
    for path in sorted((INFRA / "kubernetes").rglob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text())
]
RESOURCES = [one for one in MANIFESTS if "kustomize" not in one["apiVersion"]]
WORKERS = [one for one in RESOURCES if one["metadata"]["name"].startswith("worker-")]


@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_kubernetes_knows_every_field(version):
    assert len(RESOURCES) > 6
    for resource in RESOURCES:
        kubernetes_validate.validate(resource, version, strict=True)


@pytest.mark.parametrize("deployment", WORKERS, ids=lambda one: one["metadata"]["name"])
def test_a_pod_may_do_little_and_gets_the_time_to_save(deployment):
    pod = deployment["spec"]["template"]["spec"]
    (worker,) = pod["containers"]
    limits = worker["resources"]["limits"]
    kind = deployment["metadata"]["name"].removeprefix("worker-")

    assert pod["securityContext"]["runAsNonRoot"]
    assert worker["securityContext"]["readOnlyRootFilesystem"]
    assert not worker["securityContext"]["allowPrivilegeEscalation"]
    assert ["ALL"] == worker["securityContext"]["capabilities"]["drop"]
    assert 120 == pod["terminationGracePeriodSeconds"]
    assert "Recreate" == deployment["spec"]["strategy"]["type"]
    assert f"nmt-worker:{VERSION}-{kind}" == worker["image"]
    assert f"--pool={kind}" in worker["args"]
    assert (kind == "gpu") == ("nvidia.com/gpu" in limits)
    assert {"memory", "ephemeral-storage"} <= set(limits)
    assert "project" == pod["volumes"][0]["name"]  # which storage/ replaces
    probe = worker["livenessProbe"]  # a server that is away for half an hour ends no training
    assert probe["periodSeconds"] * probe["failureThreshold"] > 1800


def test_kustomize_finds_its_files():
    for path in (INFRA / "kubernetes").rglob("kustomization.yaml"):
        kustomization = yaml.safe_load(path.read_text())
        for name in kustomization.get("resources", []) + kustomization.get("components", []):
            assert (path.parent / name).exists()


def test_nobody_may_call_a_worker():
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


def test_no_manifest_holds_a_secret():
    assert "Secret" not in {resource["kind"] for resource in RESOURCES}


# pools/

POOLS = {
    path.stem: json.loads(path.read_text()) for path in sorted((INFRA / "pools").glob("*.json"))
}


@pytest.fixture(scope="module")
def official():
    """What Prefect's own servers offer for each kind of pool."""
    views = files("prefect") / "server/api/collections_data/views"
    collections = json.loads((views / "aggregate-worker-metadata.json").read_text())
    return {
        kind: worker["default_base_job_configuration"]
        for collection in collections.values()
        for kind, worker in collection.items()
    }


@pytest.mark.parametrize("kind", POOLS)
def test_prefect_takes_the_pool(kind):
    """The second half is what the server does, and only after it has stored the first."""
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
def test_what_a_pool_declares_it_uses(kind):
    used = {placeholder.name for placeholder in find_placeholders(POOLS[kind]["job_configuration"])}

    assert used == set(POOLS[kind]["variables"]["properties"])


@pytest.mark.parametrize("kind", POOLS)
def test_a_pool_sets_what_its_worker_knows(kind, official):
    newer = {"container_create_kwargs"}

    known = set(official[kind]["job_configuration"]) | newer
    assert set(POOLS[kind]["job_configuration"]) <= known


@pytest.mark.parametrize("kind", POOLS)
def test_a_flow_has_the_same_environment_wherever_it_runs(kind):
    environment = POOLS[kind]["variables"]["properties"]["env"]["default"]
    here = SERVICES["worker-cpu"]["environment"]
    (settings,) = (one["data"] for one in RESOURCES if one["kind"] == "ConfigMap")
    shared = {name: value for name, value in environment.items() if "SIGTERM" not in name}

    assert shared
    assert shared == {name: here.get(name) for name in shared}
    assert shared == {name: settings.get(name) for name in shared}
