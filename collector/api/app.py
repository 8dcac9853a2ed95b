"""Assembles the HTTP application from its parts; opens no file, binds no port."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from fastapi import FastAPI

from collector.api import (
    answers,
    backups,
    changes,
    health,
    imports,
    latency,
    observe,
    otlp,
    planning,
    problems,
    recorded,
    records,
    remote_write,
    scaling,
    sql,
)
from collector.api.services import Services

__all__ = ["build_app"]

ROUTERS = (
    health.router,
    otlp.router,
    remote_write.router,
    changes.router,
    imports.router,
    answers.router,
    latency.router,
    records.router,
    recorded.router,
    planning.router,
    observe.router,
    scaling.router,
    sql.router,
    backups.router,
)


def build_app(parts: Services) -> FastAPI:
    """Return the application that serves `parts`."""
    app = FastAPI(title="sloscope collector", version=own_version(), docs_url=None, redoc_url=None)
    app.state.services = parts
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router)
    return app


def own_version() -> str:
    """Return the installed version, or 0 where the package is used from a source tree without installation."""
    try:
        return version("sloscope")
    except PackageNotFoundError:
        return "0"
