"""The initial model of training: its source, and a copy of its required parts.

The copy has weights, shape, tokenizers and vocabularies. Weights and shape of a language model lie
in a folder named after the half of a translator that starts from it.
"""

import shutil
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from nmt_core.base import files, seal
from nmt_core.base.errors import BundleError
from nmt_core.corpora.fetch.source import Checksum, ExternalFiles
from nmt_core.text.vocabulary import Vocabulary

LANGUAGE_MODEL_KINDS = {"encoder": "masked", "decoder": "transformer"}
"""The kind of language model that each half of a translator starts from."""

NEEDED_FILES = ("model.safetensors", "model.json", "tokenizer", "vocabulary")
"""Required files and folders of an exported model."""

OTHER_FILES = ("corpora.json",)
"""Files that earlier exports lack."""


class NoInitialModel(ExternalFiles):
    """Weights are initialized at random."""

    kind: Literal["none"] = "none"
    """The tag of this choice."""


class ReplayedModel(ExternalFiles):
    """A finished model that training continues from."""

    replay: float = Field(0.5, ge=0, lt=1)
    """Share of sampled pairs from the text that the model was trained on, as named in its export,
    against forgetting; 0 for none."""


class BundleModel(ReplayedModel):
    """An exported model on this machine."""

    kind: Literal["bundle"]
    """The tag of this choice."""

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


class ChampionModel(ReplayedModel):
    """The champion of the registry."""

    kind: Literal["champion"]
    """The tag of this choice."""

    sha256: Checksum = ""
    """Digest of the version; retraining writes that of the present champion. Empty accepts any."""


class LanguageModels(ExternalFiles):
    """Language models of ``nmt learn``, of the same shape and subwords."""

    kind: Literal["language_models"]
    """The tag of this choice."""

    encoder: Path | None = None
    """A masked one of source text, from which the encoder starts; null for a random one."""

    decoder: Path | None = None
    """A Transformer of target text, from which the decoder starts; null for a random one."""

    encoder_sha256: Checksum = ""
    """Digest of the encoder; ``python -m stages.configure`` fills it in. Empty accepts any."""

    decoder_sha256: Checksum = ""
    """Digest of the decoder."""

    @model_validator(mode="after")
    def _check(self) -> "LanguageModels":
        if not self.halves:
            raise ValueError("name a language model for encoder, decoder or both")
        return self

    @property
    def halves(self) -> dict[str, tuple[Path, str]]:
        """Folder and digest of each model, by the half of a translator."""
        both = {"encoder": self.encoder, "decoder": self.decoder}
        return {
            half: (folder, getattr(self, f"{half}_sha256"))
            for half, folder in both.items()
            if folder is not None
        }

    @override
    def pins(self) -> dict[str, str]:
        return {str(folder): digest for folder, digest in self.halves.values()}

    @override
    def pinned(self) -> Self:
        digests = {}
        for half, (folder, _) in self.halves.items():
            seal.read_manifest(folder, known=seal.LANGUAGE_MODEL)
            digests[f"{half}_sha256"] = seal.digest_bundle(folder)
        return self.model_copy(update=digests)

    @override
    def absolute(self) -> Self:
        folders = {half: folder.absolute() for half, (folder, _) in self.halves.items()}
        return self.model_copy(update=folders)


InitialModelConfig = Annotated[
    NoInitialModel | BundleModel | ChampionModel | LanguageModels, Field(discriminator="kind")
]
"""The source of the model that training starts from."""


def copy_initial_model(bundle: Path, folder: Path, *, sha256: str = "") -> dict[str, Any]:
    """Copy the parts of an exported model that training needs; return its identity.

    Raises:
        BundleError: if it is incomplete, altered, or another one.
    """
    seal.verify_bundle(bundle)
    digest = check_digest(bundle, sha256)
    for name in (*NEEDED_FILES, *(name for name in OTHER_FILES if (bundle / name).exists())):
        if (bundle / name).is_dir():
            shutil.copytree(bundle / name, folder / name)
        else:
            shutil.copyfile(bundle / name, folder / name)
    return {"bundle_sha256": digest}


def copy_language_models(models: LanguageModels, folder: Path) -> dict[str, Any]:
    """Copy the parts of language models that training needs; return their identities.

    Raises:
        BundleError: if one is incomplete, altered, another one or of another kind, or has other
            tokens than subwords or than the other model.
    """
    origin: dict[str, Any] = {}
    tokens: list[str] = []
    for half, (bundle, sha256) in models.halves.items():
        seal.verify_bundle(bundle, known=seal.LANGUAGE_MODEL)
        digest = check_digest(bundle, sha256)
        kind = files.read_json(bundle / "model.json")["kind"]
        if kind != LANGUAGE_MODEL_KINDS[half] or not (bundle / "tokenizer").is_dir():
            raise BundleError(
                f"no {half} can start from {bundle}; learn it by nmt learn --kind "
                f"{LANGUAGE_MODEL_KINDS[half]} --unit subword --tokens-of a translator"
            )
        words = files.read_json(bundle / "vocabulary.json")
        if tokens not in ([], words):
            raise BundleError(
                f"{bundle} has other tokens than the language model of the encoder; learn both "
                f"with the --tokens-of one translator"
            )
        tokens = words
        (folder / half).mkdir()
        for name in ("model.safetensors", "model.json"):
            shutil.copyfile(bundle / name, folder / half / name)
        origin[half] = {"folder": str(bundle), "bundle_sha256": digest}
    (folder / "vocabulary").mkdir()
    for side in ("source", "target"):
        shutil.copytree(bundle / "tokenizer", folder / "tokenizer" / side)
        Vocabulary(tokens).save(folder / "vocabulary" / f"{side}.txt")
    return origin


def check_digest(bundle: Path, sha256: str) -> str:
    """Return the digest of a bundle.

    Raises:
        BundleError: if it is not the required one.
    """
    digest = seal.digest_bundle(bundle)
    if sha256 not in ("", digest):
        raise BundleError(
            f"{bundle} holds another model than params.yaml says, SHA-256 {digest}; give the right "
            f"folder, or take this one: make repro"
        )
    return digest
