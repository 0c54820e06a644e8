"""Formulas to an attention program: simplified, settled, then one fold over the core form.

Booleans become n-ary And gates with negated edges, `S` and `U` the head `Latest`, `Y` and `X`
the head `Previous`, and a comparison of counts the heads of `counting`. In the end `strict` puts
what it can of that into fewer layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from softhat.io.errors import SofthatError
from softhat.logic.core import Name, to_named_core
from softhat.logic.fragments import symbols_of
from softhat.logic.optimise.settle import settled
from softhat.logic.optimise.simplify import simplify
from softhat.logic.syntax import nodes
from softhat.logic.syntax.print import to_short
from softhat.logic.syntax.walk import distinct
from softhat.program.counting import CountingTerm, at_least_zero, counted
from softhat.program.draft import LABEL_LIMIT, Draft
from softhat.program.heads import Direction, Latest, Previous, Recall
from softhat.program.inputs import FirstPosition, LastPosition, PositionIn, PositionMod
from softhat.program.literals import FALSE, TRUE, Literal
from softhat.program.signals import Program
from softhat.program.strict import strict

LARGEST_MODULUS_BITS = 1_990
"""A model's files name a modulus in decimals: 600 digits, which every Python reads."""

MOST_SIMPLIFIED = 2_000
"""Distinct nodes. Larger formulas are built as they are written: it would take the checker too long
to prove that what they were simplified to is the same."""


def build(
    formulas: Mapping[str, nodes.Formula],
    symbols: Sequence[str],
    propositional: bool,
    is_provable: Callable[[Program, Mapping[str, nodes.Formula]], bool] | None = None,
) -> Program:
    """The attention program whose outputs are `formulas`, over words of `symbols`.

    Formulas are simplified first, unless what that gives is not proved to compute them
    (`is_provable`).
    """
    _check_symbols(formulas, symbols, propositional)
    if len(distinct(*formulas.values())[0]) > MOST_SIMPLIFIED:
        return build_as_written(formulas, symbols, propositional)
    simple = [simplify(formula) for formula in formulas.values()]
    cores, names = to_named_core(*simple)
    plain = [settled(f, symbols, propositional, c) for f, c in zip(simple, cores, strict=True)]
    if plain == simple:
        program = _built(formulas, cores, names, symbols, propositional)
    else:
        shorter = dict(zip(formulas, plain, strict=True))
        program = build_as_written(shorter, symbols, propositional)
    if is_provable is None or plain == list(formulas.values()) or is_provable(program, formulas):
        return program
    return build_as_written(formulas, symbols, propositional)


def build_as_written(
    formulas: Mapping[str, nodes.Formula], symbols: Sequence[str], propositional: bool
) -> Program:
    """The attention program of formulas as they are, not simplified first: front ends that say
    nothing twice need no simplifying."""
    _check_symbols(formulas, symbols, propositional)
    cores, names = to_named_core(*formulas.values())
    return _built(formulas, cores, names, symbols, propositional)


def _built(
    formulas: Mapping[str, nodes.Formula],
    cores: Sequence[nodes.Formula],
    names: Mapping[nodes.Node, Name],
    symbols: Sequence[str],
    propositional: bool,
) -> Program:
    builder = _Builder(Draft(symbols, propositional), names)
    rows, roots = distinct(*cores)
    values: list[_Value | CountingTerm] = []
    index = {node: at for at, (node, _) in enumerate(rows)}
    for node, places in rows:
        if isinstance(node, nodes.Recall):
            places = tuple(index[operand] for operand in node.operands)
        values.append(builder.step(node, [values[place] for place in places]))
    outputs = {}
    for name, root in zip(formulas, roots, strict=True):
        value = values[root]
        assert isinstance(value, _Value)
        outputs[name] = builder.literal(value)
    return strict(builder.draft.finish(outputs))


@dataclass(eq=False, slots=True)
class _Conjunction:
    """An And that is not a gate yet, so that chains of & become one wide gate."""

    items: tuple[_Value, ...]
    name: Name
    gate: Literal | None = None


class _Value(NamedTuple):
    """A Boolean while building: a finished literal, or a conjunction in progress."""

    of: int | _Conjunction
    positive: bool

    def __invert__(self) -> _Value:
        return _Value(self.of, not self.positive)


