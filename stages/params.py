"""The sections of params.yaml as types, one per stage, each composed of the library's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypedDict, TypeVar, get_type_hints

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
from nmt_core.evaluation.registry import DEFAULT_METRICS, METRICS, SliceBounds
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
    """Shares of validation and test pairs, if no corpus has its own held-out sets."""

    near_duplicates: NearDuplicateConfig = NearDuplicateConfig()
    """Removal of training pairs that are near duplicates of validation or test pairs."""

    vectors: VectorsConfig = NoVectors(kind="none")
    """Source of pre-trained word vectors."""

    initial_model: InitialModelConfig = NoInitialModel()
    """A finished model to start training from."""

    http: HttpConfig = HttpConfig()
    """Timeouts and retries of downloads."""

    def pins(self) -> dict[str, str]:
        """Return the digests of the user's own files, by path."""
        owners = (*self.corpora.values(), self.initial_model)
        return {path: digest for owner in owners for path, digest in owner.pins().items()}

    def pinned(self) -> Self:
        """Return these settings with the current digests of the user's own files.

        Raises:
            CorpusError: if a file cannot be read.
            BundleError: if the initial model is missing.
        """
        return self._change_owners(lambda owner: owner.pinned())

    def absolute(self) -> Self:
        """Return these settings with absolute paths of the user's own files."""
        return self._change_owners(lambda owner: owner.absolute())

    def _change_owners(self, change: Callable[[Any], Any]) -> Self:
        """Return these settings with each part changed that may name the user's own files."""
        corpora = {name: change(corpus) for name, corpus in self.corpora.items()}
        start = change(self.initial_model)
        return self.model_copy(update={"corpora": corpora, "initial_model": start})

    @model_validator(mode="after")
    def _check(self) -> "DownloadParams":
        check_corpora(self.corpora, self.languages, self.directions)
        start = self.initial_model
        missing = {*self.directions} - {use.languages for use in self.uses}
        if missing and isinstance(start, NoInitialModel):  # an initial model brings its own text
            name = min(map(str, missing))
            raise ValueError(f"no corpus is in {name}; add one to corpora, or remove the direction")
        if isinstance(start, BundleModel) and start.folder.absolute() == paths.EXPORT.absolute():
            raise ValueError(
                f"initial_model.folder {start.folder} is the export of this project, so training "
                f"would start from its own result; copy it: cp -r {paths.EXPORT} models/initial"
            )
        return self


class TokenizeParams(Config):
    """The tokenizers."""

    kind: Literal["sentencepiece", "spacy", "characters", "initial_model"] = "sentencepiece"
    """Subwords by SentencePiece; words by spaCy as in van der Goten 2018 (letters, full stops and
    commas in lower case); characters; or the tokenizers of the initial model. A line has about four
    times as many characters as subwords, so you may have to raise ``shard.max_length`` and
    ``evaluate.beam.max_length``."""

    numbers: Literal["keep", "drop"] = "keep"
    """Keep or drop words with a digit, which van der Goten 2018 drops. Used with spaCy only."""

    subwords: SubwordConfig = SubwordConfig()
    """Settings of SentencePiece."""

    added_pieces: int = Field(0, ge=0, le=1_000_000)
    """Maximum number of subwords to learn from the present text and to add to the tokenizer of the
    initial model, for a language that it does not know. Used with ``initial_model`` only."""

    @property
    def joint(self) -> bool:
        """Whether both languages share one vocabulary."""
        return self.kind in ("characters", "initial_model") or (
            self.kind == "sentencepiece" and self.subwords.joint
        )


class VocabularyParams(Config):
    """The vocabularies of words or characters; subword tokenizers have their own."""

    words: Literal["corpus", "vectors", "initial_model"] = "corpus"
    """The most frequent words of the training text or of the downloaded vectors, or the vocabulary
    of the initial model."""

    max_size: int = Field(100_000, ge=1, le=10_000_000)
    """Maximum number of words per language, without reserved tokens."""

    min_count: int = Field(1, ge=1)
    """Minimum number of occurrences in the training text; rarer words are unknown."""


class EmbeddingsParams(Config):
    """The pretrained vectors of the model's embeddings."""

    vectors: Annotated[
        LearnedEmbeddings | TrainedVectors | GivenVectors, Field(discriminator="kind")
    ] = LearnedEmbeddings()
    """No vectors, vectors trained here by fastText, or the vectors of the download stage."""

    frozen: bool = True
    """Do not train the vectors, as in van der Goten 2018. No effect without vectors."""

    seed: int = Field(1, ge=0)
    """Random seed of the vectors for the start and the end of a sentence."""


class ShardParams(Config):
    """The shards of numbered pairs."""

    pairs_per_shard: int = Field(100_000, ge=1, le=100_000_000)
    """Sentence pairs per shard; one shard at a time is written from memory."""

    max_length: int = Field(200, ge=1, le=1_000_000)
    """Maximum number of tokens per side; longer training pairs are left out."""


