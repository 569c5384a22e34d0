"""The routes: LibreTranslate's API, and status and metrics for operators."""

import asyncio
from collections.abc import Coroutine
from importlib.resources import files
from threading import Thread
from types import SimpleNamespace
from typing import Any, TypeVar
from urllib.parse import quote

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response

from nmt_core.documents.formats import list_suffixes
from nmt_core.server.errors import RequestError, missing_parameter
from nmt_core.server.models import AUTO, ServedModel, name_language
from nmt_core.server.schemas import (
    Body,
    Detected,
    DetectRequest,
    FileAnswer,
    FileRequest,
    SuggestRequest,
    TranslateAnswer,
    TranslateRequest,
    build_request,
    read_fields,
)
from nmt_core.server.service import Service
from nmt_core.server.users import User, name_client
from nmt_core.text.language_detection import load_scorer

PAGE = files("nmt_core.server") / "page"

REFUSAL = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"description": description, "content": {"application/json": {"schema": REFUSAL}}}
    for status, description in {
        400: "The request is invalid or too long, or the API key is missing",
        403: "The API key, the host or the origin is not allowed",
        408: "The request took too long to arrive",
        413: "The request is too large",
        429: "Too many requests; Retry-After says when to try again",
        500: "The server failed",
        503: "The translation took too long, or the server is out of memory",
        507: "The suggestion cannot be stored",
    }.items()
}

router = APIRouter(responses=REFUSALS)

FORM = "multipart/form-data"
MEDIA_TYPES = ("application/json", "application/x-www-form-urlencoded", FORM)
ResultT = TypeVar("ResultT")


def describe_body(kind: type[Body], *media_types: str, **more: Any) -> dict[str, Any]:
    """Return the OpenAPI schema of a request body in some media types, with additional fields."""
    schema = kind.model_json_schema()
    schema["properties"] |= more
    schema["required"] = [*more, *schema["required"]]
    content = {media_type: {"schema": schema} for media_type in media_types or MEDIA_TYPES}
    return {"requestBody": {"required": True, "content": content}}


def find_service(request: Request) -> Service:
    """Return the application's service."""
    return request.app.state.service


