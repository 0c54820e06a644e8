"""`softhat explore`: the page on this machine, for whoever sits at it.

Bound to the loopback address. Requests must name this host (a page of another site cannot talk to
it, whatever its name resolves to) and come from the page itself; only the page's own files are
served, under a content security policy.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from softhat import __version__
from softhat.explore.assets import SERVED_POLICY, TYPES, asset, served_page
from softhat.explore.requests import KINDS
from softhat.explore.tapes import zoo_page
from softhat.explore.workers import Answer, Workers
from softhat.io.errors import extra

with extra("fastapi and uvicorn", "explore"):
    import uvicorn
    from fastapi import FastAPI, Request, Response
    from fastapi.concurrency import run_in_threadpool
    from fastapi.responses import JSONResponse
    from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_BYTES = 1 << 17
HEADER_SECONDS, BODY_SECONDS = 5.0, 10.0
"""How long a request may take to come in."""
CONNECTIONS = 800
"""Connections at a time: fewer than the files that a process may commonly open."""
GLANCE = 0.1
"""Seconds between looks whether whoever asked is still there."""
HEADERS = {
    "Content-Security-Policy": SERVED_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
PAGE_HEADERS = {"Content-Security-Policy": "frame-ancestors 'none'"}
"""Of a page that has a policy of its own inside."""


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
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    async def index() -> Response:
        return Response(
            served_page(list(KINDS), __version__), media_type="text/html; charset=utf-8"
        )

    async def file(name: str) -> Response:
        content = asset(name)
        if content is None:
            return refused(404, "no such file")
        return Response(content, media_type=TYPES[name[name.rindex(".") :]])

    async def view(request: Request) -> Response:
        try:
            body = await asyncio.wait_for(_body(request), BODY_SECONDS)
        except TimeoutError:
            return refused(408, f"a request is sent within {BODY_SECONDS:g} s")
        if len(body) > MOST_BYTES:
            return refused(413, f"a request has at most {MOST_BYTES:,} bytes")
        asked = _json_object(body)
        if asked is None:
            return refused(400, "a request is a JSON object")
        status, answer = await _answered(workers, asked, request)
        return Response(answer, status_code=status, media_type="application/json")

    async def tapes() -> Response:
        page = await run_in_threadpool(zoo_page, "./")
        return Response(page, media_type="text/html; charset=utf-8", headers=PAGE_HEADERS)

    app.add_api_route("/machines.html", tapes, methods=["GET"], response_model=None)
    app.add_api_route("/", index, methods=["GET"], response_model=None)
    app.add_api_route("/assets/{name}", file, methods=["GET"], response_model=None)
    app.add_api_route("/api/view", view, methods=["POST"], response_model=None)
    return app


async def _body(request: Request) -> bytes:
    """What a request says, or as much of it as is too much."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            break
    return body


async def _answered(workers: Workers, asked: dict[str, Any], request: Request) -> Answer:
    """The workers' answer; they are told when whoever asked has gone."""
    gone = threading.Event()
    answer = asyncio.ensure_future(run_in_threadpool(workers.answer, asked, gone))
    try:
        while not answer.done():
            await asyncio.wait([answer], timeout=GLANCE)
            if not answer.done() and await request.is_disconnected():
                gone.set()
        return answer.result()
    finally:
        gone.set()


class Patient(H11Protocol):
    """HTTP that waits only so long for a request's header: whoever sends half of one is cut off.

    uvicorn has a limit for connections between requests, and none for those inside a header.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect_a_header()

    def data_received(self, data: bytes) -> None:
        if self._deadline is None and not self._is_answering():
            self._expect_a_header()
        super().data_received(data)
        if self._is_answering():
            self._stop_expecting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_expecting()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_a_header(self) -> None:
        self._deadline = self.loop.call_later(HEADER_SECONDS, self._cut_off)

    def _stop_expecting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cut_off(self) -> None:
        if not self._is_answering() and not self.transport.is_closing():
            self.transport.abort()


class _Server(uvicorn.Server):
    """A server whose work ends with it: nobody waits for a formula when Ctrl-C is pressed."""

    def __init__(self, settings: uvicorn.Config, workers: Workers) -> None:
        super().__init__(settings)
        self._workers = workers

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._workers.end()
        await super().shutdown(sockets)


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
        settings = uvicorn.Config(
            app,
            http=Patient,
            ws="none",
            log_level="warning",
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=1,
        )
        self._server = _Server(settings, self.workers)

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
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