class TrainParams(Config):
    """The model and its training."""

    seed: int = Field(1, ge=0)
    """Random seed of initial weights, dropout and the order of the data."""

    compute: WorldConfig = WorldConfig()
    """Device, precision and number of processes."""

    model: ModelConfig
    """The architecture and its shape."""

    initial_parts: list[ModelPart] = Field(["embeddings", "encoder", "decoder"], min_length=1)
    """Parts that start from ``download.initial_model``, if it is set; other parts start from random
    weights. The output layer is one of the embeddings."""

    initial_share: float = Field(0.0, ge=0, lt=1)
    """Weight of the initial model in an average with the trained one (Wortsman et al. 2022), which
    reduces forgetting. Validations during training measure the weights before averaging."""

    mixture: MixtureConfig = MixtureConfig()
    """The sampling weights of several corpora, and the phases of training that read them."""

    batching: BatchingConfig
    """Batches of pairs."""

    subword_sampling: SubwordSampling = SubwordSampling()
    """Subword regularization: training pairs are cut into other subwords in every epoch."""

    augmentation: AugmentationConfig = AugmentationConfig()
    """Share of the training pairs that each modifier changes, such as typing errors."""

    optimizer: OptimizerConfig
    """The optimizer."""

    schedule: ScheduleConfig
    """The learning rate of each update."""

    budget: Budget
    """The end of training, and of schedules with an end."""

    training: TrainingConfig
    """Loss, validation and checkpoints."""

    @property
    def follows_budget(self) -> list[str]:
        """The settings by which updates depend on the used share of the budget."""
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
    """Settings of beam search; exported as the model's defaults."""

    choose_length_penalty: bool = True
    """If translations are too short or too long, try other length penalties on 500 validation
    sentences and use the best one. False always uses ``beam.length_penalty``."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device for translation in float32, as in the export; auto uses a GPU if there is one."""

    threads: int = Field(0, ge=0, le=4096)
    """Processor threads; 0 uses all cores."""

    batch_tokens: int = Field(2048, ge=1, le=1_000_000)
    """Padded source tokens per batch while translating."""

    metrics: list[Annotated[str, AfterValidator(METRICS.check)]] = Field(
        DEFAULT_METRICS, min_length=1
    )
    """Metrics, the most important first."""

    resamples: int = Field(1000, ge=0, le=1_000_000)
    """Bootstrap resamples of each confidence interval; 0 for no intervals."""

    good_chrf: float = Field(50.0, gt=0, lt=100)
    """Minimum chrF of a sentence that is translated well. The confidence of a translation is the
    probability of this, fitted on at most 2,000 validation sentences."""

    good_share: float = Field(0.5, ge=0, le=1)
    """Minimum share of test sentences that are translated well for the report to call the model
    ready; set it by the purpose of the model."""

    examples: int = Field(5, ge=0, le=10_000)
    """Number of translations shown with their references, drawn at random."""

    pictures: int = Field(3, ge=0, le=10_000)
    """Number of sentences with a picture of their attention."""

    seed: int = Field(1, ge=0)
    """Random seed of the drawn examples."""


class ExportParams(Config):
    """Further content of the sealed folder besides the model."""

    golden_sentences: int = Field(20, ge=1, le=10_000)
    """Number of test sentences stored with their translations, to verify copies of the model."""

    engines: tuple[Precision, ...] = ("int8",)
    """Precisions of the CTranslate2 engine: ``int8``, ``float32``. Only Transformers that it
    supports are exported; all other models use PyTorch. An engine must translate validation text as
    well as PyTorch; if int8 loses too much, float32 replaces it."""

    engine_sentences: int = Field(1000, ge=1, le=1_000_000)
    """Number of validation sentences for comparing each engine with PyTorch."""

    shortlist: ShortlistConfig | None = ShortlistConfig()
    """The candidate tokens of beam search by CTranslate2, learnt from training text, for speed;
    null allows all tokens. An engine that translates worse with it does without."""

    glossary: Path | None = None
    """A glossary in the format of ``nmt translate --glossary``, exported with the model and applied
    to every translation. A glossary of a command or request takes precedence."""

    glossary_sha256: Checksum = ""
    """SHA-256 of the glossary when params.yaml was written, to detect changes; ``make repro`` sets
    it."""

    def pins(self) -> dict[str, str]:
        """Return the digest of the glossary, by its path."""
        return {str(self.glossary): self.glossary_sha256} if self.glossary else {}

    def pinned(self) -> Self:
        """Return these settings with the current digest of the glossary, which must exist."""
        digest = files.sha256(self.glossary) if self.glossary else ""
        return self.model_copy(update={"glossary_sha256": digest})


class PromotionParams(Config):
    """Limits of a challenger's losses, regardless of its gains elsewhere."""

    slices: SliceBounds = Field({})
    """Maximum loss in slices of the test set, in points of the gate's first metric, such as
    ``{numbers: 1.0, negation: 1.0}``. A significantly greater loss rejects a challenger; a greater
    loss that may be chance holds it. Empty by default, because small slices often lose by chance;
    ``reports/index.html`` shows the sentences and the interval of each slice."""


class Sections(TypedDict):
    """All sections: first the stages; no stage lists the last two, which change no result."""

    download: DownloadParams
    tokenize: TokenizeParams
    vocabulary: VocabularyParams
    embeddings: EmbeddingsParams
    shard: ShardParams
    train: TrainParams
    evaluate: EvaluateParams
    export: ExportParams
    workers: WorkersConfig
    promotion: PromotionParams


SECTIONS: dict[str, type[Config]] = get_type_hints(Sections)
"""The class of each section."""

Section = TypeVar("Section", bound=Config)


def load(kind: type[Section], section: str, *, path: Path = paths.PARAMS) -> Section:
    """Return one section of params.yaml.

    Raises:
        ConfigError: if the section holds anything that ``kind`` does not allow.
    """
    return build_section(kind, read(path), section, source=str(path))


def build_section(
    kind: type[Section], document: dict[str, Any], name: str, *, source: str
) -> Section:
    """Return one section of a document; a missing section has its defaults.

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
