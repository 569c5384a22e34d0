"""Where Prefect, MLflow and the store are that this checkout works with.

As long as it runs, ``make server`` has its addresses and passwords in ``.env``; on other machines
a copy of that file serves. Prefect's own command reads it, too.
"""

import os
import socket

from dotenv import dotenv_values

from nmt_core.base.errors import NmtError
from stages import paths

PROGRAMS = ("AWS", "MLFLOW", "PREFECT")
"""How the variables begin that are ours."""


def find_servers() -> None:
    """Put what ``.env`` says into the environment, but nothing of a program that it speaks of.

    An address with the password of another server would tell that password to somebody else.
    """
    told = {name: value for name, value in dotenv_values(paths.DOTENV).items() if value}
    for program in PROGRAMS:
        theirs = {name: value for name, value in told.items() if name.startswith(f"{program}_")}
        if not theirs.keys() & os.environ.keys():
            os.environ |= theirs


def check_port(port: int) -> None:
    """Refuse a port of this machine that is taken.

    Raises:
        NmtError: naming what to choose.
    """
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError as error:
        raise NmtError(
            f"port {port} cannot be had ({error.strerror}); choose another: PORT={port + 1}"
        ) from None
