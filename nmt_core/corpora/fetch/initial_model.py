"""The initial model of training: settings of its source, and a copy of its required files."""

import shutil
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field
from typing_extensions import override

from nmt_core.base import seal
from nmt_core.base.errors import BundleError
from nmt_core.corpora.fetch.source import Checksum, ExternalFiles

REQUIRED_FILES = ("model.safetensors", "model.json", "tokenizer", "vocabulary", "corpora.json")
"""Files and folders of an exported model that training requires."""


class NoInitialModel(ExternalFiles):
    """Random initialization."""

    kind: Literal["none"] = "none"
    """Kind of the initial model."""


class BundleModel(ExternalFiles):
    """An exported model on this machine."""

    kind: Literal["bundle"]
    """Kind of the initial model."""

    replay: float = Field(0.5, ge=0, lt=1)
    """Share of sampled pairs from the text that the model was trained on, against forgetting; the
    export describes this text. 0 turns replay off."""

    folder: Path
    """Folder of the export."""

    sha256: Checksum = ""
    """Digest of the model, as ``nmt verify`` prints it; empty accepts any. ``python -m
    stages.configure`` fills it in."""

    @override
    def pins(self) -> dict[str, str]:
        return {str(self.folder): self.sha256}

    @override
    def pinned(self) -> Self:
        seal.read_manifest(self.folder)
        return self.model_copy(update={"sha256": seal.digest_bundle(self.folder)})

    @override
    def absolute(self) -> Self:
        return self.model_copy(update={"folder": self.folder.absolute()})


class ChampionModel(ExternalFiles):
    """The champion of the registry."""

    kind: Literal["champion"]
    """Kind of the initial model."""

    replay: float = Field(0.5, ge=0, lt=1)
    """Share of sampled pairs from the text that the champion was trained on; 0 turns replay off."""

    sha256: Checksum = ""
    """Digest of the version; empty accepts any. Retraining writes that of the current champion."""


InitialModelConfig = Annotated[
    NoInitialModel | BundleModel | ChampionModel, Field(discriminator="kind")
]
"""The source of the model that training starts from."""


def copy_initial_model(bundle: Path, folder: Path, *, sha256: str = "") -> dict[str, Any]:
    """Copy the files of an exported model that training requires; return the model's digest.

    Raises:
        BundleError: if the model is incomplete or altered, or has another digest than ``sha256``.
    """
    seal.verify_bundle(bundle)
    digest = seal.digest_bundle(bundle)
    if sha256 not in ("", digest):
        raise BundleError(
            f"{bundle} has the SHA-256 {digest}, which differs from params.yaml; set the right "
            f"folder, or accept this model: make repro"
        )
    for name in REQUIRED_FILES:
        if (bundle / name).is_dir():
            shutil.copytree(bundle / name, folder / name)
        else:
            shutil.copyfile(bundle / name, folder / name)
    return {"bundle_sha256": digest}
