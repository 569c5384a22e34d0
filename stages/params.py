"""The sections of params.yaml as types, one per stage, each composed of the library's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from nmt_core.base import config, files
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError, suggest
from nmt_core.base.jobs import WorkersConfig
from nmt_core.corpora.fetch.address import redact
from nmt_core.corpora.fetch.initial_model import BundleModel, InitialModelConfig, NoInitialModel
from nmt_core.corpora.fetch.source import Checksum, HttpConfig
from nmt_core.corpora.fetch.vectors import NoVectors, VectorsConfig
from nmt_core.corpora.named import CORPORA, CorporaConfig, check_corpora
from nmt_core.corpora.splitting import NearDuplicateConfig, SplitConfig
from nmt_core.data.settings import (
    AugmentationConfig,
    BatchingConfig,
    GivenVectors,
    LearnedEmbeddings,
    MixtureConfig,
    TrainedVectors,
)
from nmt_core.evaluation.registered import DEFAULT_METRICS, METRICS, SliceBounds
from nmt_core.models.settings import ModelConfig
from nmt_core.search.engine import Precision
from nmt_core.search.settings import BeamConfig
from nmt_core.text.aligner.pieces import ShortlistConfig
from nmt_core.text.subword_sampling import SubwordSampling
from nmt_core.text.subwords import SubwordConfig
from nmt_core.training.settings import (
    Budget,
    ModelPart,
    OptimizerConfig,
    ScheduleConfig,
    TrainingConfig,
    WorldConfig,
)
from stages import paths
from stages.runtime.params_file import read

CORPORA.add(demo="stages.demo.corpus:DemoCorpus")


class DownloadParams(CorporaConfig):
    """The corpora and the word vectors, and their filters."""

    split: SplitConfig = SplitConfig()
    """Split of validation and test, if no corpus brings them."""

    near_duplicates: NearDuplicateConfig = NearDuplicateConfig()
    """Near duplicates of validation and test, which leave train."""

    vectors: VectorsConfig = NoVectors(kind="none")
    """Where pre-trained word vectors come from."""

    initial_model: InitialModelConfig = NoInitialModel()
    """A finished model to start training from."""

    http: HttpConfig = HttpConfig()
    """Timeouts and retries of downloads."""

    def pins(self) -> dict[str, str]:
        """Return the digests of the user's own files, by path."""
        owners = (*self.corpora.values(), self.initial_model)
        return {path: digest for owner in owners for path, digest in owner.pins().items()}

    def pinned(self) -> Self:
        """Return the same with the present digests of those files.

        Raises:
            CorpusError: if a file cannot be read.
            BundleError: if there is no model to start from.
        """
        return self._change_owners(lambda owner: owner.pinned())

    def absolute(self) -> Self:
        """Return the same with paths that lead to those files from any folder."""
        return self._change_owners(lambda owner: owner.absolute())

    def _change_owners(self, change: Callable[[Any], Any]) -> Self:
        """Change all settings that may name the user's own files."""
        corpora = {name: change(corpus) for name, corpus in self.corpora.items()}
        start = change(self.initial_model)
        return self.model_copy(update={"corpora": corpora, "initial_model": start})

    @model_validator(mode="after")
    def _check(self) -> "DownloadParams":
        check_corpora(self.corpora, self.languages)
        start = self.initial_model
        if isinstance(start, BundleModel) and start.folder.absolute() == paths.EXPORT.absolute():
            raise ValueError(
                f"initial_model.folder {start.folder} is what this project exports, so training "
                f"would start from its own result; copy it: cp -r {paths.EXPORT} models/initial"
            )
        return self


class TokenizeParams(Config):
    """The tokenizers."""

    kind: Literal["sentencepiece", "spacy", "characters", "initial_model"] = "sentencepiece"
    """Subwords by SentencePiece; words by spaCy as in van der Goten 2018: letters, full stops and
    commas in lower case; characters, of which a line has some four times as many as subwords, so
    that ``shard.max_length`` and ``evaluate.beam.max_length`` may have to be raised; or the
    tokens of the initial model."""

    numbers: Literal["keep", "drop"] = "keep"
    """Whether spaCy's words include words with a digit, which van der Goten 2018 drops. Used with
    spaCy only."""

    subwords: SubwordConfig = SubwordConfig()
    """Settings of SentencePiece."""

    @property
    def joint(self) -> bool:
        """Tells whether both languages share one vocabulary."""
        return self.kind in ("characters", "initial_model") or (
            self.kind == "sentencepiece" and self.subwords.joint
        )


