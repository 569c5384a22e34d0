"""Addresses of Prefect, MLflow and the file store of this checkout.

As long as it runs, ``make server`` has its addresses and passwords in ``.env``; on other machines
a copy of that file serves. Prefect's own command reads it, too.
"""

import os
import socket
import sys
from pathlib import Path

from dotenv import dotenv_values

from nmt_core.base.errors import NmtError
from stages import paths

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
