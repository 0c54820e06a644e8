"""The server: what it serves, what it refuses, and that it stays alive under fire."""

from __future__ import annotations

import contextlib
import json
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from softhat.explore import workers as room
from softhat.explore.assets import scripts
from tests.explore.browser import explorer

MAIN = "from softhat.cli import main; main()"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with explorer() as found:
        yield found


def ask(
    address: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    method: str | None = None,
) -> tuple[int, dict[str, str], bytes]:
    place = urlsplit(address).netloc
    connection = HTTPConnection(place, timeout=60)
    connection.putrequest(method or ("GET" if body is None else "POST"), path, skip_host=True)
    sent = {"Host": place, "Content-Length": str(len(body or b"")), **(headers or {})}
    for name, value in sent.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    reply = connection.getresponse()
    result = reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read()
    connection.close()
    return result


def view(address: str, **fields: Any) -> tuple[int, Any]:
    asked = {"kind": "formula", "text": "a", "attention": "unbounded", **fields}
    status, _, body = ask(address, "/api/view", json.dumps(asked).encode())
    return status, json.loads(body)


def test_the_page_and_its_policy(address: str) -> None:
    status, headers, body = ask(address, "/")
    assert status == 200
    assert b"<title>softhat" in body
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    total = sum(len(ask(address, f"/assets/{name}")[2]) for name in scripts())
    assert 10_000 < total < 1_000_000


@pytest.mark.parametrize(
    "path", ["/assets/../server.py", "/assets/%2e%2e%2fserver.py", "/assets/x.js", "/etc/passwd",
             "/assets/__init__.py", "//etc/passwd", "/docs", "/openapi.json"]
)  # fmt: skip
def test_nothing_else_is_served(address: str, path: str) -> None:
    assert ask(address, path)[0] == 404


def test_other_hosts_and_origins_are_refused(address: str) -> None:
    assert ask(address, "/", headers={"Host": "evil.example"})[0] == 403
    body = json.dumps({"kind": "formula", "text": "a", "attention": "unbounded"}).encode()
    assert ask(address, "/api/view", body, {"Origin": "http://evil.example"})[0] == 403
    own = address.rstrip("/")
    assert ask(address, "/api/view", body, {"Origin": own})[0] == 200


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"text": "a S (b"}, "never closed"),
        ({"text": 7}, "must be text"),
        ({"kind": "magic"}, "unknown kind"),
        ({"attention": "hard"}, "unknown attention"),
        ({"text": "a" * 30_000}, "more than 20,000"),
        ({"text": "&".join(f"O x{k}" for k in range(900))}, ""),
        ({"text": "a", "alphabet": "b"}, "'a'"),
        ({"text": "!" * 15_000 + "a"}, ""),
    ],
)
def test_bad_requests_are_4xx_with_a_message(address: str, fields: Any, said: str) -> None:
    status, answer = view(address, **fields)
    assert 400 <= status < 500
    assert said in answer["error"]
    assert "Traceback" not in answer["error"]


def test_no_json_and_too_much(address: str) -> None:
    assert ask(address, "/api/view", b"{")[0] == 400
    assert ask(address, "/api/view", b"[1]")[0] == 400
    assert ask(address, "/api/view", b"[" * 50_000)[0] == 400
    assert ask(address, "/api/view", b"x" * 300_000)[0] == 413


def test_two_hundred_requests_at_once(address: str) -> None:
    rng = random.Random(3)
    hostile = [
        {"text": "(" * 9000 + "a"},
        {"text": " & ".join(f"(x{k} S y{k})" for k in range(500))},
        {"text": "#(a) > " + "9" * 5000},
        {"text": "Y " * 4000 + "a"},
        {"text": "\x00\ud800"},
    ]

    def one(k: int) -> int:
        if k % 2:
            return view(address, text=f"{'Y ' * (k % 7)}a S b", word="ab" * (k % 5))[0]
        return view(address, **rng.choice(hostile))[0]

    with ThreadPoolExecutor(40) as pool:
        statuses = list(pool.map(one, range(200)))
    assert set(statuses) <= {200, 422, 503, 504}
    assert view(address, text="a S b")[0] == 200


def _ahat(text: str) -> dict[str, str]:
    return {"kind": "ahat", "text": text, "attention": "unbounded", "word": ""}


def test_light_work_passes_heavy_work() -> None:
    """Six long requests do not keep a small one waiting."""
    from softhat.ahat.file import dumps
    from softhat.ahat.gallery import GALLERY

    pool = room.Workers(seconds=600)
    try:
        text = dumps(GALLERY["sort"]())  # as one's own: so nobody has kept its certificate
        gone = threading.Event()
        with ThreadPoolExecutor(8) as threads:
            heavy = [threads.submit(pool.answer, _ahat(text + " " * k), gone) for k in range(6)]
            time.sleep(room.MOMENT)
            light = {"kind": "formula", "text": "a S b", "attention": "unbounded", "word": "ab"}
            assert threads.submit(pool.answer, light).result(timeout=60)[0] == 200
            waiting = [one for one in heavy if not one.done()]
            assert waiting  # it was not after them that it came
            gone.set()  # nobody waits any more: they are dropped at once
            for one in heavy:
                assert one.result(timeout=30)[0] in (200, 503)
    finally:
        pool.end()


def test_half_sent_requests_block_nobody(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softhat.explore.server.HEADER_SECONDS", 1.0)
    place = urlsplit(address)
    with contextlib.ExitStack() as stack:
        halves = [
            stack.enter_context(socket.create_connection((place.hostname, place.port), timeout=30))
            for _ in range(265)
        ]
        for half in halves:
            half.sendall(b"POST /api/view HTTP/1.1\r\nHost: ")
        assert view(address, text="a S b")[0] == 200
        halves[0].settimeout(30)
        assert halves[0].recv(100) == b""  # cut off after a while


def test_a_body_that_never_comes_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softhat.explore.server.BODY_SECONDS", 0.5)
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port), timeout=30) as half:
        head = f"POST /api/view HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: 9\r\n\r\n{{"
        half.sendall(head.encode())
        assert half.recv(100).startswith(b"HTTP/1.1 408")


def test_control_c_ends_it_while_it_works() -> None:
    """A long request under way, and a connection held open: it ends all the same."""
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, "explore", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        found = re.search(r"http://[\d.]+:(\d+)/", process.stdout.readline())
        assert found is not None
        body = json.dumps({"kind": "ahat", "text": "sort", "attention": "unbounded"}).encode()
        with socket.create_connection(("127.0.0.1", int(found.group(1))), timeout=30) as busy:
            head = f"Host: 127.0.0.1:{found.group(1)}\r\nContent-Length: {len(body)}"
            busy.sendall(f"POST /api/view HTTP/1.1\r\n{head}\r\n\r\n".encode() + body)
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 130


def test_a_worker_may_be_ended_twice_at_once() -> None:
    """By its request, which found it dead, and by the server, which ends them all."""
    workers = room.Workers(count=1)
    (worker,) = workers._idle
    with ThreadPoolExecutor(8) as threads:
        for ended in [threads.submit(worker.end) for _ in range(8)]:
            ended.result()
    workers.end()
    assert not worker.lives
