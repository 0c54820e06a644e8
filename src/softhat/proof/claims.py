"""The claim: a formula as a canonical function, straight from the definition of its operators.

Nothing of the compiler is used, nor of what made the formula simpler before it was compiled.
Every formula node becomes a function at one position; temporal operators and comparisons become
atoms over the functions of their operands. Where weights compute another function, it must be
proved to agree with the formula as written on every word (`agreement`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from softhat.io.errors import SofthatError
from softhat.logic.syntax import nodes
from softhat.logic.syntax.walk import Distinct, distinct
from softhat.logic.windows import without_windows
from softhat.proof.agreement import agree
from softhat.proof.atoms import Atoms, CountSum, Direction, Range
from softhat.proof.operators import DEFINED, F, G


class Claims:
    """What each output is claimed to compute: its formula as written.

    A function that is not proved to be that may still compute the formula.
    """

    def __init__(self, atoms: Atoms, formulas: Mapping[str, nodes.Formula]) -> None:
        self._atoms = atoms
        self._written = claimed(atoms, formulas)
        self._known: dict[tuple[str, int], bool] = {}

    def met(self, output: str, function: int) -> bool:
        """Is this proved to be the function of the output's formula?"""
        key = (output, function)
        if key not in self._known:
            self._known[key] = agree(self._atoms, self._written[output], function)
        return self._known[key]


def claimed(atoms: Atoms, formulas: Mapping[str, nodes.Formula]) -> dict[str, int]:
    """The function of each formula."""
    # An operator with bounds is its definition in operators without.
    distinct_nodes, roots = distinct(*without_windows(*formulas.values()))
    levels = _levels([places for _, places in distinct_nodes], roots)
    index = {node: at for at, (node, _) in enumerate(distinct_nodes)}
    rows = [
        (node, tuple(index[operand] for operand in node.operands))
        if isinstance(node, nodes.Recall)
        else (node, places)
        for node, places in distinct_nodes
    ]
    translation = _ClaimTranslation(atoms)
    inside = _inside_chains(rows, roots)
    values: list[int | CountSum] = []
    for at, ((node, places), level) in enumerate(zip(rows, levels, strict=True)):
        if at in inside:
            values.append(_NOWHERE)
        elif isinstance(node, _CHAINED):
            chain = [_function(values[place]) for place in _operands_of_chain(rows, at, inside)]
            values.append(translation.chain(node, chain))
        else:
            values.append(translation.step(node, [values[place] for place in places], level))
    return {name: _function(values[at]) for name, at in zip(formulas, roots, strict=True)}


_CHAINED = (nodes.And, nodes.Or)
_NOWHERE = -1
"""In place of a function that nobody asks for."""


def _inside_chains(rows: Distinct, roots: Sequence[int]) -> set[int]:
    """Conjunctions that only another conjunction reads, and disjunctions alike: a chain of them is
    computed at once, because one by one each step may walk through all that came before."""
    readers: dict[int, list[int]] = {at: [_NOWHERE] for at in roots}
    for at, (_, places) in enumerate(rows):
        for place in places:
            readers.setdefault(place, []).append(at)
    return {
        at
        for at, above in readers.items()
        if len(above) == 1
        and above[0] != _NOWHERE
        and isinstance(rows[at][0], _CHAINED)
        and type(rows[above[0]][0]) is type(rows[at][0])
    }


def _operands_of_chain(rows: Distinct, top: int, inside: set[int]) -> Iterator[int]:
    todo = list(rows[top][1])
    while todo:
        at = todo.pop()
        if at in inside and type(rows[at][0]) is type(rows[top][0]):
            todo += rows[at][1]
        else:
            yield at


def _levels(children: Sequence[tuple[int, ...]], roots: Sequence[int]) -> list[int]:
    """Atoms near the root stand on top of the diagrams: then a chain of gates grows upwards."""
    order = list(dict.fromkeys(roots))
    seen = set(order)
    for at in order:  # grows while it is walked: breadth first
        for child in children[at]:
            if child not in seen:
                seen.add(child)
                order.append(child)
    levels = [0] * len(children)
    for rank, at in enumerate(order):
        levels[at] = (rank + 1) << 20
    return levels


def _function(value: int | CountSum) -> int:
    if isinstance(value, CountSum):
        raise TypeError("a term is not a formula")
    return value


