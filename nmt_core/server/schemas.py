"""Schemas of requests (JSON, a form, or the address) and answers: LibreTranslate's, and ours."""

import json
from collections import defaultdict
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qs

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.json_schema import SkipJsonSchema
from starlette.exceptions import HTTPException
from starlette.requests import Request

from nmt_core.base.config import shorten
from nmt_core.server.errors import RequestError, missing

MAX_FIELDS = 2000
"""Fields of a form."""

Absent = SkipJsonSchema[None]

WholeText = Annotated[str, Field(max_length=2**31)]
"""Text of whole characters: pydantic refuses half ones where it counts them."""
ApiKey = Annotated[
    WholeText | Absent, Field(description="Needed if `/frontend/settings` says `keyRequired`.")
]


class Body(BaseModel):
    """Base of all requests and answers."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="ignore")


class DetectRequest(Body):
    """A request to detect a language."""

    q: WholeText | list[WholeText]
    """One text, or several of one language."""
    api_key: ApiKey = None


class PairRequest(Body):
    """A request that names two languages."""

    api_key: ApiKey = None
    source: str = Field(min_length=1)
    """Language of the text or file, such as `de`, or `auto`."""
    target: str = Field(min_length=1)
    """Language of the translation."""


class FileRequest(PairRequest):
    """A request to translate a file."""

    tag: WholeText | Absent = None
    """Origin of the text: one of the model's tags, as `/frontend/settings` lists them."""


class TranslateRequest(FileRequest):
    """A request to translate texts."""

    q: WholeText | list[WholeText]
    """One text, or several."""
    format: Literal["text", "html"] = "text"
    """Format of the text."""
    alternatives: Annotated[int, AfterValidator(lambda number: max(0, number))] = 0
    """Number of further translations."""
    details: bool = False
    """Return tokens, probabilities and linked words of every sentence."""
    checks: bool = False
    """Return the numbers, placeholders and the like that did not come through."""
    glossary: WholeText | Absent = None
    """Terms: on each line one, its translation and further forms, with tabs between them."""
    confidence: bool = False
    """Return the probability that the translation is good."""
    matches: bool = False
    """Return approved translations of similar sentences, from a server with a memory."""
    project: str = Field("", max_length=200)
    """Project whose units of the memory come first, before those of no project."""


class SuggestRequest(PairRequest):
    """A better translation, as a user suggests it."""

    q: WholeText
    """The text that was translated."""
    s: WholeText
    """The better translation."""
    before: WholeText = ""
    """The translation that it corrects."""


class Detected(Body):
    """A detected language."""

    language: str
    """Its code."""
    confidence: float
    """0 to 100."""


Check = dict[Literal["kind", "text", "expected", "problem"], str]
"""A literal of the source that did not come through, or a flaw of the whole translation (of the
kind ``sentence``): a part of the source or of the translation, and its form in a right translation,
which is empty if it should not be there."""

Match = dict[str, Any]
"""An approved translation of a sentence like one of the text: ``source`` and ``target`` in the
memory, ``score``, the similarity from 0 to 1, and ``difference``, the parts of both sentences, each
of the ``kind`` ``same``, ``old`` (the memory's) or ``new`` (the text's)."""


class SentenceDetails(Body):
    """A translated sentence with its scores and tokens."""

    source_before: str
    """The text between it and the sentence before, mostly white space."""
    source: str
    """The sentence, as the text has it."""
    before: str
    """The text between its translation and the one before."""
    text: str
    """The translation, as the translated text has it."""
    score: float
    """Mean logarithm of the probabilities of its tokens."""
    confidence: float | Absent = None
    """The probability that the translation is good; absent if the model has none."""
    tokens: list[str]
    """The tokens of the translation; `▁` begins a word. Empty if the memory translated it."""
    probabilities: list[float]
    """Probabilities of the tokens, and last that of the end of the sentence."""
    source_words: list[str]
    """The words and signs of the source."""
    words: list[str]
    """The words and signs of the translation."""
    links: list[int] | Absent = None
    """The index of the source word that each word translates, from 0; -1 for none."""
    alternatives: list[dict[Literal["text", "score"], str | float]]
    """Other translations of the sentence with their scores."""
    checks: list[Check]
    """What of the sentence did not come through."""
    restored_words: list[str]
    """Words that the model read in another case or with accents, as it read them."""
    unknown_words: list[str]
    """Words that the training text never had; with some, `confidence` may be absent."""
    origin: Literal["model", "memory"]
    """Origin of the translation: the model, or an approved translation of the memory."""
    matches: list[Match]
    """Approved translations of similar sentences; empty if the memory translated it."""


