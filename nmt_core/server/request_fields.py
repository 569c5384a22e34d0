"""Read the fields of a request from JSON, a form or the address, within bounds."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import parse_qs

from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from nmt_core.base.config import shorten
from nmt_core.base.errors import ConfigError
from nmt_core.literals.glossary import Glossary, is_pattern
from nmt_core.server.errors import RequestError, missing
from nmt_core.server.models import LanguagePair, ServedModel
from nmt_core.server.schemas import Body

MAX_FIELDS = 2000
"""Fields of a form."""

MAX_GLOSSARY_LINES = 1000
"""Lines of the glossary of a request."""

BodyT = TypeVar("BodyT", bound=Body)


@dataclass(frozen=True)
class SentFile:
    """A file of a form."""

    name: str
    content: bytes


async def read_request(request: Request) -> dict[str, Any]:
    """Return the fields of a request; those of the body replace those of the address."""
    fields = _parse_fields(request.scope["query_string"], "the address")
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return fields | _parse_json(await request.body())
    if kind == "multipart/form-data":
        return fields | await _read_form(request)
    return fields | _parse_fields(await request.body(), "the form")


def _parse_json(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise RequestError(400, "Invalid JSON format")
    return fields


def _parse_fields(text: bytes, name: str) -> dict[str, Any]:
    """Return the fields of a form or an address."""
    if not text:
        return {}
    try:
        fields = parse_qs(
            text.decode("ascii" if name == "the address" else "utf-8"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError:
        raise RequestError(
            400, f"{name} is not UTF-8 or has more than {MAX_FIELDS} fields; send JSON instead"
        ) from None
    return _unwrap(fields)


async def _read_form(request: Request) -> dict[str, Any]:
    """Return the fields of a form of several parts, such as one with a file."""
    fields: defaultdict[str, list[SentFile | str]] = defaultdict(list)
    try:
        async with request.form(max_files=1, max_fields=MAX_FIELDS) as form:
            for name, part in form.multi_items():
                sent = part if isinstance(part, str) else await _read_file(part)
                fields[name].append(sent)
    except (HTTPException, UnicodeError, LookupError):
        raise RequestError(400, "the form cannot be read; send it anew in UTF-8") from None
    return _unwrap(fields)


async def _read_file(part: UploadFile) -> SentFile:
    return SentFile(part.filename or "", await part.read())


def _unwrap(fields: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the value of each field, and a list for a field that comes several times."""
    return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}


def take_file(fields: Mapping[str, Any]) -> SentFile:
    """Return the file of a form, or refuse a form without one."""
    file = fields.get("file")
    if not isinstance(file, SentFile) or not file.name:
        raise missing("file")
    return file


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


def check_request_tag(tag: str | None, model: ServedModel) -> str | None:
    """Return the tag of a request; refuse one that the model does not know."""
    try:
        if tag is not None:
            model.translator.choose_tag(tag)
    except ConfigError as error:
        raise RequestError(400, f"Invalid request: {error}") from None
    return tag


@lru_cache(maxsize=64)
def read_glossary(text: str, pair: LanguagePair) -> Glossary:
    """Return the glossary of a request; equal ones are one, so that their requests share batches.

    It may not have regular expressions, which may take for ever.
    """
    lines = text.splitlines()
    if len(lines) > MAX_GLOSSARY_LINES:
        raise RequestError(
            400,
            f"Invalid request: glossary has {len(lines):,} lines, and at most "
            f"{MAX_GLOSSARY_LINES:,} are allowed",
        )
    terms = (line.partition("\t")[0].strip() for line in lines)
    if pattern := next(filter(is_pattern, terms), None):  # which even to compile may take for ever
        shown = shorten(pattern)
        raise RequestError(400, f"Invalid request: glossary may hold no pattern such as {shown}")
    try:
        return Glossary.parse(lines, pair, name="glossary")
    except ConfigError as error:
        raise RequestError(400, f"Invalid request: {error}") from None
