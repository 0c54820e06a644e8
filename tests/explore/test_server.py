"""The server: what it serves, what it refuses, and that it stays alive under fire."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.explore.browser import explorer


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
    total = sum(
        len(ask(address, f"/assets/{name}")[2])
        for name in ("runtime.js", "logic.js", "pictures.js", "views.js", "tour.js", "page.js")
    )
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
