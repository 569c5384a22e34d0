"""The server as an ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from threading import Event, Thread

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from nmt_core.base.errors import DocumentError
from nmt_core.server.errors import RequestError
from nmt_core.server.middleware import RequestMiddleware, render_error
from nmt_core.server.models import Models
from nmt_core.server.routes import router
from nmt_core.server.service import Service
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import ApiKeys


def build_app(models: Models, config: ServerConfig, keys: ApiKeys | None = None) -> FastAPI:
    """Return the application.

    Args:
        models: the served models.
        config: its limits.
        keys: API keys; None if everybody may use it.
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
    for error in (RequestError, DocumentError, HTTPException):
        app.add_exception_handler(error, answer_error)
    app.add_middleware(RequestMiddleware, config=config, metrics=service.metrics)
    if config.origins:  # around the limits, so that pages of friends can read refusals, too
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
        service.metrics.swaps.inc(service.models.renew())


def answer_error(request: Request, error: Exception) -> Response:
    """Answer a request that is refused, cannot be read or has an unknown address."""
    if isinstance(error, HTTPException):
        message = {
            404: "there is nothing at this address; /docs says what is",
            405: f"{request.method} is not possible here; /docs says what is",
        }.get(error.status_code, str(error.detail))
        error = RequestError(error.status_code, message, error.headers)
    return render_error(error if isinstance(error, RequestError) else RequestError(400, str(error)))
