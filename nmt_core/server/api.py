"""The routes: LibreTranslate's API, and status and metrics for the operator."""

import asyncio
from collections.abc import Coroutine
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import quote

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from nmt_core.documents.formats import list_suffixes
from nmt_core.server.answers import AUTO
from nmt_core.server.card import summarize_card
from nmt_core.server.detect import MOST, load, rank_known
from nmt_core.server.docs import STYLE, render_docs
from nmt_core.server.errors import RequestError
from nmt_core.server.intake import read_request, take_file
from nmt_core.server.languages import name_language
from nmt_core.server.limits import User
from nmt_core.server.models import ServedModel
from nmt_core.server.schemas import (
    DefaultLanguages,
    Detected,
    DetectRequest,
    FileAnswer,
    FileRequest,
    FrontendSettings,
    Health,
    Language,
    LanguageName,
    ModelStatus,
    OfferedModel,
    Queue,
    Refused,
    Status,
    SuggestAnswer,
    SuggestRequest,
    TranslateAnswer,
    TranslateRequest,
    read_fields,
)
from nmt_core.server.service import Service

router = APIRouter()

REFUSED_RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {
        "model": Refused,
        "description": "The request is wrong, longer than it may be, or lacks the API key",
    },
    403: {"model": Refused, "description": "The API key is wrong"},
    413: {"model": Refused, "description": "The request is larger than it may be"},
    429: {
        "model": Refused,
        "description": "Too many requests; Retry-After says when to come again",
    },
    500: {"model": Refused, "description": "The server failed"},
}

AnswerT = TypeVar("AnswerT")


def body_of(kind: type[Any]) -> dict[str, Any]:
    """Return OpenAPI's description of a body that is JSON or a form."""
    schema = kind.model_json_schema()
    forms = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
    return {
        "requestBody": {"required": True, "content": {form: {"schema": schema} for form in forms}}
    }


def service_of(request: Request) -> Service:
    """Return the service that the app state holds."""
    return request.app.state.service


def render_json(answer: Any) -> Response:
    """Return an answer as JSON without absent fields."""
    return Response(answer.model_dump_json(exclude_none=True), media_type="application/json")


def admit(request: Request, key: str | None) -> User:
    """Return the user of a request, by its key or the header ``Authorization``.

    Raises:
        RequestError: if a key is needed, and none or a wrong one was given.
    """
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    bearer = sent.strip() if scheme.lower() == "bearer" else None
    address = request.client.host if request.client else "unknown"
    return service_of(request).admit(key or bearer, address)


async def read_admitted(request: Request) -> dict[str, Any]:
    """Return the fields of a request; a key in its head is checked before its body is read.

    Raises:
        RequestError: if the key is wrong, or the request is not what it says to be.
    """
    key = request.query_params.get("api_key")
    if key or request.headers.get("authorization"):
        admit(request, key)
    return await read_request(request)


async def unless_gone(request: Request, work: Coroutine[Any, Any, AnswerT]) -> AnswerT:
    """Return the result of work; cancel it if the client hangs up.

    Raises:
        RequestError: if the client has hung up.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(wait_until_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            service_of(request).metrics.gone.inc()
            raise RequestError(499, "the client has gone")
        return task.result()
    finally:
        task.cancel()
        gone.cancel()


async def wait_until_gone(request: Request) -> None:
    """Return when the client has hung up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


@router.post(
    "/translate",
    name="translate",
    response_model=TranslateAnswer,
    responses=REFUSED_RESPONSES,
    openapi_extra=body_of(TranslateRequest),
)
async def post_translation(request: Request) -> Response:
    """Translate a text, or a list of texts."""
    asked = read_fields(TranslateRequest, await read_admitted(request))
    user = admit(request, asked.api_key)
    answer = await unless_gone(request, service_of(request).translate(user, asked))
    return Response(answer, media_type="application/json")


def file_body() -> dict[str, Any]:
    """Return OpenAPI's description of a form with a file."""
    schema = FileRequest.model_json_schema()
    schema["properties"]["file"] = {"type": "string", "format": "binary"}
    schema["required"] = ["file", *schema["required"]]
    return {
        "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": schema}}}
    }


@router.post(
    "/translate_file",
    name="translate_file",
    response_model=FileAnswer,
    responses=REFUSED_RESPONSES,
    openapi_extra=file_body(),
)
async def post_file(request: Request) -> Response:
    """Translate a file; /frontend/settings lists the formats as supportedFilesFormat."""
    fields = await read_admitted(request)
    file = take_file(fields, "file")
    asked = read_fields(FileRequest, fields)
    user, service = admit(request, asked.api_key), service_of(request)
    done = await unless_gone(request, service.translate_file(user, asked, file.name, file.content))
    address = str(request.url_for("download", key=done.key))
    return render_json(
        FileAnswer(
            translatedFileUrl=address,
            memory=done.memory,
            left=done.left or None,
            review=done.review or None,
        )
    )


