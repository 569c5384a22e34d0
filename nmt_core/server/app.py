"""The server as an ASGI application."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from threading import Event, Thread
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.staticfiles import StaticFiles
from typing_extensions import override

from nmt_core.base.errors import DocumentError
from nmt_core.server.api import router
from nmt_core.server.errors import RequestError
from nmt_core.server.guard import Guard
from nmt_core.server.limits import Keys
from nmt_core.server.models import Models
from nmt_core.server.service import Service
from nmt_core.server.settings import ServerConfig


def build_app(
    models: Models,
    config: ServerConfig,
    keys: Keys | None = None,
) -> FastAPI:
    """Return the application.

    Args:
        models: what it serves.
        config: its bounds.
        keys: API keys; None where everybody may use it.
    """
    app = FastAPI(
        title="nmt",
        description="Translates, by LibreTranslate's API.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=run_service,
    )
    app.state.service = service = Service(config, models, keys)
    app.include_router(router)
    page = files("nmt_core.server") / "page"
    # not mounted, or it would answer what a route has but for another method
    app.router.default = StaticFiles(directory=str(page), html=True, check_dir=False)
    app.add_exception_handler(RequestError, answer_refused)
    app.add_exception_handler(DocumentError, answer_unreadable)
    app.add_exception_handler(HTTPException, answer_unknown)
    app.add_middleware(Guard, config=config, metrics=service.metrics)
    if config.origins:  # around the guard, so that pages of friends can read its refusals, too
        app.add_middleware(
            CORSMiddleware,
            allow_origins=config.origins,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=["Retry-After"],
            max_age=86400,
        )
    return app


@asynccontextmanager
async def run_service(app: FastAPI) -> AsyncIterator[None]:
    """Translate and watch for other models as long as the application runs."""
    service: Service = app.state.service
    service.start()
    stopped = Event()
    Thread(target=watch_models, args=(service, stopped), daemon=True).start()
    try:
        yield
    finally:
        stopped.set()
        await service.stop()


def watch_models(service: Service, stopped: Event) -> None:
    """Look again and again whether other models are to be served.

    It is a daemon thread of its own, since a registry may take minutes until it fails to answer.
    """
    while not stopped.wait(service.config.watch_seconds):
        service.metrics.swaps.inc(len(service.models.renew()))


class Refusal(JSONResponse):
    """Says why there is no answer; what it quotes may hold half a character, which is escaped."""

    @override
    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode()


def answer_refused(_: Request, error: Exception) -> Refusal:
    """Answer a request that is refused with the reason."""
    assert isinstance(error, RequestError)
    return Refusal({"error": error.message}, error.status, error.headers)


def answer_unreadable(_: Request, error: Exception) -> Refusal:
    """Answer that a document cannot be read, and why."""
    return Refusal({"error": str(error)}, 400)


def answer_unknown(request: Request, error: Exception) -> Refusal:
    """Answer a request for an unknown address."""
    assert isinstance(error, HTTPException)
    body = {
        404: "there is nothing at this address; /docs says what is",
        405: f"{request.method} is not possible here; /docs says what is",
    }.get(error.status_code, str(error.detail))
    return Refusal({"error": body}, error.status_code, error.headers)
