"""Schemas of requests and answers: LibreTranslate's fields, and our additions.

Unknown keys are ignored, since clients send keys of their own.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from nmt_core.base.config import shorten
from nmt_core.literals.checking import Problem
from nmt_core.server.errors import RequestError, missing

Absent = SkipJsonSchema[None]


def _as_default(value: Any) -> Any:
    return 0 if value in (None, "") else value


def _not_below_zero(number: int) -> int:
    return max(0, number)


Count = Annotated[int, BeforeValidator(_as_default), AfterValidator(_not_below_zero)]
Switch = Annotated[bool, BeforeValidator(_as_default)]


class Body(BaseModel):
    """Base of all requests and answers."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="ignore")


class TranslateRequest(Body):
    """A request to translate texts."""

    q: str | list[str]
    """One text, or several."""
    source: str = Field(min_length=1)
    """The text's language, such as `de`, or `auto`."""
    target: str = Field(min_length=1)
    """The language to translate into."""
    format: Literal["text", "html"] | Absent = "text"
    """What the text is written in."""
    alternatives: Count = 0
    """How many further translations are wanted."""
    details: Switch = False
    """Return tokens, probabilities and linked words of every sentence."""
    checks: Switch = False
    """Whether the numbers, placeholders and the like that did not come through are wanted."""
    glossary: str | Absent = None
    """Terms of your own: on each line a term, its translation and further forms that count, with
    tabs between them; a term alone stays as it is."""
    tag: str | Absent = None
    """Where the text is from: one of the model's tags, as `/frontend/settings` lists them."""
    confidence: Switch = False
    """Whether the probability that the translation is good is wanted."""
    matches: Switch = False
    """Whether approved translations of similar sentences are wanted, of a server with a memory."""
    project: str = Field("", max_length=200)
    """Whose units of the memory come first, beside those of no project."""
    api_key: str | Absent = None
    """The key that the operator gave you; only where `/frontend/settings` says `keyRequired`."""


class FileRequest(Body):
    """A request to translate a file."""

    source: str = Field(min_length=1)
    """The file's language, such as `de`, or `auto`."""
    target: str = Field(min_length=1)
    """The language to translate into."""
    tag: str | Absent = None
    """Where the file is from: one of the model's tags, as `/frontend/settings` lists them."""
    api_key: str | Absent = None
    """The key that the operator gave you; only where `/frontend/settings` says `keyRequired`."""


class FileAnswer(Body):
    """The address of a translated file."""

    translatedFileUrl: str
    """Its address, for ten minutes."""
    memory: int | Absent = None
    """How many of its sentences the memory translated; absent where there is none."""
    left: int | Absent = None
    """How many of its messages stay as they are, for a plural or select stands amid their text, or
    beside quoted syntax; absent if none does."""
    review: str | Absent = None
    """The segments that need review, in the words of `nmt translate`; absent if none does."""


class DetectRequest(Body):
    """A request to detect a language."""

    q: str | list[str]
    """One text, or several of one language."""
    api_key: str | Absent = None
    """The key that the operator gave you; only where `/frontend/settings` says `keyRequired`."""


class Detected(Body):
    """A detected language."""

    language: str
    """Its code."""
    confidence: float
    """0 to 100."""


class Alternative(Body):
    """Another translation of a sentence."""

    text: str
    score: float
    """Mean logarithm of the probabilities of its tokens."""


class Check(Body):
    """Something of the source that did not come through, or a flaw of the whole translation."""

    kind: str
    """What it is: `number`, `date`, `time`, `placeholder`, `address`, `email`, `path`, `handle`,
    `telephone number`, `joined numbers`, `code`, `emoji`, `sign`, `term`; `sentence` for a flaw of
    the whole."""
    text: str
    """As the source has it, or the translation alone, or the words that the translation repeats."""
    expected: str
    """As the translation should have it; nothing where it should not be there."""
    problem: Problem
    """Whether it stands there less often, more often, without its unit, or though the source does
    not say it; or whether the whole translation goes in circles, is empty, was cut off, or is
    its source."""


class MatchPart(Body):
    """A part of a sentence and of one that the memory holds."""

    kind: Literal["same", "old", "new"]
    """Whether both have it, only the memory's, or only the sentence."""
    text: str


class Match(Body):
    """An approved translation of a sentence like one of the text."""

    source: str
    """The sentence that the memory holds."""
    target: str
    """Its translation."""
    score: float
    """How similar it is to the sentence of the text, from 0 to 1."""
    difference: list[MatchPart]
    """From the memory's sentence to that of the text."""


class SentenceDetails(Body):
    """A translated sentence with its scores and tokens."""

    source_before: str
    """What stands between it and the sentence before: white space, mostly."""
    source: str
    """As it stands in the text."""
    before: str
    """What stands between its translation and the one before."""
    text: str
    """The translation as it stands in the translated text."""
    score: float
    """Mean logarithm of the probabilities of its tokens."""
    confidence: float | Absent = None
    """The probability that the translation is good, as the model's card explains; absent where the
    model cannot tell."""
    tokens: list[str]
    """The tokens of the translation; `▁` begins a word. Empty if the memory translated it."""
    probabilities: list[float]
    """Of the tokens, and last of the end of the sentence."""
    source_words: list[str]
    """The words and signs of the source."""
    words: list[str]
    """The words and signs of the translation."""
    links: list[int] | Absent = None
    """The index of the source word that each word translates, from 0; -1 for none. Absent if the
    memory translated the sentence."""
    alternatives: list[Alternative]
    checks: list[Check]
    """What of the sentence did not come through."""
    restored_words: list[str]
    """Words that the model read in another case or with accents, as it read them."""
    unknown_words: list[str]
    """Its words that the training text never had; where it has some, `confidence` may be absent."""
    origin: Literal["model", "memory"]
    """Who translated it: the model, or somebody whose approved translation the memory holds; that
    has no tokens."""
    matches: list[Match]
    """Approved translations of similar sentences; empty where the memory translated it."""