class VocabularyParams(Config):
    """The vocabularies of words or characters; subwords bring their own."""

    words: Literal["corpus", "vectors", "initial_model"] = "corpus"
    """The most frequent words of the training text, or of the downloaded vectors; or those of the
    model that training starts from."""

    max_size: int = Field(100_000, ge=1, le=10_000_000)
    """Words per language, reserved tokens not counted."""

    min_count: int = Field(1, ge=1)
    """Occurrences in the training text below which a word is unknown."""


class EmbeddingsParams(Config):
    """The pretrained vectors of the model's embeddings."""

    vectors: Annotated[
        LearnedEmbeddings | TrainedVectors | GivenVectors, Field(discriminator="kind")
    ] = LearnedEmbeddings()
    """None, trained here by fastText, or those of the download stage."""

    frozen: bool = True
    """Keep the vectors as they are while the model trains, as in van der Goten 2018; moot without
    any."""

    seed: int = Field(1, ge=0)
    """Draws the vectors of the start and the end of a sentence."""


class ShardParams(Config):
    """The shards of numbered pairs."""

    pairs_per_shard: int = Field(100_000, ge=1, le=100_000_000)
    """Sentence pairs per shard; memory holds one shard while it is written."""

    max_length: int = Field(200, ge=1, le=1_000_000)
    """Tokens on either side above which a training pair is left out."""


class TrainParams(Config):
    """The model and its training."""

    seed: int = Field(1, ge=0)
    """Decides initial weights, dropout and the order of the data."""

    compute: WorldConfig = WorldConfig()
    """Device, precision and number of processes."""

    model: ModelConfig
    """The architecture and its shape."""

    initial_parts: list[ModelPart] = Field(["embeddings", "encoder", "decoder"], min_length=1)
    """What to start from ``download.initial_model``, where there is one: the others start from
    chance. The output is one of the embeddings."""

    initial_share: float = Field(0.0, ge=0, lt=1)
    """Share of the initial model in an average with the trained one (Wortsman et al. 2022), which
    forgets less. Validations before the end measure the weights as trained."""

    mixture: MixtureConfig = MixtureConfig()
    """The shares of several corpora, and when which of them are read."""

    batching: BatchingConfig
    """Batches of pairs."""

    subword_sampling: SubwordSampling = SubwordSampling()
    """Whether training pairs are cut into other subwords in every epoch."""

    augmentation: AugmentationConfig = AugmentationConfig()
    """Share of the training pairs that each modifier changes, such as typing errors."""

    optimizer: OptimizerConfig
    """The optimizer."""

    schedule: ScheduleConfig
    """The learning rate, step by step."""

    budget: Budget
    """When training ends; schedules that end, end there."""

    training: TrainingConfig
    """Loss, validation and checkpoints."""

    @property
    def follows_budget(self) -> list[str]:
        """The settings that make updates depend on the used share of the budget."""
        follows = {
            "a warmup_decay schedule": self.schedule.kind == "warmup_decay",
            "scheduled_sampling": self.training.scheduled_sampling.shape != "none",
        }
        return [name for name, does in follows.items() if does]

    @model_validator(mode="after")
    def _check(self) -> "TrainParams":
        for name in self.follows_budget:
            if not self.budget.ends_schedules:
                raise ValueError(f"{name} needs budget.steps, budget.tokens or .seconds")
        select_by = self.training.select_by
        if select_by != "loss" and select_by not in METRICS:
            known = suggest(select_by, ["loss", *METRICS])
            raise ValueError(f"training.select_by {select_by!r} is not a metric; {known}")
        return self


