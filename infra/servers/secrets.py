"""Passwords and keys: made up once, kept in a file that only its owner reads."""

import os
import secrets
from pathlib import Path

from pydantic import Field

from nmt_core.base import files
from nmt_core.base.config import Config, build


def _new() -> str:
    return secrets.token_hex(24)


class Secrets(Config):
    """Passwords and keys of servers and clients."""

    administrator: str = Field(default_factory=_new)
    """Of PostgreSQL's user postgres."""
    prefect: str = Field(default_factory=_new)
    """Of Prefect's role in PostgreSQL."""
    mlflow: str = Field(default_factory=_new)
    """Of MLflow's role in PostgreSQL."""
    key_id: str = Field(default_factory=_new)
    """Of the store."""
    key: str = Field(default_factory=_new)
    """Of the store, the secret half."""
    password: str = Field(default_factory=_new)
    """Password of the user admin, for Prefect, and for MLflow if other machines can reach it."""


def load_secrets(path: Path) -> Secrets:
    """Return the secrets in a file; missing ones are generated and added."""
    stored = files.read_json(path) if path.exists() else {}
    secrets = build(Secrets, stored, at=path.name)
    if secrets.model_dump() != stored:
        write_private(path, secrets.model_dump_json(indent=2) + "\n")
    return secrets


def write_private(path: Path, text: str) -> None:
    """Write a file that only we can read, at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        os.fsync(file.fileno())
    part.replace(path)
