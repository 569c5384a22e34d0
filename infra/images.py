"""Build the images of infra/docker, start each once, and print its size.

Usage: python -m infra.images [NAME ...] [--base FOLDER]

NAME is a service in infra/compose.yaml. Docker builds the images, or buildah without a daemon.
"""

import json
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import httpx2
import typer
import yaml

from flows.entry import report_errors
from infra.servers.server import LOOPBACK, Server
from nmt_core.base.errors import NmtError
from stages.runtime.checkout import find_free_port

COMMANDS = {
    "translate": "serve --model /models/champion",
    "prefect": "prefect server start",
    "mlflow": "mlflow server --app-name nmt",
    "worker-cpu": "sh -c 'prefect version && python -c \"import torch; print(torch.__version__)\"'",
    "store": "version",
}
HEALTH = {"translate": "/health", "prefect": "/api/ready", "mlflow": "/health"}
"""Paths of the servers' health checks; the other images run a program that ends."""

SECRETS = ("MLFLOW_AUTH_ADMIN_PASSWORD", "MLFLOW_FLASK_SERVER_SECRET_KEY")
FOLDER = Path("servers/images")
BUILDAH = ("--isolation=chroot", "--network=host")
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"


def run(*command: str | Path) -> str:
    """Return the output of a program; raise a ``NmtError`` with its end if the program fails."""
    done = subprocess.run(command, check=False, text=True, stdout=-1, stderr=subprocess.STDOUT)
    if done.returncode:
        raise NmtError(f"{' '.join(map(str, command))} failed: ...{done.stdout[-2000:]}")
    return done.stdout


def succeeds(*command: str) -> bool:
    """Return whether a program is installed and succeeds."""
    with suppress(OSError, NmtError):
        return bool(run(*command))
    return False


def list_bases(dockerfile: str, target: str = "") -> list[str]:
    """Return the images that a Dockerfile takes from registries, up to its target."""
    stages = re.split(rf" AS {target}\n", Path(dockerfile).read_text("utf-8"))
    return sorted(set(re.findall(r"^(?:FROM |COPY --from=)(\S+:\S+)", stages[0], re.MULTILINE)))


def make_bases(tool: str, folder: Path) -> None:
    """Make the images of Python and uv from a Debian in ``folder`` and this environment's uv."""
    if not (folder / "usr/bin/python").exists():
        packages = "--include=python3,ca-certificates"
        run("debootstrap", "--variant=minbase", packages, "bookworm", folder.resolve())
        # the official image has a program python, and lets uv install into its system
        (folder / "usr/bin/python").symlink_to("python3")
        next(folder.glob("usr/lib/python3.*/EXTERNALLY-MANAGED")).unlink()
    shutil.copy(f"/{CERTIFICATES}", folder / CERTIFICATES)
    uv, python = list_bases("infra/docker/Dockerfile.translate")
    for tag, parent, name in ((uv, Path(sys.executable).parent, "uv"), (python, folder, ".")):
        skip = "--exclude=./dev/*", "--exclude=./var/cache/*"
        run("tar", "-cf", FOLDER / "base.tar", *skip, "-C", parent, name)
        change = f"--change=ENV SSL_CERT_FILE=/{CERTIFICATES}"
        run({"buildah": "podman"}.get(tool, tool), "import", change, FOLDER / "base.tar", tag)
    (FOLDER / "base.tar").unlink()


