"""A table of (labels of the levels, letter) → value as formulas, one for each value.

The table becomes a decision diagram that asks for the lowest level first: the bits of that level
come last, so everything else can be ready before them and each level costs one layer. Branches
that do not contradict each other are merged: what the table leaves open is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from softhat.frontends.regular.holonomy import Path
from softhat.logic.connectives import all_of, any_of, negation
from softhat.logic.syntax.nodes import Formula

Value = int | str
Rows = dict[Path, dict[int, Value]]


@dataclass(frozen=True, slots=True)
class Leaf:
    """The value for each letter."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """Which labels of a level lead where; the first set of labels takes all that are not named."""

    level: int
    cases: tuple[tuple[frozenset[int], Leaf | Branch], ...]


Decision = Leaf | Branch


def decide(
    rows: Mapping[Path, Mapping[int, Value]], labels: Sequence[int], letters: int
) -> Decision:
    """The diagram of a table whose paths all have the same number of levels."""
    table: Rows = {path: dict(values) for path, values in rows.items()}
    level = max((len(path) for path in table), default=0) - 1
    if level < 0:
        known = table.get((), {})
        usual = _most_common(known.values())
        return Leaf(tuple(known.get(letter, usual) for letter in range(letters)))
    groups: list[tuple[set[int], Rows]] = []
    for label in range(labels[level]):
        part: Rows = {}
        for path, values in table.items():
            if path[level] in (label, None):
                part.setdefault(path[:level], {}).update(values)
        home = next((g for g in groups if _agree(g[1], part)), None)
        if home is None:
            groups.append(({label}, part))
        else:
            home[0].add(label)
            for path, values in part.items():
                home[1].setdefault(path, {}).update(values)
    cases: dict[Decision, frozenset[int]] = {}
    for chosen, part in groups:
        below = decide(part, labels, letters)
        cases[below] = cases.get(below, frozenset()) | chosen
    if len(cases) == 1:
        return next(iter(cases))
    return Branch(level, tuple((chosen, below) for below, chosen in cases.items()))


def _agree(left: Rows, right: Rows) -> bool:
    for path, values in right.items():
        known = left.get(path, {})
        if any(known.get(letter, value) != value for letter, value in values.items()):
            return False
    return True


def _most_common(values: Iterable[Value]) -> Value:
    listed = list(values)
    return max(dict.fromkeys(listed), key=listed.count) if listed else -1


def values_of(decision: Decision) -> set[Value]:
    """The values that some letter and labels lead to."""
    result: set[Value] = set()
    stack, seen = [decision], {id(decision)}
    while stack:
        match stack.pop():
            case Leaf(values):
                result.update(values)
            case Branch(_, cases):
                for _, below in cases:
                    if id(below) not in seen:
                        seen.add(id(below))
                        stack.append(below)
    return result


def holds(
    decision: Decision,
    value: Value,
    has_label: Callable[[int, int], Formula],
    is_letter: Callable[[frozenset[int]], Formula],
) -> Formula:
    """The formula that the table gives `value`. `has_label(level, label)`, label > 0, holds if the
    level has it before this position; label 0 is that none of the others holds."""
    formulas: dict[Decision, Formula] = {}

    def formula(node: Decision) -> Formula:
        if node not in formulas:
            match node:
                case Leaf(values):
                    formulas[node] = is_letter(
                        frozenset(letter for letter, v in enumerate(values) if v == value)
                    )
                case Branch(level, cases):
                    formulas[node] = any_of(
                        all_of([_among(level, chosen, cases, has_label), formula(below)])
                        for chosen, below in cases
                    )
        return formulas[node]

    return formula(decision)


def _among(
    level: int,
    chosen: frozenset[int],
    cases: tuple[tuple[frozenset[int], Decision], ...],
    has_label: Callable[[int, int], Formula],
) -> Formula:
    """The level's label is one of the chosen ones."""
    if 0 not in chosen:
        return any_of(has_label(level, label) for label in sorted(chosen))
    others = sorted(label for group, _ in cases for label in group if group != chosen)
    return all_of(negation(has_label(level, label)) for label in others)
