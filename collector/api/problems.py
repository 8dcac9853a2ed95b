"""Turns every error into one shape, application/problem+json (RFC 9457); never shows a trace, a path or a secret."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from collector.store.store import GIVEN_UP
from signals.errors import ConfigError, SloscopeError, StoreError, TooLargeError

MEDIA_TYPE = "application/problem+json"
#: Namespace of problem types: the last part names the class of the error tree.
TYPE_PREFIX = "urn:sloscope:problem:"

log = logging.getLogger(__name__)


def problem(
    status: int,
    kind: str,
    title: str,
    detail: str,
    instance: str,
    errors: list[dict[str, object]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return one problem: type, title, status, detail, instance and errors are always there."""
    content = {
        "type": TYPE_PREFIX + kind,
        "title": title,
        "status": status,
        "detail": detail,
        "instance": instance,
        "errors": errors or [],
    }
    return JSONResponse(content, status, dict(headers or {}), media_type=MEDIA_TYPE)


def of_error(error: SloscopeError, instance: str) -> JSONResponse:
    """Return the problem of one of our own errors; its status is the class's unless the error carries one."""
    status = error.data.get("status", error.http_status)
    kind = type(error).__name__.removesuffix("Error").lower()
    errors: list[dict[str, object]] = []
    if isinstance(error, ConfigError):
        errors = [{"detail": fault} for fault in error.faults]
    told = {key: value for key, value in error.data.items() if key not in {"status", "retry_after"}}
    if told:
        errors.append({key: _plain(value) for key, value in told.items()})
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="sloscope"'
    if "retry_after" in error.data:
        headers["Retry-After"] = str(error.data["retry_after"])
    if isinstance(error, TooLargeError):
        headers["Connection"] = "close"
    return problem(int(str(status)), kind, error.title, error.message, instance, errors, headers)


def install(app: FastAPI) -> None:
    """Make every failure of the application answer in the one shape."""

    @app.exception_handler(SloscopeError)
    async def _ours(request: Request, error: SloscopeError) -> JSONResponse:
        return of_error(error, request.url.path)

    @app.exception_handler(RequestValidationError)
    async def _parameters(request: Request, error: RequestValidationError) -> JSONResponse:
        errors: list[dict[str, object]] = [
            {"parameter": ".".join(str(part) for part in fault["loc"][1:]), "detail": str(fault["msg"])}
            for fault in error.errors()
        ]
        told = "; ".join(f"{fault['parameter']}: {fault['detail']}" for fault in errors)
        return problem(422, "parameter", "Unusable parameter", told, request.url.path, errors)

    @app.exception_handler(HTTPException)
    async def _framework(request: Request, error: HTTPException) -> JSONResponse:
        titles = {404: "No such resource", 405: "Method not allowed"}
        title = titles.get(error.status_code, "Request refused")
        detail = f"{request.method} {request.url.path}: {error.detail}"
        return problem(error.status_code, "http", title, detail, request.url.path, headers=error.headers)

    async def _given_up(request: Request, error: Exception) -> JSONResponse:
        log.error("the database cannot be read while answering %s", request.url.path, exc_info=error)
        told = StoreError("the database is being opened again after its disk refused; ask again", retry_after=5)
        return of_error(told, request.url.path)

    for kind in GIVEN_UP:
        app.add_exception_handler(kind, _given_up)

    @app.exception_handler(Exception)
    async def _unexpected(request: Request, error: Exception) -> JSONResponse:
        log.error("defect while answering %s %s", request.method, request.url.path, exc_info=error)
        detail = f"a defect: {type(error).__name__}; the server's log has the details"
        return problem(500, "internal", "Internal error", detail, request.url.path)


def _plain(value: object) -> object:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return str(value)
