"""The sealed export of this checkout, with the tags for its registered version."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nmt_core.base import files, seal
from nmt_core.base.errors import BundleError
from nmt_core.base.languages import Languages
from nmt_core.evaluation import gate
from nmt_core.evaluation.registry import load_metric
from stages import paths
from stages.params import DownloadParams
from stages.paths import Inputs
from stages.reporting.download_report import CorpusDescription, DownloadReport
from stages.reporting.evaluation import Evaluation
from stages.tracking.journal import BUNDLE_DIGEST

ARCHITECTURE, CORPUS, PAIRS, TEST_SET = "architecture", "corpus", "pairs", "test_set"
"""Names of tags of a version: its architecture, its training text and its test set."""


class HeldOut(NamedTuple):
    """Sentences and references of a test set."""

    sources: list[str]
    references: list[str]
    directions: tuple[str, ...] = ()
    """The direction of each sentence, of a multilingual model."""

    @property
    def digest(self) -> str:
        """The digest of the test set."""
        return gate.digest_test_set(self.sources, self.references)


@dataclass(frozen=True)
class Exported:
    """A sealed export, ready to be registered."""

    folder: Path
    name: str
    """Name of the registered model."""
    languages: Languages
    """Source and target language."""
    held_out: HeldOut
    """The test set of its evaluation."""
    tags: dict[str, str]
    """Tags of its registered version; see ``read_exported``."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its run."""
        return self.tags["fingerprint"]

    @property
    def digest(self) -> str:
        """The digest of the export."""
        return self.tags[BUNDLE_DIGEST]


def model_name(languages: Languages) -> str:
    """Return the name of the registered model of a language pair."""
    return f"nmt-{languages.source}-{languages.target}"


def read_held_out() -> HeldOut:
    """Return the test set of this checkout."""
    source, target = (list(files.read_lines(paths.CORPUS / f"test.{side}")) for side in paths.SIDES)
    inputs = Inputs(directions=paths.read_directions(paths.CORPUS))
    return HeldOut(source, target, tuple(map(str, paths.list_directions(inputs, "test"))))


def read_described() -> CorpusDescription:
    """Return the download stage's description of the text.

    Raises:
        BundleError: if an earlier version wrote the report, without a description.
    """
    report = paths.REPORTS / "download.json"
    if (described := DownloadReport.read(report).corpus) is None:
        raise BundleError(f"{report} was written by an earlier version; run: make repro")
    return described


def describe_test_set(
    held_out: HeldOut, described: CorpusDescription, *, metric: str, language: str
) -> dict[str, str]:
    """Return the tags of a version by which its test is compared with that of another version.

    ``metric`` is the gate's first metric, and ``language`` is the target language's code.
    """
    return {
        TEST_SET: held_out.digest,
        "held_out": described.held_out,
        "signature": load_metric(metric, language).signature,
    }


def read_exported(download: DownloadParams) -> Exported:
    """Return the export of this checkout with the tags of its version.

    Raises:
        BundleError: if there is no export, or an earlier version wrote the report on its text.
    """
    try:
        record = files.read_json(paths.TRAINED / "training.json")
        held_out = read_held_out()
        language = download.languages.target
        scores = Evaluation.read(paths.REPORTS / "evaluate.json").scores
        described = read_described()
        return Exported(
            folder=paths.EXPORT,
            name=model_name(download.languages),
            languages=download.languages,
            held_out=held_out,
            tags={
                "fingerprint": record["fingerprint"],
                BUNDLE_DIGEST: seal.digest_bundle(paths.EXPORT),
                ARCHITECTURE: record["params"]["model"]["architecture"],
                CORPUS: described.kind,
                PAIRS: f"{files.read_json(paths.CORPUS / 'corpus.json')['pairs']['train']:,}",
                **describe_test_set(
                    held_out, described, metric=next(iter(scores)), language=language
                ),
                **{name: f"{score.value:.2f}" for name, score in scores.items()},
            },
        )
    except FileNotFoundError as error:
        raise BundleError(f"{error.filename} is missing; run: make repro") from None