class EvaluateParams(Config):
    """Translation and scores of the test set."""

    beam: BeamConfig = BeamConfig()
    """Settings of search; exported as the model's own defaults."""

    choose_length_penalty: bool = True
    """Try other length penalties on 500 validation sentences where translations are too short or
    too long, and take the one with the best score; false takes that of ``beam`` in any case."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to compute, in float32 as the exported model will; auto takes a GPU if there is one."""

    threads: int = Field(0, ge=0, le=4096)
    """Processor threads; 0 takes all."""

    batch_tokens: int = Field(2048, ge=1, le=1_000_000)
    """Padded source tokens per batch while translating."""

    metrics: list[Annotated[str, AfterValidator(METRICS.check)]] = Field(
        DEFAULT_METRICS, min_length=1
    )
    """Metrics, the most important first."""

    resamples: int = Field(1000, ge=0, le=1_000_000)
    """Bootstrap resamples behind each confidence interval; 0 for none."""

    good_chrf: float = Field(50.0, gt=0, lt=100)
    """chrF beside its reference from which on a sentence counts as translated well; the confidence
    of a translation is the probability of that, fitted on at most 2,000 validation sentences."""

    good_share: float = Field(0.5, ge=0, le=1)
    """Share of the test sentences that must be translated well for the report to call the model
    ready; what that is depends on what it is meant for."""

    examples: int = Field(5, ge=0, le=10_000)
    """Translations shown beside their references, drawn at random."""

    pictures: int = Field(3, ge=0, le=10_000)
    """Sentences whose attention is drawn."""

    seed: int = Field(1, ge=0)
    """Random seed of the drawn examples."""


class ExportParams(Config):
    """Further content of the sealed folder beside the model."""

    golden_sentences: int = Field(20, ge=1, le=10_000)
    """Test sentences stored with their expected translation, to prove a copy of the model right."""

    engines: tuple[Precision, ...] = ("int8",)
    """Precisions of the additional export for a faster engine: ``int8``, ``float32``.
    The engine is CTranslate2, for Transformers that it can express; PyTorch alone translates with
    all other models. Each must translate validation text as well as PyTorch; where int8 loses too
    much, float32 takes its place."""

    engine_sentences: int = Field(1000, ge=1, le=1_000_000)
    """Validation sentences that each of them must translate as well as PyTorch."""

    shortlist: ShortlistConfig | None = ShortlistConfig()
    """The tokens that beam search by CTranslate2 looks at, learnt from training text, so that it is
    faster; null looks at all. It is left out where an engine translates less well with it."""

    glossary: Path | None = None
    """A glossary as ``nmt translate --glossary`` reads it, sealed with the model: its terms are
    translated so wherever the model is used. One that is given there counts more than this one."""

    glossary_sha256: Checksum = ""
    """Digest of that file when params.yaml was written, by which a change is noticed; ``make
    repro`` fills it in."""

    def pins(self) -> dict[str, str]:
        """Return the digest of the glossary, by its path."""
        return {str(self.glossary): self.glossary_sha256} if self.glossary else {}

    def pinned(self) -> Self:
        """Return the same with the present digest of the glossary, which was read before."""
        digest = files.sha256(self.glossary) if self.glossary else ""
        return self.model_copy(update={"glossary_sha256": digest})


class PromotionParams(Config):
    """Limits of a challenger's losses, regardless of its gains elsewhere."""

    slices: SliceBounds = Field({})
    """Points of the gate's first metric that a challenger may lose in each of these slices of the
    test set: ``{numbers: 1.0, negation: 1.0}``. Who is proved to lose more is rejected, who seems
    to is held. None by default, for a slice of few sentences seems to lose by chance and would hold
    what is better; ``reports/index.html`` shows sentences and interval of each."""


SECTIONS: dict[str, type[Config]] = {
    "download": DownloadParams,
    "tokenize": TokenizeParams,
    "vocabulary": VocabularyParams,
    "embeddings": EmbeddingsParams,
    "shard": ShardParams,
    "train": TrainParams,
    "evaluate": EvaluateParams,
    "export": ExportParams,
    "workers": WorkersConfig,
    "promotion": PromotionParams,
}
"""The type of every section: of each stage, in order; then those that change no result, and that no
stage lists in dvc.yaml."""

Section = TypeVar("Section", bound=Config)


def load(kind: type[Section], section: str, *, path: Path = paths.PARAMS) -> Section:
    """Read one section of params.yaml.

    Raises:
        ConfigError: if the section holds anything that ``kind`` does not allow.
    """
    return build_section(kind, read(path), section, source=str(path))


def build_section(
    kind: type[Section], document: dict[str, Any], name: str, *, source: str
) -> Section:
    """Build one section of a document; one that is missing has its defaults.

    Raises:
        ConfigError: naming ``source`` and every wrong key.
    """
    values = document.get(name, {})
    if not isinstance(values, dict):
        wrong = config.shorten(values)
        raise ConfigError(f"{source}: section {name!r} must be a mapping, got {wrong}")
    try:
        return config.build(kind, values, at=name)
    except ConfigError as error:
        lines = redact(str(error)).split("\n")
        raise ConfigError("\n".join(f"{source}: {line}" for line in lines)) from None