class _Builder:
    """One step for each kind of core node."""

    def __init__(self, draft: Draft, names: Mapping[nodes.Node, Name]) -> None:
        self.draft = draft
        self.names = names
        self.texts: dict[nodes.Formula, str] = {}

    def step(self, node: nodes.Node, below: list[_Value | CountingTerm]) -> _Value | CountingTerm:
        match node, below:
            case nodes.Not(), [_Value() as f]:
                return ~f  # no signal, so no label
            case nodes.Comparison(_, ">=", _), [CountingTerm() as t, CountingTerm() as u]:
                return _value(at_least_zero(self.draft, t.plus(u, -1), self.label(node)))
            case nodes.Digit() | nodes.Digits(), _:
                return _value(FALSE)  # what it says, its recall reads
            case nodes.Formula(), _:
                return self.formula(node, [value for value in below if isinstance(value, _Value)])
            case nodes.Integer(value), _:
                return CountingTerm(constant=value)
            case nodes.Position(), _:
                return CountingTerm(position=1)
            case nodes.Length(), _:
                return CountingTerm(length=1)
            case nodes.Scale(factor, _), [CountingTerm() as t]:
                return CountingTerm().plus(t, factor)
            case nodes.Sum(), [CountingTerm() as t, CountingTerm() as u]:
                return t.plus(u, 1)
            case nodes.Difference(), [CountingTerm() as t, CountingTerm() as u]:
                return t.plus(u, -1)
            case nodes.Count(), [_Value() as f]:
                return counted(self.literal(f), "past")
            case nodes.CountFuture(), [_Value() as f]:
                return counted(self.literal(f), "future")
            case nodes.CountAll(), [_Value() as f]:
                return counted(self.literal(f), "total")
            case _:
                raise TypeError(f"not a core formula: {node!r}")

    def formula(self, node: nodes.Formula, below: list[_Value]) -> _Value:
        match node, below:
            case nodes.Symbol(name), _:
                return _value(self.draft.token([name]))
            case nodes.Constant(value), _:
                return _value(TRUE if value else FALSE)
            case nodes.First(), _:
                return _value(self.draft.add(FirstPosition(), "first"))
            case nodes.Last(), _:
                return _value(self.draft.add(LastPosition(), "last"))
            case nodes.Mod(modulus, remainder), _:
                return _value(self.mod(modulus, remainder))
            case nodes.At(predicate), _:
                return _value(self.draft.add(PositionIn(predicate), self.label(node)))
            case nodes.And(), [f, g]:
                return self.both(f, g, self.name(node))
            case nodes.Or(), [f, g]:
                return ~self.both(~f, ~g, self.name(node).within("!(", ")"))
            case nodes.Xor(), [f, g]:
                return _value(self.draft.xor(self.literal(f), self.literal(g), self.label(node)))
            case nodes.Yesterday(), [f]:
                return self.previous(f, "past", self.label(node))
            case nodes.Tomorrow(), [f]:
                return self.previous(f, "future", self.label(node))
            case nodes.Since(), [f, g]:
                return self.since(f, g, "past", self.name(node))
            case nodes.Until(), [f, g]:
                return self.since(f, g, "future", self.name(node))
            case nodes.Recall(), [f, *digits]:
                return self.recall(f, digits[0::2], digits[1::2], self.name(node))
            case _:
                raise TypeError(f"not a core formula: {node!r}")

    def name(self, node: nodes.Formula) -> Name:
        return self.names.get(node) or Name(node)

    def label(self, node: nodes.Formula) -> str:
        return self.text(self.name(node))

    def text(self, name: Name) -> str:
        if name.formula not in self.texts:
            self.texts[name.formula] = to_short(name.formula, LABEL_LIMIT)
        return f"{name.before}{self.texts[name.formula]}{name.after}"

    # Inputs

    def mod(self, modulus: int, remainder: int) -> Literal:
        if modulus == 1:
            return TRUE
        if modulus.bit_length() > LARGEST_MODULUS_BITS:
            raise SofthatError(
                f"mod with a number of {modulus.bit_length():,} bits: a model's files name it in "
                f"full, so {LARGEST_MODULUS_BITS:,} is the limit"
            )
        return self.draft.add(PositionMod(modulus, remainder), f"mod({modulus}, {remainder})")

    # Gates

    def both(self, f: _Value, g: _Value, name: Name) -> _Value:
        # An Or inside an And is finished now, so that flattening later never has to descend.
        items = tuple(
            value if value.positive or isinstance(value.of, int) else _value(self.literal(value))
            for value in (f, g)
        )
        return _Value(_Conjunction(items, name), True)

    def literal(self, value: _Value) -> Literal:
        """The literal of a value; a conjunction becomes a gate."""
        if isinstance(value.of, int):
            return Literal(value.of, value.positive)
        conjunction = value.of
        if conjunction.gate is None:
            literals: list[Literal] = []
            stack = list(reversed(conjunction.items))
            while stack:
                item = stack.pop()
                if isinstance(item.of, int):
                    literals.append(Literal(item.of, item.positive))
                elif item.of.gate is not None:
                    literals.append(item.of.gate)
                else:
                    stack.extend(reversed(item.of.items))
            conjunction.gate = self.draft.conjunction(literals, self.text(conjunction.name))
        return conjunction.gate if value.positive else ~conjunction.gate

    # Heads

    def previous(self, f: _Value, direction: Direction, label: str) -> _Value:
        value = self.literal(f)
        if value == FALSE:
            return _value(FALSE)
        if value == TRUE:  # there is a previous position
            return ~_value(self.draft.edge(direction))
        return _value(self.draft.add(Previous(value, direction), label))

    def since(self, f: _Value, g: _Value, direction: Direction, name: Name) -> _Value:
        value = self.literal(g)
        bad = self.literal(self.both(f, _value(~value), name.within("bad of ")))
        if bad == FALSE or value == FALSE:  # decided here, or nothing to find
            return _value(value)
        return _value(self.draft.add(Latest(bad, value, direction), self.text(name)))

    def recall(
        self, f: _Value, keys: Sequence[_Value], queries: Sequence[_Value], name: Name
    ) -> _Value:
        """Digits that are asked for by a constant rule out keys; the others are the code."""
        ruled_out: list[Literal] = []
        digits: dict[tuple[Literal, Literal], None] = {}
        for key, query in zip(keys, queries, strict=True):
            asked, held = self.literal(query), self.literal(key)
            if asked.signal < 0:
                ruled_out.append(~held if asked == TRUE else held)
            elif held.signal < 0:  # a constant key is met where the query is that
                equal = asked if held == TRUE else ~asked
                return self.recall_where(f, keys, queries, equal, (key, query), name)
            else:  # both negated say the same
                digits[(asked, held) if asked.positive else (~asked, ~held)] = None
        bad = self.draft.disjunction(ruled_out, f"ruled out of {self.text(name)}")
        value = self.draft.conjunction([self.literal(f), ~bad], f"value of {self.text(name)}")
        if value == FALSE:
            return _value(FALSE)
        if not digits:
            return _value(
                value
                if bad == FALSE
                else self.draft.add(Latest(bad, value, "past"), self.text(name))
            )
        asked_by, held_by = zip(*sorted(digits), strict=True)
        return _value(self.draft.add(Recall(bad, asked_by, held_by, value), self.text(name)))

    def recall_where(
        self,
        f: _Value,
        keys: Sequence[_Value],
        queries: Sequence[_Value],
        equal: Literal,
        digit: tuple[_Value, _Value],
        name: Name,
    ) -> _Value:
        """The recall without a digit whose key is constant: it holds only where the query is that
        constant."""
        rest = [pair for pair in zip(keys, queries, strict=True) if pair != digit]
        recalled = self.recall(f, [k for k, _ in rest], [q for _, q in rest], name)
        met = self.draft.conjunction([self.literal(recalled), equal], self.text(name))
        return _value(met)


def _check_symbols(
    formulas: Mapping[str, nodes.Formula], symbols: Sequence[str], propositional: bool
) -> None:
    for name in symbols_of(*formulas.values()):
        if name not in symbols:
            what, known = "symbol", f"in the alphabet {' '.join(symbols)}"
            if propositional:
                what, known = "proposition", f"one of {', '.join(symbols) or 'none'}"
            raise SofthatError(
                f"the formula's {what} {name!r} is not {known}: add it, or correct the formula"
            )


def _value(literal: Literal) -> _Value:
    return _Value(literal.signal, literal.positive)
