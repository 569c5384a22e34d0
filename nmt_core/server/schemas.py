"""Schemas of requests (JSON, form or query string) and responses: LibreTranslate's plus ours."""

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
from nmt_core.server.errors import RequestError, missing_parameter

MAX_FIELDS = 2000
"""Maximum fields of a form."""

Absent = SkipJsonSchema[None]

WholeText = Annotated[str, Field(max_length=2**31)]
"""Text without unpaired surrogates, which pydantic rejects if there is a maximum length."""
ApiKey = Annotated[WholeText | Absent, Field(description="Required if the server uses API keys.")]


class Body(BaseModel):
    """Base class of all request and response bodies."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="ignore")


class DetectRequest(Body):
    """A request to detect a language."""

    q: WholeText | list[WholeText]
    """A text, or a list of texts in the same language."""
    api_key: ApiKey = None


class PairRequest(Body):
    """A request with two languages."""

    api_key: ApiKey = None
    source: str = Field(min_length=1)
    """Source language, such as `de`, or `auto` to detect it."""
    target: str = Field(min_length=1)
    """Target language."""


class FileRequest(PairRequest):
    """A request to translate a file."""

    tag: WholeText | Absent = None
    """Domain of the text: one of the model's tags, which `/frontend/settings` lists."""


class TranslateRequest(FileRequest):
    """A request to translate texts."""

    q: WholeText | list[WholeText]
    """A text, or a list of texts."""
    format: Literal["text", "html"] = "text"
    """Format of the text."""
    alternatives: Annotated[int, AfterValidator(lambda number: max(0, number))] = 0
    """Number of alternative translations."""
    details: bool = False
    """Return tokens, probabilities and linked words of every sentence."""
    checks: bool = False
    """Return the numbers, placeholders and other literals that were lost or added."""
    glossary: WholeText | Absent = None
    """Glossary: on each line a term, its translation and further forms, separated by tabs."""
    confidence: bool = False
    """Return the probability that the translation is good."""
    matches: bool = False
    """Return approved translations of similar sentences, if the server has a memory."""
    project: str = Field("", max_length=200)
    """Project whose units of the memory take precedence over units without a project."""


class SuggestRequest(PairRequest):
    """A better translation, suggested by a user."""

    q: WholeText
    """The source text."""
    s: WholeText
    """The better translation."""
    before: WholeText = ""
    """The translation before the correction."""


class Detected(Body):
    """A detected language."""

    language: str
    """Language code."""
    confidence: float
    """Confidence, from 0 to 100."""


Check = dict[Literal["kind", "text", "expected", "problem"], str]
"""A literal that was lost or added, or (``kind`` ``sentence``) a problem of the whole translation.
``text`` is the part of the source or of the translation, ``expected`` its correct form in the
translation, empty if it should be removed."""

Match = dict[str, Any]
"""An approved translation of a similar sentence: ``source`` and ``target`` in the memory,
``score``, the similarity from 0 to 1, and ``difference``, the parts of both sentences, each of the
``kind`` ``same``, ``old`` (only in the memory) or ``new`` (only in the text)."""


class SentenceDetails(Body):
    """A translated sentence with its scores and tokens."""

    source_before: str
    """The source text between the previous sentence and this one, usually white space."""
    source: str
    """The sentence in the source text."""
    before: str
    """The text between the previous translation and this one."""
    text: str
    """The translation in the translated text."""
    score: float
    """Mean log-probability of the tokens."""
    confidence: float | Absent = None
    """The probability that the translation is good; absent if the model does not estimate it."""
    tokens: list[str]
    """The tokens of the translation; `▁` begins a word. Empty if the memory translated it."""
    probabilities: list[float]
    """Probabilities of the tokens, then of the end of the sentence."""
    source_words: list[str]
    """The words and punctuation marks of the source."""
    words: list[str]
    """The words and punctuation marks of the translation."""
    links: list[int] | Absent = None
    """The index of the source word that each word translates, from 0, or -1."""
    alternatives: list[dict[Literal["text", "score"], str | float]]
    """Alternative translations of the sentence with their scores."""
    checks: list[Check]
    """Literals of the sentence that were lost or added."""
    restored_words: list[str]
    """Words whose letter case or accents were restored before translation, in the restored form."""
    unknown_words: list[str]
    """Words that do not occur in the training text; `confidence` may then be absent."""
    origin: Literal["model", "memory"]
    """Origin of the translation: the model, or an approved translation of the memory."""
    matches: list[Match]
    """Approved translations of similar sentences; empty if the memory translated the sentence."""


Details = dict[Literal["sentences", "after"], list[SentenceDetails] | str]


class TranslateAnswer(Body):
    """Translations; lists if `q` is a list. All fields except the first must be requested."""

    translatedText: str | list[str]
    detectedLanguage: Detected | list[Detected] | Absent = None
    """Present if `source` is `auto`; all texts of a list have the same language."""
    alternatives: list[str] | list[list[str]] | Absent = None
    checks: list[Check] | list[list[Check]] | Absent = None
    """Empty if all literals were kept."""
    confidence: float | list[float | None] | Absent = None
    """The lowest confidence of a text's sentences; absent, or null in a list, if unknown."""
    memory: bool | list[bool] | Absent = None
    """Whether the memory translated a sentence; absent without a memory."""
    matches: list[Match] | list[list[Match]] | Absent = None
    details: Details | list[Details] | Absent = None
    """The translated sentences of a text, and the text after the last sentence."""


class FileAnswer(Body):
    """The URL of a translated file."""

    translatedFileUrl: str
    """URL of the file, valid for ten minutes."""
    memory: int | Absent = None
    """Number of sentences that the memory translated; absent without a memory."""
    left: int | Absent = None
    """Number of messages that are not translated, such as messages with a plural inside text."""
    review: str | Absent = None
    """A description of the segments that need review; absent if there are none."""


BodyT = TypeVar("BodyT", bound=Body)


async def read_fields(request: Request) -> dict[str, Any]:
    """Return the fields of a request; the body takes precedence over the query string."""
    fields = _parse_form(request.scope["query_string"], "the query string", "ascii")
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
    """Return the fields of a multipart form; a file has a ``name`` and a ``content``."""
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
        raise RequestError(
            400, "the form cannot be read; send multipart/form-data in UTF-8"
        ) from None
    return _unwrap(fields)


def _unwrap(fields: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the value of each field, or the list of values of a repeated field."""
    return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}


def build_request(kind: type[BodyT], fields: Mapping[str, Any]) -> BodyT:
    """Return the validated request; empty fields count as absent."""
    present = {name: value for name, value in fields.items() if value not in (None, "", [])}
    try:
        return kind.model_validate(present)
    except ValidationError as error:
        raise _explain_problem(error) from None


def _explain_problem(error: ValidationError) -> RequestError:
    """Return the error of the first invalid field, LibreTranslate's if there is one."""
    problem = min(error.errors(include_url=False), key=lambda problem: problem["loc"][0] != "q")
    name = str(problem["loc"][0])
    if problem["type"] == "missing":
        return missing_parameter(name)
    value = problem["input"]
    if name == "format":
        message = f"{str(value)[:20]} format is not supported"
    elif name == "alternatives":
        message = "Invalid request: alternatives parameter is not a number"
    else:
        rule = problem["msg"].removeprefix("Input should be ").removeprefix("a valid ")
        message = f"{name} must be {rule}, got {shorten(value)}"
    return RequestError(400, message)
