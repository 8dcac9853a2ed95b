"""Receives uploaded files and imports them with the code of `sloscope import`; keeps no upload."""

from __future__ import annotations

import asyncio
import re
import tarfile
import tempfile
from datetime import datetime
from pathlib import Path

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from collector.api.bodies import BodyLimits
from collector.api.questions import moment
from collector.api.services import Parts, Services
from collector.security.tokens import INGEST
from signals.errors import InputError, PayloadError, TooLargeError

router = APIRouter(prefix="/api/v1", tags=["ingest"])
#: Files of one archive.
MAX_FILES = 20_000
#: Times that an archive may be larger unpacked than the upload limit.
UNPACKED = 4


@router.post("/import", summary="Import a file or a tar archive")
async def import_(
    request: Request,
    parts: Parts,
    name: str | None = Query(None, description="file name; its stem names the view, e.g. requests.parquet"),
    instance: str | None = Query(None),
    model: str | None = Query(None),
    start: str | None = Query(None, description="time of offset 0 in traces with ts_ms or t_s"),
) -> JSONResponse:
    """Import Parquet, CSV, request logs, recorded pages or OTLP bodies; twice stores once."""
    parts.admit(request, INGEST)
    since = moment(start, "start")
    limits = BodyLimits(parts.config.max_import_bytes, parts.config.max_import_bytes, 600.0)
    with tempfile.TemporaryDirectory(prefix="sloscope-import-") as folder:
        upload = Path(folder) / "upload"
        await _save(request, upload, limits)
        content = await asyncio.to_thread(_import, parts, upload, name, instance, model, since)
    return JSONResponse(content)


async def _save(request: Request, path: Path, limits: BodyLimits) -> None:
    """Write the body to a file, within the limits of size and time."""
    size = 0
    try:
        async with asyncio.timeout(limits.seconds):
            with path.open("wb") as file:
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > limits.sent:
                        raise TooLargeError(f"upload is over the limit of {limits.sent} bytes", limit=limits.sent)
                    file.write(chunk)
    except TimeoutError:
        raise PayloadError(f"the upload took longer than {limits.seconds:g} s", status=408) from None
    if size == 0:
        raise PayloadError("the body is empty; send a file, or a tar archive of files")


def _import(
    parts: Services, upload: Path, name: str | None, instance: str | None, model: str | None, since: datetime | None
) -> dict[str, object]:
    from collector.importer.run import Options, import_sources
    from collector.importer.sources import recognise

    folder = upload.parent / "content"
    folder.mkdir()
    if tarfile.is_tarfile(upload):
        _unpack(upload, folder, parts.config.max_import_bytes * UNPACKED)
    else:
        if name is None:
            raise InputError("the name of an uploaded file is needed: ?name=requests.parquet")
        upload.replace(folder / _safe(name))
    found = recognise(tuple(str(entry) for entry in sorted(folder.iterdir())))
    outcome = import_sources(parts.store, list(found.sources), Options(instance, model, since), lambda _: None)

    def told(lines: list[str]) -> list[str]:
        return [line.replace(f"{folder}/", "") for line in lines]

    outcome.skipped[:0] = found.skipped
    outcome.skipped, outcome.faults = told(outcome.skipped), told(outcome.faults)
    return outcome.document()


def _unpack(archive: Path, folder: Path, limit: int) -> None:
    """Unpack an archive; members that point outside, links and devices are refused by the data filter."""
    size = 0
    try:
        with tarfile.open(archive) as members:
            for number, member in enumerate(members):
                size += member.size
                if size > limit or number >= MAX_FILES:
                    raise TooLargeError(f"the archive is over {limit} bytes or {MAX_FILES} files unpacked", limit=limit)
                members.extract(member, folder, filter="data")
    except (tarfile.TarError, EOFError, OSError) as error:
        raise PayloadError(f"the archive cannot be unpacked: {error}") from error


def _safe(name: str) -> str:
    """Return the last part of a file name; InputError when it is not a plain one."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}", last):
        raise InputError(f"{last!r} is no plain file name")
    return last