class TextDetails(Body):
    """The translated sentences of a text."""

    sentences: list[SentenceDetails]
    after: str
    """What stands after the last sentence."""


class TranslateAnswer(Body):
    """Translations; lists where `q` is one."""

    translatedText: str | list[str]
    detectedLanguage: Detected | list[Detected] | Absent = None
    """Where `source` was `auto`; a text of a list that hardly tells its own has the list's."""
    alternatives: list[str] | list[list[str]] | Absent = None
    """Where some were wanted."""
    checks: list[Check] | list[list[Check]] | Absent = None
    """Where they were wanted; empty if all came through."""
    confidence: float | list[float | None] | Absent = None
    """Where it was wanted: the lowest of a text's sentences; absent, or null in a list, where the
    model cannot tell."""
    memory: bool | list[bool] | Absent = None
    """Whether the memory translated a sentence of it; absent where there is none."""
    matches: list[Match] | list[list[Match]] | Absent = None
    """Where they were wanted."""
    details: TextDetails | list[TextDetails] | Absent = None
    """Where they were wanted."""


class Language(Body):
    """A language that is served."""

    code: str
    name: str
    targets: list[str]
    """Codes of the languages that it is translated into."""


class LanguageName(Body):
    """A language."""

    code: str
    name: str


class DefaultLanguages(Body):
    """The languages that a page selects first."""

    source: LanguageName
    target: LanguageName


class OfferedModel(Body):
    """A model, as it is described to users."""

    source: str
    target: str
    version: str
    corpus: str
    """What it was trained on, as its card says."""
    score: str
    """How well it translated the test set, as its card says."""
    card: str
    """Address of its card, on this server."""
    tags: list[str]
    """Names that say where a text is from, one of which may be chosen."""


class FrontendSettings(Body):
    """Settings of the page, as LibreTranslate names them."""

    charLimit: int
    frontendTimeout: int
    """Milliseconds to wait after a key was pressed."""
    apiKeys: bool
    keyRequired: bool
    suggestions: bool
    filesTranslation: bool
    supportedFilesFormat: list[str]
    language: DefaultLanguages
    alternativesLimit: int
    fileLimit: int
    """Bytes of a file."""
    models: list[OfferedModel]


class ModelStatus(Body):
    """A served model."""

    source: str
    target: str
    version: str
    digest: str
    engine: str
    since: str
    problem: str
    """Why a newer one could not be served, or is not known; empty if all is well."""


class Health(Body):
    """The state of the server."""

    status: Literal["ok"]


class Queue(Body):
    """The length of the queue."""

    requests: int
    tokens: int
    """Of the source."""


class Status(Body):
    """The served models and the queue."""

    models: list[ModelStatus]
    queue: Queue
    memory: str | Absent = None
    """Why the translation memory is not used; absent without a problem."""


class SuggestRequest(Body):
    """A better translation, as a user suggests it."""

    q: str
    """The text that was translated."""
    s: str
    """What it should be translated as."""
    source: str = Field(min_length=1)
    """The text's language, such as `de`, or `auto`."""
    target: str = Field(min_length=1)
    """The language of the suggestion."""
    before: str = ""
    """The translation that it corrects."""
    api_key: str | Absent = None
    """The key that the operator gave you; only where `/frontend/settings` says `keyRequired`."""


class SuggestAnswer(Body):
    """The answer to a suggestion."""

    success: bool


class Refused(Body):
    """The reason of a refusal."""

    error: str
    """One sentence."""


BodyT = TypeVar("BodyT", bound=Body)


def read_fields(kind: type[BodyT], fields: Any) -> BodyT:
    """Build a request of the fields of a form or of JSON.

    Raises:
        RequestError: naming the first field that is missing or wrong.
    """
    if not isinstance(fields, dict):
        raise RequestError(
            400, f"the body must be a JSON object, got {shorten(fields)}; send {{...}}"
        )
    given = {name: value for name, value in fields.items() if value not in (None, "", [])}
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise explain_problem(error) from None


def explain_problem(error: ValidationError) -> RequestError:
    """Return the error of the first wrong field, in LibreTranslate's words where it has any."""
    problem = error.errors(include_url=False)[0]
    name = str(problem["loc"][0])
    if problem["type"] == "missing":
        return missing(name)
    given = problem["input"]
    if name == "q":
        message = f"q must be text or a list of texts, got {shorten(given)}"
    elif name == "format":
        message = f"{str(given)[:20]} format is not supported"
    elif name == "alternatives":
        message = "Invalid request: alternatives parameter is not a number"
    else:
        rule = problem["msg"].removeprefix("Input should be ").removeprefix("a valid ")
        message = f"{name} must be {rule}, got {shorten(given)}"
    return RequestError(400, message)
