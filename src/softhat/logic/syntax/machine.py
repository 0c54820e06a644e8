"""The grammar as a machine with a stack: lark's LALR tables, walked by a loop of our own.

`grammar.lark` stays the one place where the grammar is written, and lark computes the tables and
so the terminals that could have stood where a text fails. Its own loop makes an object for each
token and four reductions for each symbol, which is too slow for formulas of megabytes. Here most
grammar rules (`?and: temporal`) only change the state: what follows from such a chain of rules is
looked up once for each state, rule and next terminal. Nothing recurses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lark import Lark
from lark.lexer import Lexer
from lark.parsers.lalr_analysis import Shift

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
class Machine:
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
            state = step  # type: ignore[assignment]  # it is no reduction any more
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


def machine_of(grammar: str, builders: Mapping[str, Callable[..., Any] | None]) -> Machine:
    """The machine of a grammar; `builders` has for each alias what it makes of its parts."""
    lark = Lark(
        grammar, parser="lalr", lexer=_NoLexer, start=["formula", "sum"], maybe_placeholders=False
    )
    table = lark.parser.parser._parse_table
    reductions = {
        rule: Reduction(
            len(rule.expansion),
            sum(not part.name.startswith("_") for part in rule.expansion),
            builders[rule.alias] if rule.alias else None,
            rule.origin.name,
        )
        for rule in lark.rules
    }
    size = max(table.states) + 1
    steps: list[dict[str, int | Reduction]] = [{} for _ in range(size)]
    after: list[dict[str, int]] = [{} for _ in range(size)]
    for state, actions in table.states.items():
        for name, (action, argument) in actions.items():
            if name.isupper():
                steps[state][name] = argument if action is Shift else reductions[argument]
            else:
                after[state][name] = argument
    return Machine(
        table.start_states,
        table.end_states,
        steps,
        after,
        frozenset(name for row in steps for name in row if name.startswith("_")),
        [{} for _ in range(size)],
    )


class _NoLexer(Lexer):  # type: ignore[misc]  # lark is untyped here
    """The terminals have no patterns for lark: `tokens` cuts the text."""

    def __init__(self, _conf: object) -> None:
        pass

    def lex(self, _data: object) -> Any:
        raise NotImplementedError
