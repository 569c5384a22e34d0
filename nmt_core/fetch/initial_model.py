"""A finished model to start training from: where it comes from, and a copy of what is needed of it.

Written is what training reads: weights, shape, tokenizers and vocabularies, and, in
``initial_model.json``, which model it is.
"""

import shutil
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field
from typing_extensions import override

from nmt_core import seal
from nmt_core.errors import BundleError
from nmt_core.fetch.settings import Checksum, Pinnable

NEEDED = ("model.safetensors", "model.json", "tokenizer", "vocabulary")
"""Files and folders of an exported model that training starts from."""


class NoInitialModel(Pinnable):
    """Weights are drawn by chance."""

    kind: Literal["none"] = "none"
    """The tag of this choice."""


class BundleModel(Pinnable):
    """An exported model that is on this machine."""

    kind: Literal["bundle"]
    """The tag of this choice."""

    folder: Path
    """What ``make repro`` exported, or anybody else."""

    sha256: Checksum = ""
    """Digest of the model, as ``nmt verify`` shows it; ``python -m stages.configure`` fills it in,
    so that DVC sees a change. Empty takes any."""

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


class ChampionModel(Pinnable):
    """The champion of the registry."""

    kind: Literal["champion"]
    """The tag of this choice."""

    sha256: Checksum = ""
    """Digest of the version; ``python -m stages.configure.refresh``, and with it retraining, writes
    that of the champion of now. Empty takes whichever is champion."""


InitialModelConfig = Annotated[
    NoInitialModel | BundleModel | ChampionModel, Field(discriminator="kind")
]
"""Where a model to start from comes from."""


def copy_initial_model(bundle: Path, folder: Path, *, sha256: str = "") -> dict[str, Any]:
    """Copy what training needs of an exported model; return what the model is known by.

    Args:
        bundle: the exported model.
        folder: where to.
        sha256: the digest that it must have; empty takes any.

    Raises:
        BundleError: if it is incomplete, altered, or another one.
    """
    seal.verify_bundle(bundle)
    digest = seal.digest_bundle(bundle)
    if sha256 not in ("", digest):
        raise BundleError(
            f"{bundle} holds another model than params.yaml says, SHA-256 {digest}; give the right "
            f"folder, or let python -m stages.configure.refresh take this one"
        )
    for name in NEEDED:
        if (bundle / name).is_dir():
            shutil.copytree(bundle / name, folder / name)
        else:
            shutil.copyfile(bundle / name, folder / name)
    return {"bundle_sha256": digest}
