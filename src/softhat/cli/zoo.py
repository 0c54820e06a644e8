"""`softhat zoo`: named languages and tasks, what is known about them, and what they cost."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from softhat.cli.inputs import JsonOption
from softhat.cli.output import print_facts, print_json, print_table, say
from softhat.cli.trace import as_text
from softhat.cli.written_options import refuse_given
from softhat.io.errors import SofthatError
from softhat.models.zoo.catalogue import entry_of, formula_of, zoo
from softhat.models.zoo.entry import PREFIX, Entry
from softhat.models.zoo.machines import FAMILY as MACHINES
from softhat.models.zoo.machines import MachineEntry, machines
from softhat.models.zoo.references import REFERENCES

_TITLE = 56
"""Characters of a title in the list."""
EPSILON = 1e-3
"""How far softmax may be from hard attention in what is shown."""


def command(
    action: Annotated[
        str | None,
        typer.Argument(
            metavar="[list | show NAME]", help="`show` and an entry's name; without, the list."
        ),
    ] = None,
    name: Annotated[str | None, typer.Argument(hidden=True)] = None,
    family: Annotated[str | None, typer.Option(help="List one family only.")] = None,
    file: Annotated[
        Path | None, typer.Option("-o", "--out", help="With show: draw its example as a picture.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the zoo, or show one entry: how to say it, what is known, its size and its lengths.

    `zoo:NAME` stands for an entry wherever a formula is read.

    Example: softhat zoo show dyck-1
    """
    if action is None or (action == "list" and name is None):
        if file is not None:
            raise SofthatError("-o goes with an entry: softhat zoo show NAME -o FILE")
        _list([e for e in zoo().values() if family in (None, e.family)], family, as_json)
        return
    if action != "show" or name is None:
        raise SofthatError("expected `softhat zoo list` or `softhat zoo show NAME`")
    refuse_given("an entry is of one family", "--family")
    plain = name.removeprefix(PREFIX)
    if plain in machines():
        _show_machine(machines()[plain], file, as_json)
        return
    entry = entry_of(name)
    facts = _facts(entry)
    if as_json:
        print_json(facts)
    else:
        known = {key: value for key, value in facts.items() if value is not None}
        print_facts([(key.replace("_", " "), _shown(value)) for key, value in known.items()])
    trace = None if as_json and file is None else _trace(entry)
    if file is not None:
        if trace is None:
            raise SofthatError(f"{name} has no example to draw: softhat trace draws any word")
        trace.plot(file)
    elif trace is not None and not as_json:
        say("\n" + as_text(trace))


def _show_machine(entry: MachineEntry, file: Path | None, as_json: bool) -> None:
    if file is not None:
        from softhat.explore.tapes import check_picture, draw_run

        check_picture(file)
        draw_run(entry.name, entry.machine, entry.shown_run(), file)
    facts = entry.to_json()
    if as_json:
        print_json(facts)
        return
    facts["description"] = json.dumps(facts["description"], ensure_ascii=False)
    print_facts([(key, _shown(value)) for key, value in facts.items()])
    say(f"\nsofthat generate zoo:{entry.name} --check   runs it in a stock decoder")


def _list(entries: list[Entry], family: str | None, as_json: bool) -> None:
    shown = list(machines().values()) if family in (None, MACHINES) else []
    if not entries and not shown:
        families = ", ".join(dict.fromkeys(entry.family for entry in zoo().values()))
        raise SofthatError(f"no family {family!r} in the zoo: {families}, {MACHINES}")
    if as_json:
        print_json([*map(_plain, entries), *(entry.to_json() for entry in shown)])
        return
    rows = [[e.name, e.family, e.title[:_TITLE], e.kind] for e in entries]
    rows += [[e.name, MACHINES, e.title[:_TITLE], "machine"] for e in shown]
    print_table(["name", "family", "what", "given as"], rows)


_FACTS = ("name", "title", "family", "kind", "source", "alphabet", "propositional", "at")


def _plain(entry: Entry) -> dict[str, Any]:
    """What the entry itself says, as JSON has it."""
    facts = {name: getattr(entry, name) for name in _FACTS}
    facts |= {"alphabet": list(entry.alphabet), "empty_word": entry.empty}
    return {**facts, "known": entry.known, "example": entry.example}


def _facts(entry: Entry) -> dict[str, Any]:
    """The entry with what softhat makes of it."""
    facts = _plain(entry)
    facts["references"] = [text for key, text in REFERENCES.items() if key in entry.known]
    if entry.kind == "ahat":
        return {**facts, **_hard_facts(entry)}
    model = _model(entry)
    proved = {"size": asdict(model.size), "certified": dict(model.certificate.max_length)}
    if entry.kind == "rasp":
        return {**facts, "to_length": model.max_length, **proved}
    from softhat.logic.fragments import describe

    facts["fragment"] = describe(formula_of(entry)).fragment
    facts["attention"] = model.transformer.attention
    facts |= proved
    laws = [law.text for layer in model.transformer.layers for law in layer.laws]
    facts["temperature_law"] = "; ".join(dict.fromkeys(laws)) or "1"
    return facts


def _model(entry: Entry) -> Any:
    """The compiled model of a formula's or a RASP program's entry."""
    if entry.kind == "rasp":
        from softhat.cli.rasp import read_rasp

        return read_rasp(f"zoo:{entry.name}", None, "unbounded")
    from softhat.models.compiler import compile as compile_formula

    given: Any = {"propositions" if entry.propositional else "alphabet": entry.alphabet}
    return compile_formula(formula_of(entry), attention="temperature", **given)


def _hard_facts(entry: Entry) -> dict[str, Any]:
    from softhat.ahat.analysis.gap_laws import gap_laws

    source, soft = _simulation(entry)
    gaps = gap_laws(source).gap
    return {
        "size": asdict(soft.size),
        "gap_law": {
            f"{a}.{b}": "uniform" if law is None else law.text for (a, b), law in gaps.items()
        },
        "temperature_law": {
            f"{a}.{b}": "any" if law is None else law.text for (a, b), law in soft.laws.items()
        },
        "epsilon": EPSILON,
        "guarantee": soft.certificate.guarantee,
        "certified": dict(soft.certificate.max_length),
    }


def _simulation(entry: Entry) -> tuple[Any, Any]:
    """The hard-attention transformer and softmax in its place, at every length."""
    from softhat.ahat.gallery import GALLERY
    from softhat.ahat.simulation.simulate import simulate

    source = GALLERY[entry.source]()
    return source, simulate(source, epsilon=EPSILON)


def _trace(entry: Entry) -> Any:
    """The soft model on the entry's example (an AHAT's is its alphabet), None if it has none."""
    if entry.kind == "ahat":
        return _simulation(entry)[1].run((entry.alphabet * 6)[:6])
    if not entry.example:
        return None
    if entry.kind == "rasp":
        from softhat.cli.rasp import to_tokens

        model = _model(entry)
        return model.run(to_tokens(model, entry.example))
    several = any(len(symbol) > 1 for symbol in entry.alphabet)
    word = entry.example.split() if several and not entry.propositional else entry.example
    return _model(entry).run(word)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return (
            "; ".join(str(x).removesuffix(".") for x in value)
            if any(" " in str(x) for x in value)
            else " ".join(map(str, value))
        )
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
