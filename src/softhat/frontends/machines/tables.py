"""Turing machines from bbchallenge's texts and from dictionaries."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from softhat.frontends.machines.machine import shown
from softhat.frontends.machines.turing import ANY, MOVES, SPACE, Action, TuringMachine
from softhat.io.errors import SofthatError

_ROW = re.compile(r"(?:[0-9][LR][A-Z]|---)+\Z")


def is_table(text: str) -> bool:
    """Does this look like bbchallenge's text for a machine?"""
    return all(_ROW.match(row) for row in text.strip().split("_"))


def from_table(text: str, space: int = SPACE) -> TuringMachine:
    """The machine of a text such as `1RB1LB_1LA1RZ`: a row for each state A, B, …, an entry for
    each symbol; Z, H (where no row is) and --- halt."""
    rows = text.strip().split("_")
    names = [chr(ord("A") + at) for at in range(len(rows))]
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise SofthatError(
            f"the rows of {text!r} have different lengths: each state has one entry of three "
            "characters for each symbol"
        )
    symbols = tuple(str(symbol) for symbol in range(widths.pop() // 3))
    halting = tuple(name for name in "ZH" if name not in names)
    transitions = []
    for state, row in zip(names, rows, strict=True):
        for at, symbol in enumerate(symbols):
            entry = row[3 * at : 3 * at + 3]
            if entry != "---":
                transitions.append((state, symbol, entry[2], entry[0], entry[1]))
    used = tuple(name for name in halting if any(name == t[2] for t in transitions))
    return turing_machine(
        {
            "states": [*names, *used],
            "symbols": symbols,
            "start": "A",
            "halt": used,
            "transitions": transitions,
            "space": space,
        }
    )


def turing_machine(description: Mapping[str, Any]) -> TuringMachine:
    """The machine of a dictionary.

    `transitions` are lists [state, read, next, write, move] (or dictionaries with these names, or
    `{state: {read: [next, write, move]}}`); with several tapes read, write and move have one entry
    for each. An empty text reads any symbol,
    or writes nothing. `symbols` begin with the blank (or `blank` names it); `start` is the first
    transition's state unless it is given; `halt` are the states that halt. A state and symbols
    without an entry halt, too. `one_sided` tapes begin at cell 0: there L stays.
    """
    tapes = description.get("tapes", 1)
    if type(tapes) is not int or tapes not in (1, 2, 3):
        raise SofthatError(f"a Turing machine has one to three tapes, not {tapes!r}")
    entries = _listed(description.get("transitions"))
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise SofthatError(
            "a Turing machine needs transitions: lists [state, read, next, write, move]"
        )
    rows = [_entry(entry, at, tapes) for at, entry in enumerate(entries, start=1)]
    symbols = _symbols(description, rows)
    table = _deterministic(_without_any(rows, symbols) if tapes == 1 else rows)
    halting = tuple(map(str, _names(description.get("halt", ()))))
    mentioned = dict.fromkeys([s for s, _ in table] + [a.next for a in table.values()])
    named = _several(description.get("states", ()))
    states = tuple(dict.fromkeys([*named, *mentioned, *halting]))
    for name in halting:
        if any(state == name for state, _ in table):
            raise SofthatError(f"the state {name!r} halts, but it has a transition")
    for name in mentioned:
        check_name("state", name)
        if "states" in description and name not in {*named, *halting}:
            raise SofthatError(
                f"a transition names the state {name!r}, which is none of the machine's: "
                f"{shown(named)}"
            )
    start = str(description.get("start", next(iter(table))[0]))
    if start not in states:
        raise SofthatError(f"the start state {start!r} is none of the machine's: {shown(states)}")
    transitions = tuple((state, read, action) for (state, read), action in table.items())
    cells = cells_of(description.get("space", SPACE))
    one_sided = description.get("one_sided", False)
    if not isinstance(one_sided, bool):
        raise SofthatError(f"one_sided is {one_sided!r}: give true or false")
    return TuringMachine(states, symbols, start, halting, transitions, tapes, cells, one_sided)


Row = tuple[str, tuple[str, ...], Action]
"""A state, what is read there, and what is done."""


def _without_any(rows: Sequence[Row], symbols: Sequence[str]) -> list[Row]:
    """The same table without `ANY`, for one tape: an entry for each symbol that may be read."""
    spelled: list[Row] = []
    for state, (read,), action in rows:
        for symbol in symbols if read == ANY else (read,):
            write = symbol if action.write == (ANY,) else action.write[0]
            spelled.append((state, (symbol,), Action(action.next, (write,), action.move)))
    return spelled


def _deterministic(rows: Sequence[Row]) -> dict[tuple[str, tuple[str, ...]], Action]:
    """The table, in which no two entries speak of one state and one reading."""
    table: dict[tuple[str, tuple[str, ...]], Action] = {}
    open_rows: dict[str, list[Row]] = {}
    for row in rows:
        if ANY in row[1]:
            open_rows.setdefault(row[0], []).append(row)
    for state, read, action in rows:
        rivals = [table.setdefault((state, read), action)]
        rivals += [a for _, seen, a in open_rows.get(state, ()) if _meet(seen, read)]
        if any(rival != action for rival in rivals):
            raise SofthatError(
                f"state {state!r} reading {' '.join(s or 'anything' for s in read)} has two "
                "entries: the table must be deterministic"
            )
    return table


def _meet(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Is there something that both entries read?"""
    return all(a == b or ANY in (a, b) for a, b in zip(left, right, strict=True))


def _listed(entries: Any) -> Any:
    """`{state: {read: [next, write, move]}}` as a list of transitions."""
    if not isinstance(entries, Mapping):
        return entries
    listed: list[Any] = []
    for state, row in entries.items():
        if not isinstance(row, Mapping):
            raise SofthatError(
                f"the transitions of state {state!r} are {row!r}: write "
                "{read: [next, write, move]}"
            )
        for read, does in row.items():
            does_list = list(does) if isinstance(does, list | tuple) else [does]
            listed.append([state, read, *does_list])
    return listed


def _entry(entry: Any, at: int, tapes: int) -> Row:
    fields = ("state", "read", "next", "write", "move")
    if isinstance(entry, Mapping):
        parts = [entry.get(name) for name in fields]
    else:
        parts = list(entry) if isinstance(entry, Sequence) else []
    if len(parts) != 5 or any(part is None for part in parts):
        raise SofthatError(f"transition {at} is {entry!r}: write [state, read, next, write, move]")
    state, read, following, write, move = parts
    sides = [tuple(map(str, _names(side))) for side in (read, write, move)]
    if tapes > 1 and any(isinstance(side, str) for side in (read, write, move)):
        sides = [tuple(map(str, side or ())) for side in (read, write, move)]
    if any(len(side) != tapes for side in sides):
        raise SofthatError(f"transition {at} is {entry!r}: it has not one entry for each tape")
    if not set(sides[2]) <= set(MOVES):
        raise SofthatError(f"transition {at}: a move is L, R or S (stay), not {' '.join(sides[2])}")
    return str(state), sides[0], Action(str(following), sides[1], sides[2])


def _names(names: Any) -> list[Any]:
    """One name, or several."""
    if isinstance(names, str | int):
        return [names]
    if not isinstance(names, Sequence):
        raise SofthatError(f"{names!r} is neither a name nor a list of names")
    return list(names)


def _several(names: Any) -> list[str]:
    """The names of a list, or the characters of a text."""
    return [str(name) for name in (names if isinstance(names, str) else _names(names))]


def _symbols(description: Mapping[str, Any], rows: Sequence[Row]) -> tuple[str, ...]:
    used = dict.fromkeys(
        symbol for _, read, action in rows for symbol in (*read, *action.write) if symbol != ANY
    )
    named = _several(description.get("symbols", ()))
    blank = str(description["blank"]) if "blank" in description else named[0] if named else None
    if blank is None:
        raise SofthatError("which symbol is the blank? give blank='_', or symbols with it first")
    if named:
        for symbol in used:
            if symbol not in named:
                raise SofthatError(
                    f"a transition has the symbol {symbol!r}, which is none of the tape's: "
                    f"{shown(named)}"
                )
    symbols = tuple(dict.fromkeys([blank, *named, *used]))
    for symbol in symbols:
        check_name("symbol", symbol)
    return symbols


def check_name(what: str, name: str) -> None:
    """Refuse what cannot be part of a token's name."""
    if (
        not name
        or any(c.isspace() or c == "/" or not c.isprintable() for c in name)
        or set(name) & set("<=")
    ):
        raise SofthatError(
            f"the {what} {name!r} cannot be part of a token: no white space, /, < and ="
        )


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, or one like it that nothing else has."""
    while name in taken:
        name += "_"
    return name


def cells_of(space: Any) -> int:
    """The cells of a window: a power of two."""
    if not isinstance(space, int) or isinstance(space, bool) or not 8 <= space <= 1 << 16:
        raise SofthatError(
            f"space is {space!r}: give a number of cells from 8 to 65,536 (a power of two is used)"
        )
    return 1 << (space - 1).bit_length()