@router.get("/download_file/{key}", response_model=None, name="download")
async def download(request: Request, key: str) -> Response:
    """Fetch a translated file."""
    file = service_of(request).downloads.fetch(key)
    disposition = f"attachment; filename*=UTF-8''{quote(file.name, safe='')}"
    headers = {"Content-Disposition": disposition, "Cache-Control": "no-store"}
    # the file says its encoding, which need not be UTF-8
    return Response(file.content, headers=headers | {"Content-Type": file.mime_type})


@router.post(
    "/detect",
    responses=REFUSED_RESPONSES,
    openapi_extra=body_of(DetectRequest),
)
async def detect(request: Request) -> list[Detected]:
    """Recognise which served language a text is in; the likeliest comes first."""
    asked = read_fields(DetectRequest, await read_admitted(request))
    service, user = service_of(request), admit(request, asked.api_key)
    texts = asked.q if isinstance(asked.q, list) else [asked.q]
    service.check(texts)
    service.rates.spend(user, len(texts))
    codes = service.models.list_codes()
    ranked = await asyncio.to_thread(rank_known, "\n".join(texts), codes)
    return [Detected(**guess._asdict()) for guess in ranked[:MOST]]


@router.get("/languages", response_model=list[Language])
async def languages(request: Request) -> list[dict[str, Any]]:
    """List the languages, and the target languages of each."""
    return service_of(request).models.list_languages()


@router.get("/frontend/settings")
async def frontend_settings(request: Request) -> FrontendSettings:
    """Return the page's settings, and load the language detector that it may need next."""
    Thread(target=load, daemon=True).start()
    service = service_of(request)
    config, first = service.config, service.models.served[0]
    return FrontendSettings(
        charLimit=config.max_characters,
        frontendTimeout=500,
        apiKeys=service.keys is not None,
        keyRequired=service.keys is not None,
        suggestions=service.box.is_open,
        filesTranslation=True,
        supportedFilesFormat=list_suffixes(),
        language=DefaultLanguages(
            source=LanguageName(code=AUTO, name="Auto Detect"),
            target=LanguageName(code=first.pair.target, name=name_language(first.pair.target)),
        ),
        alternativesLimit=config.max_alternatives,
        fileLimit=config.max_file_bytes,
        models=[describe_model(model) for model in service.models.served],
    )


def describe_model(model: ServedModel) -> OfferedModel:
    """Return the public description of a model."""
    corpus, score = summarize_card(model.card)
    return OfferedModel(
        **model.pair._asdict(),
        version=model.bundle.version,
        corpus=corpus,
        score=score,
        card=f"model_card/{model.pair.source}/{model.pair.target}",
        tags=[*model.translator.tags],
    )


@router.get("/model_card/{source}/{target}", response_class=PlainTextResponse)
async def model_card(request: Request, source: str, target: str) -> str:
    """Return the model card: corpus, scores and intended use."""
    return service_of(request).models.find(source, target).card


@router.post(
    "/suggest",
    name="suggest",
    response_model=SuggestAnswer,
    responses=REFUSED_RESPONSES,
    openapi_extra=body_of(SuggestRequest),
)
async def post_suggestion(request: Request) -> Response:
    """Suggest a better translation, where the operator allows it."""
    service = service_of(request)
    service.box.open()
    asked = read_fields(SuggestRequest, await read_admitted(request))
    await service.suggest(admit(request, asked.api_key), asked)
    return render_json(SuggestAnswer(success=True))


@router.get("/health")
async def health() -> Health:
    """Confirm that the server answers."""
    return Health(status="ok")


@router.get("/status")
async def status(request: Request) -> Status:
    """List the served models and the length of the queue; needs a key where keys are in use."""
    service = service_of(request)
    admit(request, request.query_params.get("api_key"))
    models = [
        ModelStatus(
            **model.pair._asdict(),
            version=model.bundle.version,
            digest=model.bundle.digest,
            engine=model.translator.engine.name,
            since=model.since,
            problem=watched.problem,
        )
        for watched in service.models.watched
        if (model := watched.model)
    ]
    scheduler = service.scheduler
    queue = Queue(requests=scheduler.count_waiting(), tokens=scheduler.tokens)
    return Status(models=models, queue=queue, memory=service.memory.problem or None)


@router.get("/spec", include_in_schema=False)
async def spec(request: Request) -> JSONResponse:
    """Describe the API to programs, as `/openapi.json` does, at LibreTranslate's address."""
    return JSONResponse(request.app.openapi())


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """Return the counts for Prometheus; needs a key where keys are in use."""
    service = service_of(request)
    admit(request, request.query_params.get("api_key"))
    text = service.metrics.render(service.models)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    """Describe the API to people."""
    pair = service_of(request).models.served[0].pair
    address = f"{request.url.scheme}://{request.url.netloc}"
    schema = request.app.openapi()
    return HTMLResponse(render_docs(schema, address=address, **pair._asdict()))


@router.get("/docs.css", include_in_schema=False)
async def docs_style() -> Response:
    """Return the style sheet of the page about the API."""
    return Response(STYLE, media_type="text/css")
