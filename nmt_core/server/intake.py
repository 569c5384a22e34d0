"""Read the fields of a request from JSON, a form or the address, within bounds."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from nmt_core.server.errors import RequestError, missing

MOST_FIELDS = 2000
"""Of a form."""


@dataclass(frozen=True)
class SentFile:
    """A file of a form."""

    name: str
    content: bytes


async def read_request(request: Request) -> dict[str, Any]:
    """Return the fields of a request, those of the body before those of the address.

    Raises:
        RequestError: if the body does not match its content type.
    """
    fields = parse_fields(request.scope["query_string"], "the address")
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        body = parse_json(await request.body())
    elif kind == "multipart/form-data":
        body = await read_form(request)
    else:
        body = parse_fields(await request.body(), "the form")
    return fields | body


def parse_json(body: bytes) -> dict[str, Any]:
    """Return the fields of a JSON object.

    Raises:
        RequestError: if it is none.
    """
    try:
        fields = json.loads(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise RequestError(
            400, f"the body is not UTF-8 (byte {error.start}); send JSON in UTF-8"
        ) from None
    except RecursionError:
        raise RequestError(400, "the body is nested too deeply; send a flat JSON object") from None
    except ValueError as error:
        reason = str(error).split(":")[0] if isinstance(error, json.JSONDecodeError) else "a number"
        raise RequestError(400, f"the body is not JSON ({reason}); send a JSON object") from None
    if not isinstance(fields, dict):
        raise RequestError(400, "Invalid JSON format")
    return fields


def parse_fields(text: bytes, name: str) -> dict[str, Any]:
    """Return the fields of a form or an address; those that come several times as lists.

    Raises:
        RequestError: if they cannot be read.
    """
    if not text:
        return {}
    try:
        fields = parse_qs(
            text.decode("ascii" if name == "the address" else "utf-8"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except UnicodeError:
        raise RequestError(400, f"{name} is not UTF-8; encode it so") from None
    except ValueError:
        raise RequestError(
            400, f"{name} has more than {MOST_FIELDS} fields; send JSON instead"
        ) from None
    return unwrap(fields)


def unwrap(fields: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the value of each field, and the list of those of a field that comes several times."""
    return {name: values[0] if len(values) == 1 else values for name, values in fields.items()}


async def read_form(request: Request) -> dict[str, Any]:
    """Return the fields of a form of several parts, such as one with a file; see ``unwrap``.

    Raises:
        RequestError: if it cannot be read.
    """
    fields: defaultdict[str, list[SentFile | str]] = defaultdict(list)
    try:
        async with request.form(max_files=1, max_fields=MOST_FIELDS) as form:
            for name, part in form.multi_items():
                fields[name].append(await _read_part(part))
    except HTTPException as error:
        raise RequestError(400, f"the form cannot be read ({error.detail}); send it anew") from None
    except (UnicodeError, LookupError):
        raise RequestError(400, "the form is in no known encoding; send it in UTF-8") from None
    except OSError as error:  # a file of some size is kept on disk meanwhile
        raise RequestError(
            507, f"the server has no room for the file ({error.strerror}); try again later"
        ) from None
    return unwrap(fields)


async def _read_part(part: UploadFile | str) -> SentFile | str:
    return part if isinstance(part, str) else SentFile(part.filename or "", await part.read())


def take_file(fields: dict[str, Any], name: str) -> SentFile:
    """Return a file of a form.

    Raises:
        RequestError: if there is none.
    """
    file = fields.get(name)
    if not isinstance(file, SentFile) or not file.name:
        raise missing(name)
    return file
