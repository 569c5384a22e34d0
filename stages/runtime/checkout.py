"""Lock a checkout for one run at a time, and find the servers that its ``.env`` names.

A run with another params.yaml saves the present one first. If the run crashes, the next run in the
checkout restores the saved file before it reads anything.

While ``make server`` runs, addresses and passwords are in ``.env``; other machines need a copy of
that file. Prefect's own command reads it, too. MLflow's servers require a login, because every
account of a machine can reach its loopback address.
"""

import errno
import hashlib
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dotenv import dotenv_values

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from stages import paths

LOCK = Path(".dvc/tmp/flow.lock")

ASIDE = paths.DOWNLOADS / "params.aside.json"
"""File with the saved text of params.yaml, and the digest of its replacement."""


@contextmanager
def hold_checkout(say: Callable[[str], object]) -> Iterator[None]:
    """Hold the lock of the checkout; the system releases it when this process ends.

    Outside a project of DVC there is no lock. ``say`` receives a message while another run holds
    the lock, or if a crashed run left its params.yaml.
    """
    with ExitStack() as stack:
        if LOCK.parent.parent.is_dir():
            try:
                stack.enter_context(files.locked(LOCK, wait=False))
            except BlockingIOError:
                say(f"another run uses {Path.cwd()}; waiting until it ends")
                stack.enter_context(files.locked(LOCK))
            put_back(say)
        yield


def put_aside(replacement: str) -> None:
    """Save the text of params.yaml before a replacement is written."""
    text = paths.PARAMS.read_text(encoding="utf-8")
    files.write_json(ASIDE, {"text": text, "instead": digest_text(replacement)})


def put_back(say: Callable[[str], object] = lambda _: None) -> None:
    """Restore the saved params.yaml unless the file was edited since; send ``say`` a message."""
    if not ASIDE.exists():
        return
    aside = files.read_json(ASIDE)
    present = paths.PARAMS.read_text(encoding="utf-8") if paths.PARAMS.exists() else None
    if present is None or digest_text(present) == aside["instead"]:
        files.write_text(paths.PARAMS, aside["text"])
        say(f"{paths.PARAMS} was restored after a run that had replaced it")
    ASIDE.unlink()


def digest_text(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


PROGRAMS = ("AWS", "MLFLOW", "PREFECT")
"""Prefixes of the variables in ``.env``."""


def find_servers() -> None:
    """Load ``.env`` into the environment, except for programs that already have variables there.

    A mix of both could send the password of one server to another.
    """
    variables = {name: value for name, value in dotenv_values(paths.DOTENV).items() if value}
    for program in PROGRAMS:
        program_variables = {
            name: value for name, value in variables.items() if name.startswith(f"{program}_")
        }
        if not program_variables.keys() & os.environ.keys():
            os.environ |= program_variables


def find_server_python() -> str:
    """Return the Python for Prefect's and MLflow's servers: of ``make server``, or this one."""
    python = Path(sys.prefix, "servers", "bin", "python")
    return str(python) if python.exists() else sys.executable


def find_free_port(host: str, port: int = 0, *, name: str = "a server") -> int:
    """Return ``port`` if it is free, or any free port for 0.

    Raises:
        NmtError: if the server ``name`` cannot listen on it.
    """
    try:
        with socket.create_server((host, port)) as listener:
            number: int = listener.getsockname()[1]
            return number
    except OSError as error:
        reason = error.strerror
        if error.errno == errno.EADDRINUSE:
            reason = "another program uses it; stop it, or choose another port (0 for a free one)"
        raise NmtError(f"{name} cannot listen on {host}:{port}: {reason}") from None


USER = "admin"
LOGIN_SETTINGS = "logins.ini"

APPLICATION = Path(__file__).parents[2] / "infra/mlflow_app"
"""The folder of the application that checks logins and locations of artifacts."""

OPTIONS = ("--app-name=nmt", "--workers=1")
"""Options of a server that requires a login."""

LOGIN_SECONDS = 60
"""Seconds for which a correct login is cached; each check takes 0.1 s."""


def write_login_settings(folder: Path) -> None:
    """Write the settings of logins into a folder, which must be readable only by its user."""
    (folder / LOGIN_SETTINGS).write_text(
        f"[mlflow]\ndefault_permission = NO_PERMISSIONS\nauth_cache_ttl_seconds = {LOGIN_SECONDS}\n"
        f"database_uri = sqlite:///{folder / 'logins.db'}\n",
        encoding="utf-8",
    )


def list_login_variables(folder: Path, password: str) -> Mapping[str, str]:
    """Return the environment variables of a server that requires a login.

    The server stores a digest of the password in ``folder`` at its first start.
    """
    folders = [str(APPLICATION), os.environ.get("PYTHONPATH", "")]
    return {
        "MLFLOW_AUTH_ADMIN_USERNAME": USER,
        "MLFLOW_AUTH_ADMIN_PASSWORD": password,
        "MLFLOW_AUTH_CONFIG_PATH": str(folder / LOGIN_SETTINGS),
        "MLFLOW_FLASK_SERVER_SECRET_KEY": password,
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # unused processes
        "PYTHONPATH": os.pathsep.join(filter(None, folders)),
    }