class _ClaimTranslation:
    def __init__(self, atoms: Atoms) -> None:
        self.atoms = atoms
        self.space = atoms.space

    def step(self, node: nodes.Node, below: list[int | CountSum], level: int) -> int | CountSum:
        sums = [value for value in below if isinstance(value, CountSum)]
        match node:
            case nodes.Integer(value):
                return CountSum(constant=value)
            case nodes.Position():
                return CountSum(position=1)
            case nodes.Length():
                return CountSum(length=1)
            case nodes.Scale(factor, _):
                return CountSum().plus(sums[0], factor)
            case nodes.Sum():
                return sums[0].plus(sums[1], 1)
            case nodes.Difference():
                return sums[0].plus(sums[1], -1)
            case nodes.Counting():
                return CountSum({(_RANGE[type(node)], _function(below[0])): 1})
            case nodes.Comparison(_, relation, _):
                return self.comparison(sums[0].plus(sums[1], -1), relation, level)
            case nodes.Digit() | nodes.Digits():
                return self.space.false  # what it says, its recall reads
            case nodes.Formula():
                return self.formula(node, [_function(value) for value in below], level)
        raise TypeError(f"not a formula: {node!r}")

    def comparison(self, t: CountSum, relation: str, level: int) -> int:
        """`t ⋈ 0` for an integer t, by t >= 0 and t >= 1."""
        least = self.atoms.at_least(t, 0, level)
        if relation == ">=":
            return least
        if relation == "<":
            return self.space.negation(least)
        more = self.atoms.at_least(t, 1, level)
        match relation:
            case ">":
                return more
            case "<=":
                return self.space.negation(more)
            case "=":
                return self.space.both(least, self.space.negation(more))
            case _:
                return self.space.either(self.space.negation(least), more)

    def formula(self, node: nodes.Formula, below: list[int], level: int) -> int:
        space = self.space
        match node, below:
            case nodes.Symbol(name), _:
                if name not in space.rank:
                    raise SofthatError(f"the formula's symbol {name!r} is not in the alphabet")
                return space.symbol(name)
            case nodes.Constant(value), _:
                return space.true if value else space.false
            case nodes.First(), _:
                return self.atoms.edge["past"]
            case nodes.Last(), _:
                return self.atoms.edge["future"]
            case nodes.Mod(modulus, remainder), _:
                return self.atoms.residue(modulus, remainder, level)
            case nodes.At(predicate), _:
                return self.atoms.holds(predicate, level)
            case nodes.Not(), [f]:
                return space.negation(f)
            case nodes.And() | nodes.Or(), _:
                return self.chain(node, below)
            case nodes.Xor(), [f, g]:
                return space.differ(f, g)
            case nodes.Yesterday(), [f]:
                return self.atoms.previous(f, "past", level)
            case nodes.Tomorrow(), [f]:
                return self.atoms.previous(f, "future", level)
            case nodes.Since(), [f, g]:
                return self.since(f, g, "past", level)
            case nodes.Until(), [f, g]:
                return self.since(f, g, "future", level)
            case nodes.Recall(), [f, *digits]:
                return self.recall(f, digits[0::2], digits[1::2], level)
        if type(node) in DEFINED:
            return self.defined(node, below, level)
        raise TypeError(f"not a formula: {node!r}")

    def chain(self, node: nodes.And | nodes.Or, operands: Iterable[int]) -> int:
        """The conjunction of all operands, or the disjunction: no conjunction of negations."""
        space = self.space
        if isinstance(node, nodes.And):
            return space.every(operands)
        return space.negation(space.every(map(space.negation, operands)))

    def defined(self, node: nodes.Formula, operands: list[int], level: int) -> int:
        """An operator by its definition in the table of laws, with its operands for `f` and `g`."""
        rows, top = DEFINED[type(node)]
        operand_of = dict(zip((F, G), operands, strict=False))
        values: list[int] = []
        for part, places in rows:
            assert isinstance(part, nodes.Formula)
            if isinstance(part, nodes.Symbol):
                values.append(operand_of[part])
            else:
                values.append(self.formula(part, [values[place] for place in places], level))
        return values[top]

    def recall(self, f: int, keys: Sequence[int], queries: Sequence[int], level: int) -> int:
        """A constant query rules out keys, a constant key is met where the query is that; the
        other digits are compared."""
        space = self.space
        bad, here = space.false, space.true
        digits: set[tuple[int, int]] = set()
        for key, query in zip(keys, queries, strict=True):
            if query in (space.true, space.false):
                bad = space.either(bad, space.differ(key, query))
            elif key in (space.true, space.false):
                here = space.both(here, space.negation(space.differ(key, query)))
            else:
                digits.add((query, key))
        value = space.both(f, space.negation(bad))
        return space.both(here, self.atoms.recall(bad, digits, value, level))

    def since(self, f: int, g: int, direction: Direction, level: int) -> int:
        """`f S g` = `(f & !g) S g`: what decides is the last position without f & !g."""
        bad = self.space.both(f, self.space.negation(g))
        return self.atoms.since(bad, g, direction, level)


_RANGE: dict[type[nodes.Node], Range] = {
    nodes.Count: "past",
    nodes.CountFuture: "future",
    nodes.CountAll: "total",
}