def authenticate(request: Request, key: str | None = None) -> User:
    """Return the user of a request, by the API key in its fields, URL or ``Authorization``."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else None
    address = name_client(request.client.host) if request.client else "unknown"
    key = key or request.query_params.get("api_key") or bearer
    return find_service(request).authenticate(key, address)


async def read_authenticated(request: Request) -> dict[str, Any]:
    """Return the fields of a request; a key in its head is checked before the body is read."""
    if request.query_params.get("api_key") or request.headers.get("authorization"):
        authenticate(request)
    return await read_fields(request)


async def run_connected(request: Request, work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Return the result of ``work``; cancel it if the client disconnects or time runs out."""
    service = find_service(request)
    seconds = service.config.work_seconds
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(wait_for_disconnect(request))
    try:
        await asyncio.wait({task, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if gone.done():
            service.metrics.gone.inc()
            raise RequestError(499, "the client disconnected")
        late = f"the request took more than {seconds:g} seconds; send less at once"
        raise RequestError(503, late)
    finally:
        task.cancel()
        gone.cancel()


async def wait_for_disconnect(request: Request) -> None:
    """Wait until the client disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


@router.post(
    "/translate", response_model=TranslateAnswer, openapi_extra=describe_body(TranslateRequest)
)
async def post_translation(request: Request) -> Response:
    """Translate a text, or a list of texts."""
    fields = build_request(TranslateRequest, await read_authenticated(request))
    user = authenticate(request, fields.api_key)
    answer = await run_connected(request, find_service(request).translate(user, fields))
    return Response(answer, media_type="application/json")


@router.post(
    "/translate_file",
    response_model_exclude_none=True,
    openapi_extra=describe_body(FileRequest, FORM, file={"type": "string", "format": "binary"}),
)
async def post_file(request: Request) -> FileAnswer:
    """Translate a file; /frontend/settings lists the formats as supportedFilesFormat."""
    form = await read_authenticated(request)
    file = form.get("file")
    if not isinstance(file, SimpleNamespace) or not file.name:
        raise missing_parameter("file")
    fields = build_request(FileRequest, form)
    user = authenticate(request, fields.api_key)
    work = find_service(request).translate_file(user, fields, file.name, file.content)
    key, answer = await run_connected(request, work)
    answer.translatedFileUrl = str(request.url_for("download", key=key))
    return answer


@router.get(
    "/download_file/{key}",
    response_class=Response,
    responses={404: REFUSALS[400] | {"description": "The file has expired"}},
)
async def download(request: Request, key: str) -> Response:
    """Fetch a translated file."""
    _, name, mime_type, content = find_service(request).fetch_file(key)
    disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    headers = {"Content-Disposition": disposition, "Cache-Control": "no-store"}
    # without charset, because the file names its encoding
    return Response(content, headers=headers | {"Content-Type": mime_type})


@router.post("/detect", openapi_extra=describe_body(DetectRequest))
async def post_detection(request: Request) -> list[Detected]:
    """Detect the language of a text among the served languages, most likely first."""
    fields = build_request(DetectRequest, await read_authenticated(request))
    return await find_service(request).detect(authenticate(request, fields.api_key), fields)


@router.post("/suggest", openapi_extra=describe_body(SuggestRequest))
async def post_suggestion(request: Request) -> dict[str, bool]:
    """Suggest a better translation, if the server accepts suggestions."""
    (service := find_service(request)).open_journal()
    fields = build_request(SuggestRequest, await read_authenticated(request))
    await service.suggest(authenticate(request, fields.api_key), fields)
    return {"success": True}


@router.get("/languages")
async def languages(request: Request) -> list[dict[str, Any]]:
    """List the languages, and the target languages of each."""
    return find_service(request).models.list_languages()


@router.get("/frontend/settings")
async def frontend_settings(request: Request) -> dict[str, Any]:
    """Return the settings of the page; starts loading the language detector."""
    Thread(target=load_scorer, daemon=True).start()
    service = find_service(request)
    config, (_, target) = service.config, service.models.served[0].pair
    return {
        "charLimit": config.max_characters,
        "frontendTimeout": 500,  # milliseconds after a key press
        "apiKeys": service.keys is not None,
        "keyRequired": service.keys is not None,
        "suggestions": service.journal is not None,
        "filesTranslation": True,
        "supportedFilesFormat": list_suffixes(),
        "language": {
            "source": {"code": AUTO, "name": "Auto Detect"},
            "target": {"code": target, "name": name_language(target)},
        },
        "alternativesLimit": config.max_alternatives,
        "fileLimit": config.max_file_bytes,
        "models": [describe_model(model) for model in service.models.served],
    }


def describe_model(model: ServedModel) -> dict[str, Any]:
    """Return the public description of a model."""
    source, target = model.pair
    steps = model.translator.pivot
    through = {"pivot": steps[1].languages.source} if steps and steps[1].languages else {}
    return through | {
        "source": source,
        "target": target,
        "version": model.version,
        "card": f"model_card/{source}/{target}",
        "tags": [*model.translator.tags],
    }


@router.get("/model_card/{source}/{target}", response_class=PlainTextResponse)
async def model_card(request: Request, source: str, target: str) -> str:
    """Return the model card: corpus, scores and intended use."""
    return find_service(request).models.find(source, target).card


@router.get("/health")
async def health() -> dict[str, str]:
    """Confirm that the server answers: `status` is `ok`."""
    return {"status": "ok"}


@router.get("/status")
async def status(request: Request) -> dict[str, Any]:
    """List models, the queue and problems; requires a key if keys are in use."""
    authenticate(request)
    service = find_service(request)
    models = [
        describe_model(model)
        | {"digest": model.digest, "engine": model.translator.engine.name}
        | {"since": model.since, "problem": watched.problem}
        for watched in service.models.watched
        for model in watched.models
    ]
    problem = service.memory.problem if service.memory else ""
    queue = {"requests": service.scheduler.count_waiting(), "tokens": service.scheduler.tokens}
    return {"models": models, "queue": queue, "memory": problem or None}


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """Return the counts for Prometheus; requires a key if keys are in use."""
    authenticate(request)
    service = find_service(request)
    text = service.metrics.render(service.models)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


@router.get("/spec", include_in_schema=False)
async def spec(request: Request) -> JSONResponse:
    """Return the OpenAPI schema at LibreTranslate's path; the same as `/openapi.json`."""
    return JSONResponse(request.app.openapi())


@router.get("/docs", include_in_schema=False)
async def docs() -> FileResponse:
    """Return the API documentation; FastAPI's page would load scripts from another site."""
    return FileResponse(str(PAGE / "docs.html"))
