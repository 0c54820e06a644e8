"""The meaning of a B-RASP or C-RASP program by its definition: loops over all j, nothing clever."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from softhat.frontends.programs import syntax
from softhat.frontends.programs.parse import parse_program

RELATIONS = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq,
    "!=": operator.ne, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip
NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    **RELATIONS, "+": operator.add, "-": operator.sub, "min": min, "max": max,
}  # fmt: skip
GATES = {
    "&": lambda a, b: a and b,
    "|": lambda a, b: a or b,
    "xor": lambda a, b: a != b,
    "->": lambda a, b: not a or b,
    "<->": lambda a, b: a == b,
}


def meaning(text: str, word: Sequence[str]) -> list[bool]:
    """What the program says at every position of the word."""
    program = parse_program(text)
    vectors: dict[str, list[Any]] = {}
    for name, body in program.definitions.items():
        vectors[name] = [evaluate(body, word, vectors, {"i": i}) for i in range(len(word))]
    return [bool(value) for value in vectors[program.accept]]


def evaluate(
    node: syntax.Expression, word: Sequence[str], vectors: dict[str, list[Any]], at: dict[str, int]
) -> Any:
    def now(part: syntax.Expression, **more: int) -> Any:
        return evaluate(part, word, vectors, {**at, **more})

    match node:
        case syntax.Truth(_, value):
            return value
        case syntax.WholeExpression(_, value):
            return value
        case syntax.PlaceExpression(_, of):
            return len(word) if of == "n" else at[of] + 1
        case syntax.AtomExpression(_, "vector", name, where):
            return vectors[name][at[where]]
        case syntax.AtomExpression(_, "symbol", symbol, where):
            return word[at[where]] == symbol
        case syntax.AtomExpression(_, "end", end, where):
            return at[where] == (0 if end == "first" else len(word) - 1)
        case syntax.IsMod(_, where, modulus, remainder):
            return (at[where] + 1) % modulus == remainder
        case syntax.Negation(_, operand):
            return not now(operand)
        case syntax.Operation(_, kind, left, right):
            if kind in GATES:
                return GATES[kind](bool(now(left)), bool(now(right)))
            return NUMBERS[kind](now(left), now(right))
        case syntax.ChoiceExpression(_, condition, then, otherwise):
            return now(then) if now(condition) else now(otherwise)
        case syntax.Times(_, factor, term):
            return factor * now(term)
        case syntax.CountOf(_, mask, body):
            return sum(bool(now(body, j=j)) for j in seen(mask, at["i"], len(word)))
        case syntax.AttentionExpression(_, side, mask, score, value, default):
            found = [j for j in seen(mask, at["i"], len(word)) if now(score, j=j)]
            if not found:
                return now(default)
            return now(value, j=found[0] if side == "leftmost" else found[-1])
    raise AssertionError(node)


def seen(mask: str, i: int, n: int) -> list[int]:
    shown = RELATIONS.get(mask)
    return [j for j in range(n) if shown is None or shown(j, i)]