def start(tool: str, name: str, tag: str, model: Path) -> str:
    """Start an image on this machine's network, and return its answer."""
    git, revision = run("git", "rev-parse", "--git-common-dir", "HEAD").split()
    project = [f"--volume={Path(git).resolve()}:/git:ro", "--env=NMT_REPOSITORY=/git"]
    options = {
        "translate": [f"--volume={model.resolve()}:/models/champion:ro"],
        "mlflow": [f"--env={key}={secrets.token_hex()}" for key in SECRETS],
        "worker-cpu": [*project, f"--env=NMT_REVISION={revision}"],
    }.get(name, [])
    words, port = shlex.split(COMMANDS[name]), find_free_port(LOOPBACK)
    words += [f"--host={LOOPBACK}", f"--port={port}"] if name in HEALTH else []
    command = [shutil.which(tool) or tool, "run", *options]
    if tool == "docker":
        return ask(name, port, [*command, "--rm", "--network=host", tag, *words])
    config = json.loads(run(tool, "inspect", "--type=image", tag))["OCIv1"]["config"]
    container = run(tool, "from", "--pull=never", tag).split()[-1]
    words = [container, "--", *config.get("Entrypoint", ()), *words]
    try:
        return ask(name, port, [*command, *BUILDAH, *words])
    finally:
        run(tool, "rm", container)


def ask(name: str, port: int, command: list[str]) -> str:
    """Return the last word of a program, or the answer of a server, which is stopped then."""
    if name not in HEALTH:
        return run(*command).split()[-1]
    server = Server(name, FOLDER / name, LOOPBACK, port, command, {}, HEALTH[name])
    try:
        server.launch()
        server.wait()
        if name != "translate":
            return f"{HEALTH[name]} answers"
        question = {"q": "Guten Morgen!", "source": "auto", "target": "en"}
        answer = httpx2.post(f"{server.address}/translate", json=question, timeout=60)
        return str(answer.raise_for_status().json()["translatedText"])
    finally:
        server.stop()


def check(tool: str, name: str, model: Path, wheels: Path | None) -> str:
    """Build and start an image; return its size, the seconds of both, and its answer."""
    begin = time.monotonic()
    compose = yaml.safe_load(Path("infra/compose.yaml").read_text("utf-8"))
    tag, recipe = (compose["services"][name][key] for key in ("image", "build"))
    file, target = recipe["dockerfile"], recipe.get("target", "")
    for base in list_bases(file, target):
        if not succeeds(tool, "inspect", "--type=image", base) and not succeeds(tool, "pull", base):
            return f"skipped: {base} cannot be pulled"
    options = [f"--file={file}", f"--target={target}", f"--tag={tag}"]
    if tool == "buildah":
        options += [*BUILDAH, "--format=docker", "--layers", "--pull=never"]
        if wheels:
            options += [f"--volume={wheels}:{wheels}:ro", f"--build-arg=UV_FIND_LINKS={wheels}"]
    run(tool, "build", *options, ".")
    built = time.monotonic()
    answer = start(tool, name, tag, model)
    size = run(tool, "images", "--format={{.Size}}", tag).strip()
    seconds = f"{built - begin:.0f} s to build, {time.monotonic() - built:.0f} s to start"
    return f"{size}, {seconds}: {answer}"


def main(
    names: Annotated[list[str] | None, typer.Argument(help="services; default: all")] = None,
    *,
    base: Annotated[Path | None, typer.Option(help="Debian folder, created if missing")] = None,
    model: Annotated[Path, typer.Option(help="export to serve")] = Path("models/export"),
    wheels: Annotated[Path | None, typer.Option(envvar="PIP_FIND_LINKS")] = None,
) -> None:
    """Build and start images. --base replaces images of registries; --wheels is for buildah."""
    with report_errors():
        if unknown := set(names or ()) - set(COMMANDS):
            raise NmtError(f"no image is named {min(unknown)}; choose from {', '.join(COMMANDS)}")
        tool = next((each for each in ("docker", "buildah") if succeeds(each, "info")), "")
        if not tool:
            raise NmtError(
                "Docker and buildah do not work here; install one: apt-get install buildah"
            )
        FOLDER.mkdir(parents=True, exist_ok=True)
        if base:
            make_bases(tool, base)
        for name in names or COMMANDS:
            typer.echo(f"{name}: {check(tool, name, model, wheels)}")


if __name__ == "__main__":
    typer.run(main)