Details = dict[Literal["sentences", "after"], list[SentenceDetails] | str]


class TranslateAnswer(Body):
    """Translations; lists if `q` is one. All fields but the first are there if requested."""

    translatedText: str | list[str]
    detectedLanguage: Detected | list[Detected] | Absent = None
    """Set if `source` is `auto`; an unsure text of a list has the language of the list."""
    alternatives: list[str] | list[list[str]] | Absent = None
    checks: list[Check] | list[list[Check]] | Absent = None
    """Empty if all came through."""
    confidence: float | list[float | None] | Absent = None
    """The lowest of a text's sentences; absent, or null in a list, if the model has none."""
    memory: bool | list[bool] | Absent = None
    """Whether the memory translated a sentence; absent without a memory."""
    matches: list[Match] | list[list[Match]] | Absent = None
    details: Details | list[Details] | Absent = None
    """The translated sentences of a text, and the text after the last one."""


class FileAnswer(Body):
    """The address of a translated file."""

    translatedFileUrl: str
    """Address of the file, for ten minutes."""
    memory: int | Absent = None
    """Number of sentences that the memory translated; absent without a memory."""
    left: int | Absent = None
    """Number of messages that stay as they are, such as with a plural amid text."""
    review: str | Absent = None
    """The segments that need review, in the words of `nmt translate`; absent if none does."""


BodyT = TypeVar("BodyT", bound=Body)


async def read_fields(request: Request) -> dict[str, Any]:
    """Return the fields of a request; those of the body replace those of the address."""
    fields = _parse_form(request.scope["query_string"], "the address", "ascii")
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return fields | _parse_json(await request.body())
    if kind == "multipart/form-data":
        return fields | await _read_parts(request)
    return fields | _parse_form(await request.body(), "the form", "utf-8")


def _parse_json(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise RequestError(400, "Invalid JSON format")
    return fields


def _parse_form(data: bytes, name: str, encoding: str) -> dict[str, Any]:
    try:
        text = data.decode(encoding)
        fields = parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise RequestError(
            400, f"{name} is not UTF-8 or has more than {MAX_FIELDS} fields; send JSON instead"
        ) from None
    return _unwrap(fields)


async def _read_parts(request: Request) -> dict[str, Any]:
    """Return the fields of a form of several parts; a file has a ``name`` and a ``content``."""
    fields: defaultdict[str, list[SimpleNamespace | str]] = defaultdict(list)
    try:
        async with request.form(max_files=1, max_fields=MAX_FIELDS) as form:
            for name, part in form.multi_items():
                if isinstance(part, str):
                    fields[name].append(part)
                else:
                    file = SimpleNamespace(name=part.filename or "", content=await part.read())
                    fields[name].append(file)
    except (HTTPException, UnicodeError, LookupError):
        raise RequestError(400, "the form cannot be read; send it anew in UTF-8") from None
    return _unwrap(fields)


def _unwrap(fields: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the value of each field, and a list for a field that comes several times."""
    return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}


def build_request(kind: type[BodyT], fields: Mapping[str, Any]) -> BodyT:
    """Build a request from its fields; empty ones count as absent. The first wrong one is named."""
    given = {name: value for name, value in fields.items() if value not in (None, "", [])}
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise _explain_problem(error) from None


def _explain_problem(error: ValidationError) -> RequestError:
    """Return the error of the first wrong field, in LibreTranslate's words if it has any."""
    problem = min(error.errors(include_url=False), key=lambda problem: problem["loc"][0] != "q")
    name = str(problem["loc"][0])
    if problem["type"] == "missing":
        return missing(name)
    value = problem["input"]
    if name == "format":
        message = f"{str(value)[:20]} format is not supported"
    elif name == "alternatives":
        message = "Invalid request: alternatives parameter is not a number"
    else:
        rule = problem["msg"].removeprefix("Input should be ").removeprefix("a valid ")
        message = f"{name} must be {rule}, got {shorten(value)}"
    return RequestError(400, message)
