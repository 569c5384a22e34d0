"""The initial model of training: its source, and a copy of its required parts.

The copy has weights, shape, tokenizers and vocabularies.
"""

import shutil
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field
from typing_extensions import override

from nmt_core.base import seal
from nmt_core.base.errors import BundleError
from nmt_core.corpora.fetch.source import Checksum, ExternalFiles

NEEDED_FILES = ("model.safetensors", "model.json", "tokenizer", "vocabulary")
"""Required files and folders of an exported model."""

OTHER_FILES = ("corpora.json",)
"""Files that earlier exports lack."""


class NoInitialModel(ExternalFiles):
    """Weights are initialized at random."""

    kind: Literal["none"] = "none"
    """The tag of this choice."""


class BundleModel(ExternalFiles):
    """An exported model on this machine."""

    kind: Literal["bundle"]
    """The tag of this choice."""

    replay: float = Field(0.5, ge=0, lt=1)
    """Share of sampled pairs from the text that the model was trained on, as named in its export,
    against forgetting; 0 for none."""

    folder: Path
    """Folder of the export."""

    sha256: Checksum = ""
    """Digest of the model, as ``nmt verify`` shows it; ``python -m stages.configure`` fills it in.
    Empty accepts any."""

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
    """The tag of this choice."""

    replay: float = Field(0.5, ge=0, lt=1)
    """Share of sampled pairs from the text that the champion was trained on, 0 for none."""

    sha256: Checksum = ""
    """Digest of the version; retraining writes that of the present champion. Empty accepts any."""


InitialModelConfig = Annotated[
    NoInitialModel | BundleModel | ChampionModel, Field(discriminator="kind")
]
"""The source of the model that training starts from."""


def copy_initial_model(bundle: Path, folder: Path, *, sha256: str = "") -> dict[str, Any]:
    """Copy the parts of an exported model that training needs; return its identity.

    Raises:
        BundleError: if it is incomplete, altered, or another one.
    """
    seal.verify_bundle(bundle)
    digest = seal.digest_bundle(bundle)
    if sha256 not in ("", digest):
        raise BundleError(
            f"{bundle} holds another model than params.yaml says, SHA-256 {digest}; give the right "
            f"folder, or take this one: make repro"
        )
    for name in (*NEEDED_FILES, *(name for name in OTHER_FILES if (bundle / name).exists())):
        if (bundle / name).is_dir():
            shutil.copytree(bundle / name, folder / name)
        else:
            shutil.copyfile(bundle / name, folder / name)
    return {"bundle_sha256": digest}
