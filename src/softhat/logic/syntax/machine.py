"""The grammar as a machine with a stack: lark's LALR tables, walked by a loop of our own.

`grammar.lark` stays the one place where the grammar is written, and lark computes the tables and
so the terminals that could have stood where a text fails; `tables.json` keeps them, because
computing them takes as long as all else that a command does at its start. Lark's own loop makes an
object for each token and four reductions for each symbol, which is too slow for formulas of
megabytes. Here most grammar rules (`?and: temporal`) only change the state: what follows from such
a chain of rules is looked up once for each state, rule and next terminal. Nothing recurses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

END = "$END"


class UnexpectedError(Exception):
    """No rule goes on with terminal number `index` of the text, only with the `expected` ones."""

    def __init__(self, index: int, expected: frozenset[str]) -> None:
        super().__init__(index)
        self.index = index
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Reduction:
    """A rule was read whole: its parts leave the stacks, what it builds comes instead."""

    states: int
    """How many parts the rule has."""
    values: int
    """How many of them carry a value: terminals with an underscore carry none."""
    build: Callable[..., Any] | None
    """What is made of the values; None: the one value stays what it is."""
    origin: str
    """What the rule is a form of."""


@dataclass(frozen=True, slots=True)
class ParseTable:
    """One table for all that can be read; `read` takes the name of the rule to begin with."""

    begin: Mapping[str, int]
    end: Mapping[str, int]
    steps: list[dict[str, int | Reduction]]
    """For each state and terminal: the state to go to with it, or the rule that is whole."""
    after: list[dict[str, int]]
    """For each state and rule that was read from there: the state to go on in."""
    silent: frozenset[str]
    """Terminals without a value."""
    settled: list[dict[tuple[str, str], int]]
    """As `after`, once the rules that only pass a value on are done; filled when needed."""

    def read(self, start: str, terminals: Iterable[tuple[str, Any]]) -> Any:
        """The value of the terminals, each a kind and a value, as a `start`.

        Equal parts become one object, which spares every pass over the value to find that out.
        """
        steps, settled, silent = self.steps, self.settled, self.silent
        final = self.end[start]
        state = self.begin[start]
        states, values = [state], list[Any]()
        one: dict[Any, Any] = {}
        for index, (kind, value) in enumerate(terminals):
            step = steps[state].get(kind)
            while step.__class__ is Reduction:
                if step.states == 1:
                    states.pop()
                else:
                    del states[-step.states :]
                build = step.build
                if build is not None:
                    if step.values == 2:
                        right = values.pop()
                        built = build(values.pop(), right)
                    else:
                        parts = values[-step.values :]
                        del values[-step.values :]
                        built = build(*parts)
                    values.append(one.setdefault(built, built))
                below = states[-1]
                key = step.origin, kind
                state = settled[below].get(key, -1)
                if state < 0:
                    state = settled[below][key] = self._settle(below, *key)
                states.append(state)
                if state == final and kind == END:
                    return values[-1]
                step = steps[state].get(kind)
            if step is None:
                raise UnexpectedError(index, frozenset(filter(str.isupper, steps[state])))
            # It is no reduction any more; a cast would be a call for every terminal.
            state = step  # type: ignore[assignment]
            states.append(state)
            if kind not in silent:
                values.append(value)
        raise AssertionError("the terminals end with END")

    def _settle(self, below: int, origin: str, kind: str) -> int:
        """The state after `origin` was read from state `below`, if `kind` comes next."""
        while True:
            state = self.after[below][origin]
            step = self.steps[state].get(kind)
            if not isinstance(step, Reduction) or step.states != 1 or step.build is not None:
                return state
            origin = step.origin


def machine_of(
    tables: Mapping[str, Any], builders: Mapping[str, Callable[..., Any] | None]
) -> ParseTable:
    """The machine of a grammar's tables; `builders` has for each alias what it makes of its
    parts."""
    reductions = [
        Reduction(states, values, builders[alias] if alias else None, origin)
        for states, values, alias, origin in tables["rules"]
    ]
    steps: list[dict[str, int | Reduction]] = [
        {name: at if at >= 0 else reductions[-1 - at] for name, at in row.items()}
        for row in tables["steps"]
    ]
    return ParseTable(
        tables["begin"],
        tables["end"],
        steps,
        tables["after"],
        frozenset(name for row in steps for name in row if name.startswith("_")),
        [{} for _ in steps],
    )


def tables_of(grammar: str) -> dict[str, Any]:
    """What lark computes of a grammar, as plain data.

    A step is the state to go to, or -1 - the number of the rule that is whole; a rule is how many
    parts it has and how many of them a value, its alias and what it is a form of.
    """
    from lark import Lark
    from lark.lexer import Lexer
    from lark.parsers.lalr_analysis import Shift

    class NoLexer(Lexer):
        """The terminals have no patterns for lark: `tokens` cuts the text."""

        def __init__(self, _conf: object) -> None:
            pass

        def lex(self, lexer_state: object, parser_state: object = None) -> NoReturn:
            raise NotImplementedError

    lark = Lark(
        grammar, parser="lalr", lexer=NoLexer, start=["formula", "sum"], maybe_placeholders=False
    )
    table = lark.parser.parser._parse_table
    rules = list(lark.rules)
    number = {rule: at for at, rule in enumerate(rules)}
    size = max(table.states) + 1
    steps: list[dict[str, int]] = [{} for _ in range(size)]
    after: list[dict[str, int]] = [{} for _ in range(size)]
    for state, actions in table.states.items():
        for name, (action, argument) in actions.items():
            if name.isupper():
                steps[state][name] = argument if action is Shift else -1 - number[argument]
            else:
                after[state][name] = argument
    return {
        "grammar": digest(grammar),
        "rules": [
            [
                len(rule.expansion),
                sum(not part.name.startswith("_") for part in rule.expansion),
                rule.alias,
                rule.origin.name,
            ]
            for rule in rules
        ],
        "begin": table.start_states,
        "end": table.end_states,
        "steps": steps,
        "after": after,
    }


def digest(grammar: str) -> str:
    """Which grammar tables are of."""
    return sha256(grammar.encode()).hexdigest()


def stored_tables() -> dict[str, Any]:
    """The tables of `grammar.lark`: those that are kept, unless they are of another grammar."""
    folder = resources.files("softhat.logic.syntax")
    grammar = folder.joinpath("grammar.lark").read_text(encoding="utf-8")
    tables: dict[str, Any] = json.loads(folder.joinpath("tables.json").read_text(encoding="utf-8"))
    return tables if tables["grammar"] == digest(grammar) else tables_of(grammar)


if __name__ == "__main__":  # python -m softhat.logic.syntax.machine: writes tables.json anew
    here = Path(__file__).parent
    fresh = tables_of((here / "grammar.lark").read_text(encoding="utf-8"))
    text = json.dumps(fresh, separators=(",", ":"), sort_keys=True)
    (here / "tables.json").write_text(text.replace("},{", "},\n{") + "\n", encoding="utf-8")
