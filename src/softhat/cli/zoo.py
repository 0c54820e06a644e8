"""`softhat zoo`: named languages and tasks, what is known about them, and what they cost."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from softhat.cli.inputs import JsonOption
from softhat.cli.output import print_facts, print_json, print_table
from softhat.errors import SofthatError
from softhat.zoo.catalogue import entry_of, formula_of, zoo
from softhat.zoo.entry import Entry
from softhat.zoo.references import REFERENCES

_TITLE = 56


def command(
    action: Annotated[
        str | None, typer.Argument(metavar="[show NAME]", help="`show` and an entry's name.")
    ] = None,
    name: Annotated[str | None, typer.Argument(hidden=True)] = None,
    family: Annotated[str | None, typer.Option("--family", help="List one family only.")] = None,
    file: Annotated[
        Path | None, typer.Option("-o", "--out", help="With show: draw its example to FILE.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the zoo, or show one entry: how to say it, what is known, its size and its lengths.

    `zoo:NAME` stands for an entry wherever a formula is read.

    Example: softhat zoo show dyck-1
    """
    if action is None:
        if file is not None:
            raise SofthatError("-o goes with an entry: softhat zoo show NAME -o FILE")
        _list([e for e in zoo().values() if family in (None, e.family)], family, as_json)
        return
    if action != "show" or name is None:
        raise SofthatError("expected `softhat zoo` or `softhat zoo show NAME`")
    entry = entry_of(name)
    facts = _facts(entry)
    if as_json:
        print_json(facts)
    else:
        print_facts([(key.replace("_", " "), _shown(value)) for key, value in facts.items()])
    if file is not None:
        _draw(entry, file)


def _list(entries: list[Entry], family: str | None, as_json: bool) -> None:
    if not entries:
        families = ", ".join(dict.fromkeys(entry.family for entry in zoo().values()))
        raise SofthatError(f"no family {family!r} in the zoo: {families}")
    if as_json:
        print_json([_plain(entry) for entry in entries])
        return
    rows = [[e.name, e.family, e.title[:_TITLE], e.kind] for e in entries]
    print_table(["name", "family", "what", "given as"], rows)


def _plain(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "family": entry.family,
        "kind": entry.kind,
        "source": entry.source,
        "alphabet": list(entry.alphabet),
        "propositional": entry.propositional,
        "at": entry.at,
        "empty_word": entry.empty,
        "known": entry.known,
        "example": entry.example,
    }


def _facts(entry: Entry) -> dict[str, Any]:
    """The entry with what softhat makes of it."""
    facts = _plain(entry)
    facts["references"] = [text for key, text in REFERENCES.items() if key in entry.known]
    if entry.kind == "ahat":
        return {**facts, **_hard_facts(entry)}
    from softhat.logic.fragments import describe

    model = _model(entry)
    facts["fragment"] = describe(formula_of(entry)).fragment
    facts["size"] = asdict(model.size)
    facts["certified"] = dict(model.certificate.max_length)
    facts["temperature_law"] = model.transformer.layers[0].laws[0].text if model.size.heads else "1"
    return facts


def _model(entry: Entry) -> Any:
    from softhat.compiler import compile as compile_formula

    given: Any = {"propositions" if entry.propositional else "alphabet": entry.alphabet}
    return compile_formula(formula_of(entry), attention="temperature", **given)


def _hard_facts(entry: Entry) -> dict[str, Any]:
    from softhat.ahat.gallery import GALLERY

    source = GALLERY[entry.source]()
    heads = sum(len(layer.heads) for layer in source.layers)
    return {"size": {"layers": len(source.layers), "heads": heads, "d_model": source.d_model}}


def _draw(entry: Entry, file: Path) -> None:
    if entry.kind == "ahat" or not entry.example:
        raise SofthatError(f"{entry.name} has no example word to draw: softhat trace does, on any")
    word: Any = entry.example
    if not entry.propositional and any(len(symbol) > 1 for symbol in entry.alphabet):
        word = entry.example.split()
    _model(entry).run(word).plot(file)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return (
            "; ".join(map(str, value))
            if any(" " in str(x) for x in value)
            else " ".join(map(str, value))
        )
    return f"{value:,}" if type(value) is int else str(value)
