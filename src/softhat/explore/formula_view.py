"""A formula as data for the page: its parts, their places in the text, how to evaluate them.

Parts are listed operands first, so that the page evaluates them in one pass; each has a number,
which is also its colour.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from softhat.io.errors import SofthatError
from softhat.logic.fragments import Description, acceptance_position, describe
from softhat.logic.linear import difference
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Comparison, Formula
from softhat.logic.syntax.print import to_text
from softhat.logic.syntax.signs import SIGNS
from softhat.logic.syntax.walk import distinct
from softhat.numbers.predicates import Predicate, column, depends_on_length, longest

Place = Literal["first", "last"]
LONGEST = 4096
"""Positions that the page is told of where a predicate has no end."""
_LENGTHS = 256
"""Lengths that it is told of where a predicate depends on them."""
MOST_PARTS = 400
"""Distinct subformulas that a page shows."""


class Parts:
    """The distinct formulas below some roots, operands first."""

    def __init__(self, roots: dict[str, Formula]) -> None:
        rows, _ = distinct(*roots.values())
        formulas = [node for node, _ in rows if isinstance(node, Formula)]
        counted = [
            operand
            for node in formulas
            if isinstance(node, Comparison)
            for operand in difference(node).operands
        ]
        # `i` and `n` count `true`, which need not stand in the formula.
        self.formulas: list[Formula] = list(dict.fromkeys([*_constants(counted), *formulas]))
        if len(self.formulas) > MOST_PARTS:
            raise SofthatError(
                f"the input has {len(self.formulas)} distinct parts: the page shows {MOST_PARTS}"
            )
        self.number = {formula: at for at, formula in enumerate(self.formulas)}
        self.texts = [to_text(formula) for formula in self.formulas]

    def nodes(self) -> list[dict[str, Any]]:
        """For each part what the page needs to evaluate and to name it."""
        return [
            {"text": text, **self._meaning(formula)}
            for formula, text in zip(self.formulas, self.texts, strict=True)
        ]

    def _meaning(self, formula: Formula) -> dict[str, Any]:
        match formula:
            case nodes.Symbol(name):
                return {"op": "symbol", "name": name}
            case nodes.Constant(value):
                return {"op": "constant", "value": int(value)}
            case nodes.First():
                return {"op": "first"}
            case nodes.Last():
                return {"op": "last"}
            case nodes.Mod(modulus, remainder):
                return {"op": "mod", "modulus": str(modulus), "remainder": str(remainder)}
            case nodes.At(predicate) if depends_on_length(predicate):
                return {"op": "at", "name": predicate.name, "rows": rows_of(predicate)}
            case nodes.At(predicate):
                known = bits_of(predicate, longest(predicate) or LONGEST)
                return {"op": "at", "name": predicate.name, "bits": known}
            case Comparison(_, relation, _):
                form = difference(formula)
                kinds = (("past", form.past), ("future", form.future), ("total", form.total))
                terms = [
                    [str(a), kind, self.number[counted]]
                    for kind, part in kinds
                    for a, counted in part
                ]
                constant = str(form.constant)
                return {"op": "compare", "relation": relation, "terms": terms, "constant": constant}
        args = [self.number[child] for child in _operands(formula)]
        if isinstance(formula, nodes.Window):
            bounds = [formula.low, formula.high]
            return {"op": "window", "sign": SIGNS[type(formula)], "bounds": bounds, "args": args}
        return {"op": SIGNS[type(formula)], "args": args}

    def output(self, name: str, formula: Formula, at: Place | None = None) -> dict[str, Any]:
        """One output: where acceptance is read (`at`, or as the formula says; None if it looks both
        ways), its tree, and where its parts stand."""
        return {
            "name": name,
            "root": self.number[formula],
            "at": at or acceptance_position(formula),
            "tree": self._tree(formula),
            "spans": self._spans(formula),
            "facts": _facts(describe(formula)),
        }

    def _tree(self, root: Formula) -> list[dict[str, int]]:
        """Each distinct part once, in the order of reading, with its depth."""
        rows: list[dict[str, int]] = []
        seen: set[Formula] = set()
        stack = [(root, 0)]
        while stack:
            formula, depth = stack.pop()
            if formula in seen:
                continue
            seen.add(formula)
            rows.append({"at": self.number[formula], "depth": depth})
            stack += [(child, depth + 1) for child in reversed(_operands(formula))]
        return rows

    def _spans(self, root: Formula) -> dict[int, list[tuple[int, int]]]:
        """Where each part stands in the root's text: an operand's text is part of its parent's."""
        spans: dict[int, list[tuple[int, int]]] = {}
        stack = [(root, 0)]
        while stack and len(spans) < MOST_PARTS:
            formula, start = stack.pop()
            text = self.texts[self.number[formula]]
            spans.setdefault(self.number[formula], []).append((start, start + len(text)))
            prefix = SIGNS.get(type(formula), "")
            cursor = len(prefix) if len(_operands(formula)) == 1 and prefix else 0
            for child in _operands(formula):
                inner = self.texts[self.number[child]]
                at = text.find(inner, cursor)
                if at < 0:
                    break
                stack.append((child, start + at))
                cursor = at + len(inner)
        return spans

    def of_label(self, label: str) -> list[int]:
        """The parts that a head or a coordinate computes, by what its label says."""
        places = []
        for piece in label.removeprefix("raw ").split("; "):
            plain = piece.removeprefix("!(").removesuffix(")") if piece.startswith("!(") else piece
            names = {piece, plain, piece.removeprefix("!")}
            places += [at for at, text in enumerate(self.texts) if text in names]
        if not places and "/(" in label:  # an average: it belongs to the comparison that reads it
            places = [
                self.number[formula]
                for formula in self.formulas
                if isinstance(formula, Comparison)
                and all(self.texts[self.number[x]] in label for x in difference(formula).operands)
            ][:1]
        return places


def _operands(formula: Formula) -> tuple[Formula, ...]:
    """The formulas right below: for a comparison, what it counts."""
    if isinstance(formula, Comparison):
        rows, _ = distinct(formula)
        counted = [node.operand for node, _ in rows if isinstance(node, nodes.Counting)]
        return tuple(dict.fromkeys(counted))
    return tuple(child for child in formula.children if isinstance(child, Formula))


def _constants(formulas: list[Formula]) -> list[Formula]:
    return [formula for formula in formulas if isinstance(formula, nodes.Constant)]


def _facts(facts: Description) -> str:
    runs = "runs as a decoder" if facts.is_decoder else "needs the whole word"
    depth = facts.temporal_depth
    return f"{facts.fragment}; temporal depth {depth}, {facts.size} nodes; {runs}"


def bits_of(predicate: Predicate, n: int) -> str:
    """Where a numerical predicate holds in a word of length n."""
    return "".join("01"[bit] for bit in column(predicate, np.arange(1, n + 1), n).tolist())


def rows_of(predicate: Predicate) -> list[str]:
    """The rows for each length to which the page knows a predicate that depends on the length."""
    most = min(longest(predicate) or _LENGTHS, _LENGTHS)
    return [bits_of(predicate, n) for n in range(1, most + 1)]
