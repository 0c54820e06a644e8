"""What formulas of machines say about tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from softhat.logic.syntax.nodes import FALSE, TRUE, And, Formula, Not, Once, Or, Symbol

NOTHING_YET = Not(Once(TRUE))
"""True before the first token, and nowhere else."""


class TokenSets:
    """Token sets as formulas, each set built once: equal parts of formulas are one object."""

    def __init__(self, names: Sequence[str]) -> None:
        self._symbols = {name: Symbol(name) for name in names}
        self._sets: dict[frozenset[str], Formula] = {}

    def one_of(self, names: Iterable[str]) -> Formula:
        """The token here is one of these."""
        chosen = frozenset(names)
        if chosen not in self._sets:
            ordered = [symbol for name, symbol in self._symbols.items() if name in chosen]
            self._sets[chosen] = any_of(ordered)
        return self._sets[chosen]


def any_of(formulas: Sequence[Formula]) -> Formula:
    """Or, as a balanced tree; false if there is none."""
    return _tree(list(formulas), Or) if formulas else FALSE


def all_of(formulas: Sequence[Formula]) -> Formula:
    """And, as a balanced tree; true if there is none."""
    return _tree(list(formulas), And) if formulas else TRUE


def _tree(items: list[Formula], join: type[Or] | type[And]) -> Formula:
    while len(items) > 1:
        pairs = [items[at : at + 2] for at in range(0, len(items), 2)]
        items = [reduce(join, pair) for pair in pairs]
    return items[0]
