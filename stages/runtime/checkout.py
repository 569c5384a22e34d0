"""Lock a checkout for one run at a time, and find the servers that its ``.env`` names.

A run that needs another params.yaml puts the present one aside. If it crashes, the next run in the
checkout puts the first one back, before anything is read.

While it runs, ``make server`` keeps its addresses and passwords in ``.env``; on other machines a
copy of that file serves. Prefect's own command reads it, too. MLflow's servers require a login,
because every account of a machine reaches its loopback address.
"""

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
"""The text that was put aside, and the digest of the text that took its place."""


@contextmanager
def hold_checkout(say: Callable[[str], object]) -> Iterator[None]:
    """Hold the lock of the checkout; the system releases it when this process ends.

    Outside a project of DVC there is no lock. ``say`` takes a message if another run must be waited
    for, or has left its params.yaml.
    """
    with ExitStack() as stack:
        if LOCK.parent.parent.is_dir():
            try:
                stack.enter_context(files.locked(LOCK, wait=False))
            except BlockingIOError:
                say(f"another run works in {Path.cwd()}; this one begins when it has ended")
                stack.enter_context(files.locked(LOCK))
            put_back(say)
        yield


def put_aside(replacement: str) -> None:
    """Keep the text of params.yaml, which a replacement is to take the place of."""
    text = paths.PARAMS.read_text(encoding="utf-8")
    files.write_json(ASIDE, {"text": text, "instead": _digest(replacement)})


def put_back(say: Callable[[str], object] = lambda _: None) -> None:
    """Put back the text that was put aside, unless params.yaml was edited since; tell ``say``."""
    if not ASIDE.exists():
        return
    aside = files.read_json(ASIDE)
    present = paths.PARAMS.read_text(encoding="utf-8") if paths.PARAMS.exists() else None
    if present is None or _digest(present) == aside["instead"]:
        files.write_text(paths.PARAMS, aside["text"])
        say(f"{paths.PARAMS} is again as it was before a run that needed another one")
    ASIDE.unlink()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


PROGRAMS = ("AWS", "MLFLOW", "PREFECT")
"""Prefix of our variables."""


def find_servers() -> None:
    """Read ``.env`` into the environment, but not for programs that already have variables there.

    An address with the password of another server would send that password elsewhere.
    """
    variables = {name: value for name, value in dotenv_values(paths.DOTENV).items() if value}
    for program in PROGRAMS:
        theirs = {
            name: value for name, value in variables.items() if name.startswith(f"{program}_")
        }
        if not theirs.keys() & os.environ.keys():
            os.environ |= theirs


def find_server_python() -> str:
    """Return the Python of Prefect's and MLflow's servers: of ``make server``, or this one."""
    own = Path(sys.prefix, "servers", "bin", "python")
    return str(own) if own.exists() else sys.executable


def check_port(port: int) -> None:
    """Refuse a port of this machine that is taken.

    Raises:
        NmtError: naming the setting to change.
    """
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError as error:
        raise NmtError(
            f"port {port} cannot be had ({error.strerror}); choose another: PORT={port + 1}"
        ) from None


USER = "admin"
LOGIN_SETTINGS = "logins.ini"

APPLICATION = Path(__file__).parents[2] / "infra/mlflow_app"
"""The folder of the application that checks logins and locations of artifacts."""

OPTIONS = ("--app-name=nmt", "--workers=1")
"""Options of a server that requires a login."""

LOGIN_SECONDS = 60
"""Seconds for which a correct login is not checked again; each check takes 0.1 s."""


def write_login_settings(folder: Path) -> None:
    """Write the settings of logins into a folder that the server's user alone can read."""
    (folder / LOGIN_SETTINGS).write_text(
        f"[mlflow]\ndefault_permission = NO_PERMISSIONS\nauth_cache_ttl_seconds = {LOGIN_SECONDS}\n"
        f"database_uri = sqlite:///{folder / 'logins.db'}\n",
        encoding="utf-8",
    )


def list_login_variables(folder: Path, password: str) -> Mapping[str, str]:
    """Return the variables of a server that requires a login.

    The first start keeps a digest of the password in the folder of settings.
    """
    folders = [str(APPLICATION), os.environ.get("PYTHONPATH", "")]
    return {
        "MLFLOW_AUTH_ADMIN_USERNAME": USER,
        "MLFLOW_AUTH_ADMIN_PASSWORD": password,
        "MLFLOW_AUTH_CONFIG_PATH": str(folder / LOGIN_SETTINGS),
        "MLFLOW_FLASK_SERVER_SECRET_KEY": password,
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # processes that nothing here uses
        "PYTHONPATH": os.pathsep.join(filter(None, folders)),
    }
