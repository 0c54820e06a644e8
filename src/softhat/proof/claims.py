"""The claim: a formula as a canonical function, straight from the definition of its operators.

Nothing of the compiler is used. Every formula node becomes a function at one position; temporal
operators and comparisons become atoms over the functions of their operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from softhat.errors import SofthatError
from softhat.logic.settle import settled
from softhat.logic.simplify import simplify
from softhat.logic.syntax import nodes
from softhat.logic.syntax.walk import distinct
from softhat.proof.atoms import Atoms, Direction, Range, Sum


class Claims:
    """What each output is claimed to compute: its formula as written, simplified, or with what
    is proved to hold always or never as constants.

    A function that equals neither may still compute the formula, but it is not proved to.
    Simplification is part of the logic: every rule of it is a theorem about all words.
    """

    def __init__(self, atoms: Atoms, formulas: Mapping[str, nodes.Formula]) -> None:
        self._atoms, self._formulas = atoms, formulas
        self._written = claimed(atoms, formulas)
        self._simplified: dict[str, int] | None = None
        self._settled: dict[str, int] | None = None

    def met(self, output: str, function: int) -> bool:
        """Is this the function of the output's formula?"""
        if function == self._written[output]:
            return True
        if self._simplified is None:
            self._simplified = self._claimed_as(simplify)
        if function == self._simplified[output]:
            return True
        if self._settled is None:
            space = self._atoms.space
            symbols = tuple(space.rank)
            self._settled = self._claimed_as(
                lambda formula: settled(simplify(formula), symbols, space.propositional)
            )
        return function == self._settled[output]

    def _claimed_as(self, form: Callable[[nodes.Formula], nodes.Formula]) -> dict[str, int]:
        return claimed(self._atoms, {name: form(f) for name, f in self._formulas.items()})


def claimed(atoms: Atoms, formulas: Mapping[str, nodes.Formula]) -> dict[str, int]:
    """The function of each formula."""
    rows, roots = distinct(*formulas.values())
    levels = _levels([places for _, places in rows], roots)
    translation = _Translation(atoms)
    values: list[int | Sum] = []
    for (node, places), level in zip(rows, levels, strict=True):
        values.append(translation.step(node, [values[place] for place in places], level))
    return {name: _function(values[at]) for name, at in zip(formulas, roots, strict=True)}


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


def _function(value: int | Sum) -> int:
    if isinstance(value, Sum):
        raise TypeError("a term is not a formula")
    return value


class _Translation:
    def __init__(self, atoms: Atoms) -> None:
        self.atoms = atoms
        self.space = atoms.space

    def step(self, node: nodes.Node, below: list[int | Sum], level: int) -> int | Sum:
        sums = [value for value in below if isinstance(value, Sum)]
        match node:
            case nodes.Integer(value):
                return Sum(constant=value)
            case nodes.Position():
                return Sum(position=1)
            case nodes.Length():
                return Sum(length=1)
            case nodes.Scale(factor, _):
                return Sum().plus(sums[0], factor)
            case nodes.Sum():
                return sums[0].plus(sums[1], 1)
            case nodes.Difference():
                return sums[0].plus(sums[1], -1)
            case nodes.Counting():
                return Sum({(_RANGE[type(node)], _function(below[0])): 1})
            case nodes.Comparison(_, relation, _):
                return self.comparison(sums[0].plus(sums[1], -1), relation, level)
            case nodes.Formula():
                return self.formula(node, [_function(value) for value in below], level)
        raise TypeError(f"not a formula: {node!r}")

    def comparison(self, t: Sum, relation: str, level: int) -> int:
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
        no = space.negation
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
                return no(f)
            case nodes.And(), [f, g]:
                return space.both(f, g)
            case nodes.Or(), [f, g]:
                return space.either(f, g)
            case nodes.Implies(), [f, g]:
                return space.either(no(f), g)
            case nodes.Xor(), [f, g]:
                return space.differ(f, g)
            case nodes.Iff(), [f, g]:
                return no(space.differ(f, g))
            case nodes.Yesterday(), [f]:
                return self.atoms.previous(f, "past", level)
            case nodes.WeakYesterday(), [f]:
                return no(self.atoms.previous(no(f), "past", level))
            case nodes.Tomorrow(), [f]:
                return self.atoms.previous(f, "future", level)
            case nodes.WeakTomorrow(), [f]:
                return no(self.atoms.previous(no(f), "future", level))
            case nodes.Once(), [f]:
                return self.since(space.true, f, "past", level)
            case nodes.Historically(), [f]:
                return no(self.since(space.true, no(f), "past", level))
            case nodes.Since(), [f, g]:
                return self.since(f, g, "past", level)
            case nodes.Triggered(), [f, g]:
                return no(self.since(no(f), no(g), "past", level))
            case nodes.Eventually(), [f]:
                return self.since(space.true, f, "future", level)
            case nodes.Always(), [f]:
                return no(self.since(space.true, no(f), "future", level))
            case nodes.Until(), [f, g]:
                return self.since(f, g, "future", level)
            case nodes.Release(), [f, g]:
                return no(self.since(no(f), no(g), "future", level))
            case nodes.WeakUntil(), [f, g]:  # f W g = g R (f | g), and f R g = !(!f U !g)
                return no(self.since(no(g), space.both(no(f), no(g)), "future", level))
            case nodes.StrongRelease(), [f, g]:
                return self.since(g, space.both(f, g), "future", level)
        raise TypeError(f"not a formula: {node!r}")

    def since(self, f: int, g: int, direction: Direction, level: int) -> int:
        """`f S g` = `(f & !g) S g`: what decides is the last position without f & !g."""
        bad = self.space.both(f, self.space.negation(g))
        return self.atoms.since(bad, g, direction, level)


_RANGE: dict[type[nodes.Node], Range] = {
    nodes.Count: "past",
    nodes.CountFuture: "future",
    nodes.CountAll: "total",
}
