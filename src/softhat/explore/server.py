"""`softhat explore`: the page on this machine, for whoever sits at it.

Bound to the loopback address. Requests must name this host (a page of another site cannot talk to
it, whatever its name resolves to) and come from the page itself; only the page's own files are
served, under a content security policy.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from softhat import __version__
from softhat.errors import MissingExtraError
from softhat.explore.assets import SERVED_POLICY, TYPES, asset, served_page
from softhat.explore.requests import KINDS
from softhat.explore.workers import Workers

try:
    import uvicorn
    from fastapi import FastAPI, Request, Response
    from fastapi.concurrency import run_in_threadpool
    from fastapi.responses import JSONResponse
except ImportError:
    raise MissingExtraError("fastapi and uvicorn", "explore") from None

MOST_BYTES = 1 << 17
HEADERS = {
    "Content-Security-Policy": SERVED_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def application(port: int, workers: Workers) -> FastAPI:
    """The server's routes."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
    origins = {f"http://{host}" for host in hosts}

    def refused(status: int, message: str) -> Response:
        return JSONResponse({"error": message}, status_code=status, headers=HEADERS)

    @app.middleware("http")
    async def guard(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        if request.headers.get("host") not in hosts:
            return refused(403, "this server answers on its own address only")
        origin = request.headers.get("origin")
        if origin is not None and origin not in origins:
            return refused(403, "requests from other sites are refused")
        response = await call_next(request)
        response.headers.update(HEADERS)
        return response

    async def index() -> Response:
        return Response(
            served_page(list(KINDS), __version__), media_type="text/html; charset=utf-8"
        )

    async def file(name: str) -> Response:
        found = asset(name)
        if found is None:
            return refused(404, "no such file")
        return Response(found, media_type=TYPES[name[name.rindex(".") :]])

    async def view(request: Request) -> Response:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > MOST_BYTES:
                return refused(413, f"a request has at most {MOST_BYTES:,} bytes")
        asked = _json_object(body)
        if asked is None:
            return refused(400, "a request is a JSON object")
        status, answer = await run_in_threadpool(workers.answer, asked)
        return Response(answer, status_code=status, media_type="application/json")

    app.add_api_route("/", index, methods=["GET"], response_model=None)
    app.add_api_route("/assets/{name}", file, methods=["GET"], response_model=None)
    app.add_api_route("/api/view", view, methods=["POST"], response_model=None)
    return app


class Explorer:
    """The server with its workers, listening; port 0 takes a free one."""

    def __init__(self, port: int) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", port))
        self._socket.listen(256)  # whoever read the address may connect from now on
        self.port: int = self._socket.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}/"
        self.workers = Workers()
        app = application(self.port, self.workers)
        settings = uvicorn.Config(app, log_level="warning", limit_concurrency=256)
        self._server = uvicorn.Server(settings)

    def run(self) -> None:
        """Serve until stopped or interrupted."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self.workers.end()
            self._socket.close()

    def stop(self) -> None:
        """Ask a running server to end."""
        self._server.should_exit = True


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
