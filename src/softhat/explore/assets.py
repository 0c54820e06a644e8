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

SCRIPTS = ("runtime.js", "logic.js", "pictures.js", "views.js", "tour.js", "page.js")
STYLE = "style.css"
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
SERVED_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
EXAMPLES: list[dict[str, str]] = [
    {"name": "an a, and no c since", "kind": "formula", "text": "!c S a", "word": "abcabb"},
    {
        "name": "every a is answered by b",
        "kind": "formula",
        "text": "G (a -> F b)",
        "word": "acabcb",
    },
    {"name": "bigram", "kind": "formula", "text": "O (b & Y a)", "word": "baacba"},
    {
        "name": "Dyck-1",
        "kind": "formula",
        "text": "H(#('(') >= #(')')) & #('(') = #(')')",
        "word": "(()())",
    },
    {"name": "majority", "kind": "formula", "text": "#(a) > #(b)", "word": "abaab"},
    {"name": "PARITY", "kind": "formula", "text": "F (2*#(a) = #*(a))", "word": "abbaba"},
    {
        "name": "regex: ends with abb, not all b",
        "kind": "regex",
        "text": "(a|b)*abb&~(b*)",
        "word": "abaabb",
    },
    {
        "name": "B-RASP: the last a or c is an a",
        "kind": "program",
        "text": "P(i) := rightmost j <= i [Qa(j) | Qc(j)] Qa(j) : 0\naccept P",
        "word": "abcab",
    },
    {"name": "RASP: histogram", "kind": "rasp", "text": "histogram", "word": "abcab"},
    {"name": "RASP: sort", "kind": "rasp", "text": "sort", "word": "3121"},
    {"name": "AHAT: Dyck by argmin", "kind": "ahat", "text": "dyck-argmin", "word": "(()())"},
    {"name": "AHAT: induction", "kind": "ahat", "text": "induction-latest", "word": "abcabca"},
    {
        "name": "zoo: two flip-flops",
        "kind": "zoo",
        "text": "flip-flop-two-bits",
        "word": "on1 on2 off1",
    },
    {
        "name": "traffic light",
        "kind": "formula",
        "text": "G (req -> X !go)",
        "word": "{req} {} {go}",
    },
]


@cache
def asset(name: str) -> bytes | None:
    """A file of the page; None for anything that is none."""
    if name not in (*SCRIPTS, STYLE):
        return None
    return resources.files("softhat.explore.page").joinpath(name).read_bytes()


def served_page(kinds: list[str], version: str) -> str:
    """The page for the server, which compiles what is typed."""
    data = {"kinds": kinds, "examples": EXAMPLES, "about": _about(version)}
    return _index().replace(_EMPTY, _inline_data(data)).replace("<!--policy-->", "")


def report(view: dict[str, Any], word: str, version: str) -> str:
    """One self-contained file about one model and one word."""
    style = _asset_text(STYLE)
    script = "\n".join(_asset_text(name) for name in SCRIPTS)
    state = {
        "kind": view["kind"],
        "text": view["title"],
        "word": word,
        "attention": view["attention"],
        "alphabet": " ".join(view["alphabet"]),
    }
    data = {"kinds": [view["kind"]], "view": view, "state": state, "about": _about(version)}
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    text = _index().replace(
        "<!--policy-->", f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    )
    text = text.replace(f'<link rel="stylesheet" href="assets/{STYLE}">', f"<style>{style}</style>")
    text = re.sub(r'<script src="assets/[\w.]+"></script>\n', "", text)
    text = text.replace("</body>", f"<script>{script}</script>\n</body>")
    return text.replace(_EMPTY, _inline_data(data))


_EMPTY = '<script type="application/json" id="page-data">null</script>'


def _inline_data(data: Any) -> str:
    """JSON inside a script element: `<` is escaped, so that no text can end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f'<script type="application/json" id="page-data">{text}</script>'


def _about(version: str) -> str:
    return (
        f"softhat {version}: softmax transformers that provably compute what hard attention does. "
        "The numbers here are computed in your browser from the model's own weights."
    )


def _index() -> str:
    return resources.files("softhat.explore.page").joinpath("index.html").read_text("utf-8")


def _asset_text(name: str) -> str:
    found = asset(name)
    assert found is not None
    return found.decode()


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
