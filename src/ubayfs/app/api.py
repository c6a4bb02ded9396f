"""What pages get and send over HTTP, beside their own connection: rows of features, uploads and downloads."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response

from ..exceptions import InputError, UBayFSError
from ..report.document import visible
from .guard import BROWSER
from .intake import size_problem, upload_name
from .sessions import ExpertSession, Sessions

_SPARE = 50 * 1024**2  # bytes of the disk that an upload leaves free: the log of edits needs some


async def store_upload(folder: Path, name: str, stream: AsyncIterator[bytes], length: int | None) -> Path:
    """Write a stream to a file in a folder, piece by piece; another file of this name is replaced when all is there.

    Raises
    ------
    InputError
        If it is longer than an upload may be, or than the disk has room for; nothing is left of it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target, part = folder / upload_name(name), folder / f".{uuid4().hex}.part"
    free = check_length(folder, target.name, length or 0)
    n_bytes = 0
    try:
        with open(part, "xb") as file:
            async for piece in stream:
                n_bytes += len(piece)
                _check_length(target.name, n_bytes, free)
                file.write(piece)
            if length is not None and n_bytes != length:
                raise InputError("the file did not arrive completely; send it again.")
            file.flush()
            await asyncio.to_thread(os.fsync, file.fileno())
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return target


def check_length(folder: Path, name: str, n_bytes: int) -> int:
    """Return the bytes that are free for uploads; raise InputError if a file is too large to be read or stored."""
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free - _SPARE
    _check_length(name, n_bytes, free)
    return free


def _check_length(name: str, n_bytes: int, free: int) -> None:
    if (problem := size_problem(name, n_bytes)) is not None:
        raise InputError(problem)
    if n_bytes > free:
        room = f"the disk of the server has room for {max(free, 0) / 10**9:.1f} GB only"
        raise InputError(f"{name} cannot be stored: {room}. Free space there, or send a smaller file.")


def feature_rows(bench: ExpertSession) -> dict[str, Any]:
    """Return all features for a table, by column: most have no block, and nothing is stated of them.

    ``names``, ``blocks`` or null, ``stated`` (votes or word, and why, by position), and ``votes``, or null if the
    expert may not see them.
    """
    facts, blocks_of = bench.facts, dict[str, str]()
    names = [] if facts is None else facts.feature_names
    for block, members in () if facts is None else facts.blocks.items():
        blocks_of |= {name: f"{blocks_of[name]}, {block}" if name in blocks_of else block for name in members}
    stated, votes, places = bench.stated, bench.votes, {name: i for i, name in enumerate(names)}
    return {
        "names": names,
        "blocks": [blocks_of.get(name, "") for name in names] if blocks_of else None,
        "stated": {places[name]: word for name, word in stated.items() if name in places},
        "votes": None if votes is None else votes.tolist(),
    }


def add_static(app: Any, contents: Mapping[str, tuple[str, str]]) -> None:
    """Serve texts of the package at ``/_app/``."""

    async def static(name: str) -> Any:
        text, kind = contents.get(name, ("", "text/plain"))
        return Response(text, 200 if text else 404, {"cache-control": "max-age=60"}, kind)

    app.get("/_app/{name}", include_in_schema=False)(static)


def add_routes(app: Any, sessions: Sessions) -> None:
    """Register the addresses of a study: features, uploads, downloads."""

    def plain(value: Any, status: int = 200) -> Response:
        content = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
        return Response(content.encode("utf-8", "replace"), status, media_type="application/json")

    async def refuse(request: Request, error: Exception) -> Response:
        """Answer what is wrong, without the place of a file on this machine."""
        reason = f"The server cannot do it: {error.strerror}." if isinstance(error, OSError) else str(error)
        usual = 413 if request.url.path.endswith("/upload") else 404
        status = {"study": 404, "expert": 403, "votes": 403}.get(getattr(error, "argument", None) or "", usual)
        return plain({"error": visible(reason)}, status)

    for wrong in (UBayFSError, OSError, ClientDisconnect):  # nobody reads the last
        app.add_exception_handler(wrong, refuse)

    async def session(request: Request, study: str, expert: str = "") -> ExpertSession:
        return await asyncio.to_thread(sessions.open, request.scope.get(BROWSER, ""), study, expert)

    async def features(request: Request, study: str, expert: str = "") -> Response:
        return plain(feature_rows(await session(request, study, expert)))

    async def may_upload(request: Request, study: str, name: str, size: int) -> Response:
        check_length((await session(request, study)).directory / "uploads", upload_name(name), size)
        return plain({})

    async def upload(request: Request, study: str, name: str) -> Response:
        length, folder = request.headers.get("content-length"), (await session(request, study)).directory / "uploads"
        path = await store_upload(folder, name, request.stream(), int(length) if length else None)
        return plain({"path": f"uploads/{path.name}"})

    async def download(request: Request, study: str, kind: str, version: int | None = None, expert: str = "") -> Any:
        path = await asyncio.wrap_future((await session(request, study, expert)).export(kind, version))
        return FileResponse(path, filename=Path(path).name)

    app.get("/s/{study}/features.json", include_in_schema=False)(features)
    app.get("/s/{study}/upload", include_in_schema=False)(may_upload)
    app.post("/s/{study}/upload", include_in_schema=False)(upload)
    app.get("/s/{study}/download/{kind}", include_in_schema=False)(download)
