"""A formula as a sequential machine that reads a word from left to right.

The machine keeps one bit for each temporal operator of the core form (Y, S, X, U):

* a *memory* for `Y f` (f at the position before) and for `f S g` (its value at the position
  before, since `f S g = g | (f & Y(f S g))`);
* a *promise* for `X f` (f at the next position) and for `f U g` (its value at the next position,
  since `f U g = g | (f & X(f U g))`), guessed now and checked one position later. At the last
  position nothing is promised.

Given the memories before, the letter and the promises made here, every subformula has one value,
so the machine is its list of gates. `Y` and `X` of a gate are gates of `Y` and `X`, where that
takes no bit more (`apart`), and `Y` of a formula that has a memory reads that. What depends only on
the position (`first`, `mod`, predicates with a period) takes no bit: the search goes position by
position and knows where it is. An `Unknown` is an input that may take any value at any position.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from softhat.logic.semantics.gates import Gate
from softhat.logic.syntax import nodes
from softhat.logic.syntax.node import kind
from softhat.logic.syntax.nodes import Formula, Node
from softhat.logic.syntax.walk import Distinct, contains, distinct, rebuild, rewritten
from softhat.numbers.predicates import Periodic


@kind
class Unknown(Formula):
    """Stands for a formula of which the machine knows nothing, such as a comparison of counts."""

    number: int


@dataclass(frozen=True, slots=True)
class GateMachine:
    """Gates in order, operands before operators, and which of them need a bit."""

    gates: tuple[tuple[Node, tuple[int, ...]], ...]
    root: int
    memories: tuple[int, ...]  # gates that are Y or S, with a bit of their own
    promises: tuple[int, ...]  # gates that are X or U, likewise
    shared: tuple[tuple[int, int], ...]  # Y of an S, or X of a U, and whose bit it reads
    never: tuple[int, ...]  # gates that must be false throughout for the root to hold at the end
    start: int  # after this many positions those that are
    period: int  # this far apart look alike to the gates that read the position

    def remembered(self, gate: int) -> int:
        """The gate whose value the bit of `gate` holds: the one at i for i+1, or the reverse."""
        node, operands = self.gates[gate]
        return operands[0] if isinstance(node, nodes.Yesterday | nodes.Tomorrow) else gate

    def place(self, i: int) -> int:
        """Positions with the same place look alike."""
        return i if i <= self.start else self.start + 1 + (i - self.start - 1) % self.period


def build(formula: Formula) -> GateMachine:
    """The machine whose root has the truth value of `formula`, a formula in core form."""
    rows, (root,) = distinct(apart(formula))
    kinds = [type(node) for node, _ in rows]
    shared = {
        k: operands[0]
        for k, (node, operands) in enumerate(rows)
        if isinstance(node, nodes.Yesterday | nodes.Tomorrow)
        and kinds[operands[0]] is _WITH_A_BIT[type(node)]
    }
    moduli = [node.modulus for node, _ in rows if isinstance(node, nodes.Mod)]
    cycles: list[Periodic] = []
    for node, _ in rows:
        if isinstance(node, nodes.At):
            assert isinstance(node.predicate, Periodic), "others are unknown to the machine"
            cycles.append(node.predicate)

    def of(*wanted: type[Node]) -> tuple[int, ...]:
        return tuple(k for k, kind in enumerate(kinds) if kind in wanted and k not in shared)

    return GateMachine(
        tuple(rows),
        root,
        memories=of(nodes.Yesterday, nodes.Since),
        promises=of(nodes.Tomorrow, nodes.Until),
        shared=tuple(shared.items()),
        never=tuple(_never(rows, root)),
        start=max([1, *(len(cycle.start) for cycle in cycles)]),
        period=math.lcm(*moduli, *(len(cycle.period) for cycle in cycles)),
    )


_WITH_A_BIT: dict[type[Node], type[Node]] = {
    nodes.Yesterday: nodes.Since,
    nodes.Tomorrow: nodes.Until,
}
_EDGE: dict[type[Node], Formula] = {nodes.Yesterday: nodes.FIRST, nodes.Tomorrow: nodes.LAST}
_OF_ANYTHING: dict[type[Node], Formula] = {
    nodes.Yesterday: nodes.Yesterday(nodes.TRUE),
    nodes.Tomorrow: nodes.Tomorrow(nodes.TRUE),
}
_ROUNDS = 4  # parts of parts: `Y Y (f & g)`


def apart(core: Formula) -> Formula:
    """The same formula, where `Y` and `X` of a gate go to what it reads if that has a bit already.

    `Y (f & g)` is `Y f & Y g`, likewise for `|` and `xor`, and `Y !f` is `!first & !Y f`.
    """
    for _ in range(_ROUNDS):
        before, core = core, _apart_once(core)
        if core is before:
            break
    return core


def _apart_once(core: Formula) -> Formula:
    rows, (root,) = distinct(core)
    own: list[Node] = []
    changed = False
    beside: dict[type[Node], list[Node | None]] = {step: [] for step in _WITH_A_BIT}
    """What the neighbour says, by bits that there are; None where there is none."""
    with_bits = {
        step: {
            places[0] if type(node) is step else k
            for k, (node, places) in enumerate(rows)
            if type(node) in (step, other)
        }
        for step, other in _WITH_A_BIT.items()
    }
    for k, (node, places) in enumerate(rows):
        known = beside[type(node)][places[0]] if type(node) in beside else None
        if known is None:
            known = rebuild(node, [own[place] for place in places])
        else:
            changed = changed or type(known) is not type(node)
        own.append(known)
        for step, values in beside.items():
            below = [held for place in places if (held := values[place]) is not None]
            value: Node | None = None
            if isinstance(node, nodes.Constant):
                value = nodes.Not(_EDGE[step]) if node.value else node
            elif isinstance(node, Gate):
                if len(below) == len(places):
                    value = rebuild(node, below)
                    if isinstance(value, nodes.Not):
                        value = nodes.And(nodes.Not(_EDGE[step]), value)
            elif k in with_bits[step]:
                value = rebuild(_OF_ANYTHING[step], [own[k]])
            values.append(value)
    formula = own[root]
    assert isinstance(formula, Formula)
    return formula if changed else core


def _never(rows: Distinct, root: int) -> Iterator[int]:
    """The root is a conjunction with `H f`: then `O !f` must be false from the start."""
    todo = [root]
    while todo:
        node, operands = rows[todo.pop()]
        if isinstance(node, nodes.And):
            todo.extend(operands)
        elif isinstance(node, nodes.Not):
            inner, below = rows[operands[0]]
            if isinstance(inner, nodes.Since) and rows[below[0]][0] == nodes.TRUE:
                yield operands[0]


_MIRRORED: dict[type[Node], type[Node]] = {
    nodes.Yesterday: nodes.Tomorrow,
    nodes.Since: nodes.Until,
    nodes.First: nodes.Last,
}
_MIRRORED |= {image: kind for kind, image in _MIRRORED.items()}


def mirror(core: Formula) -> Formula | None:
    """The formula that is true of the reversed word where `core` is true of the word.

    None where there is none: `mod` and predicates count from the first position.
    """
    if contains(core, nodes.Mod, nodes.At):
        return None

    def step(node: Node, below: tuple[Node, ...]) -> Node:
        image = _MIRRORED.get(type(node))
        return rebuild(node, below) if image is None else image(*below)

    return rewritten(core, step)


def looks_ahead(core: Formula) -> bool:
    """Does its truth depend on what comes after the position?"""
    return contains(core, nodes.Tomorrow, nodes.Until, nodes.Last)
