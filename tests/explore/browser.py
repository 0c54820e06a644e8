"""Real Chromium for the tests of the page, where it is installed."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)

needs_browser = pytest.mark.skipif(
    CHROMIUM is None,
    reason="no Chromium: `make browser` installs it (Debian's package chromium-headless-shell)",
)


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless browser."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def explorer() -> Iterator[str]:
    """The explorer's server in this process, on a free port; its address."""
    pytest.importorskip("fastapi")
    from softhat.explore.server import Explorer

    server = Explorer(0)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server.address
    finally:
        server.stop()
        thread.join(timeout=20)


def at(address: str, formula: str, word: str, **more: str) -> str:
    """The page's address with a formula and a word in it."""
    fields = {"k": "formula", "f": formula, "w": word, **more}
    return address + "#" + "&".join(f"{name}={quote(value)}" for name, value in fields.items())


def ready(page: Any, timeout: float = 60_000) -> None:
    """Wait until the screen answers what is asked."""
    page.wait_for_function(
        "() => document.body.dataset.status === 'ready' "
        "&& document.body.dataset.drawn === document.body.dataset.generation",
        timeout=timeout,
    )


def assets() -> Path:
    import softhat.explore

    return Path(str(softhat.explore.__file__)).parent / "page"
