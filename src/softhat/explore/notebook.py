"""The page inside a notebook: a frame that holds it whole, without a server."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from softhat import __version__
from softhat.explore.assets import report
from softhat.explore.tapes import tape_page
from softhat.explore.view import view_of
from softhat.frontends.machines.machine import Machine, Run
from softhat.frontends.machines.space_time import MOST_ROWS
from softhat.io.argument_types import shown, whole_number
from softhat.io.errors import SofthatError
from softhat.models.model import Model
from softhat.models.value_model import ValueModel
from softhat.runtime.answers import Answers


@dataclass(frozen=True)
class Page:
    """The explorer's page about one model and one word."""

    html: str
    height: int = 760

    def __repr__(self) -> str:
        return f"<softhat.Page of {len(self.html) // 1024} KiB: shown by a notebook, or its .html>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html, quote=True)}" sandbox="allow-scripts '
            f'allow-downloads" style="width:100%;height:{self.height}px;border:0"></iframe>'
        )


def show(model: Any, word: Any, height: int = 760) -> Page:
    """The page about a model and a word, to look at in a notebook or to write to a file.

    Of a machine and its input (or a run of it) it is the picture of the run in space and time.
    """
    whole_number("height", height, least=1)
    if isinstance(model, Machine):
        run = word if isinstance(word, Run) else model.run(word, max_steps=MOST_ROWS)
        return Page(tape_page([(model.kind, model, run)]), height)
    if not isinstance(model, Answers):
        raise SofthatError(f"expected a model or a machine, not {shown(model)}")
    codes = model.encode(word)  # an unknown symbol is told here
    if isinstance(model, ValueModel):
        word = [model.transformer.symbols[code] for code in codes]
    view = view_of(model)
    if isinstance(model, Model) and model.at is not None:
        for output in view["outputs"]:
            output["at"] = model.at  # where its words are accepted, if that is not the usual end
    return Page(report(view, spelt(word), __version__), height)


def spelt(word: Any) -> str:
    """A word as the page reads it: characters, tokens with spaces, or sets in braces."""
    parts = list(word)
    if any(not isinstance(part, str) for part in parts):
        return " ".join("{" + ",".join(sorted(part)) + "}" for part in parts)
    return "".join(parts) if all(len(part) == 1 for part in parts) else " ".join(parts)
