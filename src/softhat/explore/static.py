"""The page without a server: everything that the page offers a name for, compiled beforehand.

The browser runs the weights itself, so the word, the temperature, the number format and the length
can be changed as on the served page; only what is typed cannot be compiled. `index.html` holds
everything and opens from the file system or from any web server; `catalogue.json` is its data.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from softhat import __version__
from softhat.explore.assets import catalogue_page
from softhat.explore.names import offers
from softhat.explore.requests import ATTENTIONS, KINDS
from softhat.explore.tapes import zoo_page
from softhat.explore.view_cache import cached_view
from softhat.io.files import check_folder_writable, json_bytes, write_folder
from softhat.io.work.progress import Show

CONFIG = {"format": "softhat-catalogue/1", "softhat": __version__}


def check_static(folder: str | Path) -> None:
    """Refuse a folder that the page could not be written to."""
    check_folder_writable(folder, CONFIG)


def write_static(folder: str | Path, show: Show) -> int:
    """Write the page with its catalogue; how many inputs it has."""
    check_static(folder)
    entries = catalogue(show)
    contents = {
        "index.html": catalogue_page(list(KINDS), entries, __version__).encode(),
        "machines.html": zoo_page("index.html").encode(),
        "catalogue.json": json.dumps(entries, allow_nan=False, separators=(",", ":")).encode(),
        "config.json": json_bytes(CONFIG),
    }
    write_folder(folder, contents)
    return len(entries)


def catalogue(show: Show) -> list[dict[str, Any]]:
    """Every offer of the page as `{kind, text, views}`, a view for each attention that it has."""
    asked = [(kind, offer) for kind, some in offers().items() for offer in some]
    entries = []
    for done, (kind, offer) in enumerate(asked):
        show("inputs", done, len(asked), offer["name"])
        entries.append({"kind": kind, "text": offer["text"], "views": _views(kind, offer)})
    return entries


def _views(kind: str, offer: dict[str, Any]) -> dict[str, Any]:
    """A simulation has its own temperatures: one view is all there is of it."""
    question = {name: offer[name] for name in ("text", "word", "alphabet")}
    views: dict[str, Any] = {}
    for attention in ATTENTIONS:
        views[attention] = cached_view({"kind": kind, "attention": attention, **question})
        if views[attention]["kind"] == "ahat":
            break
    return views
