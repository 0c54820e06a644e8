"""The page's files, and the two ways of handing them out: served, or as one file.

The same scripts run in both. A report holds its scripts, its style and one view; a content
security policy names their digests, so that nothing else runs in it, and it loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib import resources
from typing import Any

from softhat.explore.names import offers, template

STYLE = "style.css"
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
SERVED_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@cache
def scripts() -> tuple[str, ...]:
    """The page's scripts as it loads them, each after those that it uses."""
    return tuple(re.findall(r'<script src="assets/([\w.]+)">', _index()))


@cache
def asset(name: str) -> bytes | None:
    """A file of the page; None if the page has no such file."""
    if name not in (*scripts(), STYLE):
        return None
    return resources.files("softhat.explore.page").joinpath(name).read_bytes()


def served_page(kinds: list[str], version: str) -> str:
    """The page for the server, which compiles what is typed."""
    data = {
        "mode": "served",
        "kinds": kinds,
        "names": offers(),
        "template": template(),
        "about": _about(version),
    }
    return _index().replace(_EMPTY, _inline_data(data)).replace("<!--policy-->", "")


def catalogue_page(kinds: list[str], entries: list[dict[str, Any]], version: str) -> str:
    """One self-contained file about everything that was compiled beforehand."""
    return _one_file(
        {
            "mode": "catalogue",
            "kinds": kinds,
            "names": offers(),
            "catalogue": entries,
            "about": f"{_about(version)} This copy has no compiler: choose a name. "
            "softhat explore compiles what you type.",
        }
    )


def report(view: dict[str, Any], word: str, version: str) -> str:
    """One self-contained file about one model and one word."""
    state = {
        "kind": view["kind"],
        "text": view["title"],
        "word": word,
        "attention": view["attention"],
        "alphabet": " ".join(view["alphabet"]),
    }
    return _one_file(
        {
            "mode": "report",
            "kinds": [view["kind"]],
            "view": view,
            "state": state,
            "about": _about(version),
        }
    )


def _one_file(data: dict[str, Any]) -> str:
    """The page with its scripts, its style and its data inside: it loads nothing."""
    style = _asset_text(STYLE)
    script = "\n".join(_asset_text(name) for name in scripts())
    text = with_policy(_index(), script, style, "data: blob:")
    text = text.replace(f'<link rel="stylesheet" href="assets/{STYLE}">', f"<style>{style}</style>")
    text = re.sub(r'<script src="assets/[\w.]+"></script>\n', "", text)
    text = text.replace("</body>", f"<script>{script}</script>\n</body>")
    return text.replace(_EMPTY, _inline_data(data))


def with_policy(page: str, script: str, style: str, images: str) -> str:
    """The page with a content security policy: it runs this script and this style, loads images
    from these sources, and nothing else."""
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        f"img-src {images}; base-uri 'none'; form-action 'none'"
    )
    return page.replace(
        "<!--policy-->", f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    )


_EMPTY = '<script type="application/json" id="page-data">null</script>'


def escaped_json(data: Any) -> str:
    """JSON for inside a script element: `<` is escaped, so that no text can end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _inline_data(data: Any) -> str:
    return f'<script type="application/json" id="page-data">{escaped_json(data)}</script>'


def _about(version: str) -> str:
    return (
        f"softhat {version}: softmax transformers that provably compute what hard attention does. "
        "The numbers here are computed in your browser from the model's own weights."
    )


def _index() -> str:
    return page_file("index.html")


def page_file(name: str) -> str:
    """A file beside the page's scripts, as text."""
    return resources.files("softhat.explore.page").joinpath(name).read_text("utf-8")


def _asset_text(name: str) -> str:
    content = asset(name)
    assert content is not None
    return content.decode()


def _digest(text: str) -> str:
    """How a content security policy names a script or a style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
