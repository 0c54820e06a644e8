"""What a file of `certify --coq` states, read without softhat: its formulas and its weights.

The reader knows the little of Coq's syntax that such files use. What it reads is computed by the
definitions of `proofs/Surface.v` and `proofs/Model.v`, written down here once more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TOKEN = re.compile(r"\{\||\|\}|:=|[\[\]();,]|-?\d+|[\w.]+")
Predicate = Callable[[int, int], bool]
"""A numerical predicate: does it hold at length n and position i?"""


@dataclass(frozen=True)
class Term:
    """A constructor and what it is applied to."""

    name: str
    given: tuple[Any, ...] = ()


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(re.sub(r"\(\*.*?\*\)|%\w+", "", text, flags=re.S))
        self.at = 0

    def next(self) -> str:
        self.at += 1
        return str(self.tokens[self.at - 1])

    def ends(self) -> bool:
        return self.at == len(self.tokens) or self.tokens[self.at] in ("]", ")", ";", ",", "|}")

    def application(self) -> Any:
        parts = []
        while not self.ends():
            parts.append(self.atom())
        if len(parts) == 1:
            return parts[0]
        head, *given = parts
        if head in (Term("x"), Term("r")):  # an entry, and a rational number
            *place, above, below = given
            return (*place, Fraction(above, below)) if place else Fraction(above, below)
        return Term(head.name, tuple(given))

    def atom(self) -> Any:
        match token := self.next():
            case "[":
                return self.items("]", ";")
            case "(":
                items = self.items(")", ",")
                return items[0] if len(items) == 1 else tuple(items)
            case "{|":
                return self.record()
            case "true" | "false":
                return token == "true"
        return int(token) if token.lstrip("-").isdigit() else Term(token.rsplit(".", 1)[-1])

    def items(self, end: str, between: str) -> list[Any]:
        items = []
        while self.tokens[self.at] != end:
            items.append(self.application())
            if self.tokens[self.at] == between:
                self.at += 1
        self.at += 1
        return items

    def record(self) -> dict[str, Any]:
        fields = {}
        while self.tokens[self.at] != "|}":
            name = self.next().rsplit(".", 1)[-1]
            assert self.next() == ":="
            fields[name] = self.application()
            if self.tokens[self.at] == ";":
                self.at += 1
        self.at += 1
        return fields


def definition(text: str, name: str) -> Any:
    """The value of a definition of the file."""
    found = re.search(rf"^Definition {name} : [^=]*?:=(.*?)\.\n", text, re.M | re.S)
    assert found is not None, name
    return _Reader(found[1]).application()


def names(text: str) -> list[str]:
    """The symbols (or propositions), by their numbers."""
    found = re.search(r"^\(\* (?:symbol|proposition)s: (.*) \*\)$", text, re.M)
    assert found is not None
    return [part.split(": ", 1)[1] for part in found[1].split(", ")]


# Formulas, by the definitions of Surface.v


def truth(f: Term, word: Sequence[set[int]], predicates: Sequence[Predicate] = ()) -> list[bool]:
    """Where the formula holds; each position of the word is the set of what holds there."""
    n = len(word)
    below = [g for g in f.given if isinstance(g, Term)]
    if f.name == "Compare":
        t, relation, u = f.given
        left, right = _value(t, word, predicates), _value(u, word, predicates)
        return [_COMPARED[relation.name](a, b) for a, b in zip(left, right, strict=True)]
    first, second = ([truth(g, word, predicates) for g in below] + [[], []])[:2]

    def at(i: int) -> bool:  # from 0
        match f.name:
            case "Symbol":
                return f.given[0] in word[i]
            case "Constant":
                return bool(f.given[0])
            case "First" | "Last":
                return i == (0 if f.name == "First" else n - 1)
            case "Mod":
                modulus, remainder = f.given
                return (i + 1) % modulus == remainder
            case "At":
                return predicates[f.given[0]](n, i + 1)
            case "Not":
                return not first[i]
            case "And" | "Or" | "Xor" | "Implies" | "Iff":
                return _CONNECTED[f.name](first[i], second[i])
            case "Yesterday" | "WeakYesterday":
                return first[i - 1] if i > 0 else f.name == "WeakYesterday"
            case "Tomorrow" | "WeakTomorrow":
                return first[i + 1] if i < n - 1 else f.name == "WeakTomorrow"
            case "Once" | "Historically":
                return (any if f.name == "Once" else all)(first[: i + 1])
            case "Eventually" | "Always":
                return (any if f.name == "Eventually" else all)(first[i:])
            case "Since":
                return any(second[j] and all(first[j + 1 : i + 1]) for j in range(i + 1))
            case "Triggered":  # g, back to where f let it go
                return all(second[j] or any(first[j + 1 : i + 1]) for j in range(i + 1))
            case "Until":
                return any(second[j] and all(first[i:j]) for j in range(i, n))
            case "Release":
                return all(second[j] or any(first[i:j]) for j in range(i, n))
            case "WeakUntil":
                return all(first[i:]) or any(second[j] and all(first[i:j]) for j in range(i, n))
            case "StrongRelease":  # g, up to a position with f and g
                return any(first[j] and all(second[i : j + 1]) for j in range(i, n))
        raise ValueError(f.name)

    return [at(i) for i in range(n)]


_CONNECTED: dict[str, Callable[[bool, bool], bool]] = {
    "And": lambda a, b: a and b,
    "Or": lambda a, b: a or b,
    "Xor": lambda a, b: a != b,
    "Implies": lambda a, b: not a or b,
    "Iff": lambda a, b: a == b,
}
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "Less": lambda a, b: a < b,
    "LessEqual": lambda a, b: a <= b,
    "Equal": lambda a, b: a == b,
    "NotEqual": lambda a, b: a != b,
    "GreaterEqual": lambda a, b: a >= b,
    "Greater": lambda a, b: a > b,
}


def _value(t: Term, word: Sequence[set[int]], predicates: Sequence[Predicate]) -> list[int]:
    n = len(word)
    match t.name, t.given:
        case "Integer", (k,):
            return [k] * n
        case "Position", ():
            return list(range(1, n + 1))
        case "Length", ():
            return [n] * n
        case "Count", (f,):
            holds = truth(f, word, predicates)
            return [sum(holds[: i + 1]) for i in range(n)]
        case "CountFuture", (f,):
            holds = truth(f, word, predicates)
            return [sum(holds[i:]) for i in range(n)]
        case "CountAll", (f,):
            return [sum(truth(f, word, predicates))] * n
        case "Scale", (k, u):
            return [k * a for a in _value(u, word, predicates)]
        case (("Sum" | "Difference"), (u, v)):
            sign = 1 if t.name == "Sum" else -1
            pairs = zip(_value(u, word, predicates), _value(v, word, predicates), strict=True)
            return [a + sign * b for a, b in pairs]
    raise ValueError(t)


# Models, by the definitions of Model.v, in float64


def _dense(form: Sequence[tuple[int, Fraction]], size: int) -> NDArray[np.float64]:
    row = np.zeros(size)
    for coordinate, entry in form:
        row[coordinate] += float(entry)
    return row


def _feature(
    f: Term, n: int, scale: float, word: Sequence[set[int]], predicates: Sequence[Predicate]
) -> NDArray[np.float64]:
    """A position feature at positions 0 (<bos>) to n + 1 (<eos>)."""
    (what,) = f.given
    j = np.arange(n + 2)
    inside = (j >= 1) & (j <= n)
    divided = scale if what.given == (True,) else 1.0
    match f.name, what.name:
        case "Plain", "One":
            return np.ones(n + 2)
        case "Plain", "Ordinary":
            return inside / divided
        case "Plain", "Index":
            return np.where(inside, j, 0) / divided
        case "Plain", "Reverse":
            return np.where(inside, n + 1 - j, 0) / divided
        case "Plain", "Alternating":
            return (-1.0) ** j / divided
        case ("Plain", "Residue") | ("Known", "InMod"):
            modulus, remainder = what.given
            return 1.0 * (inside & (j % modulus == remainder))
        case "Known", "InFirst":
            return 1.0 * (j == 1)
        case "Known", "InLast":
            return 1.0 * (j == n)
        case "Known", "InSymbol":
            return np.array([0.0, *(1.0 * (what.given[0] in here) for here in word), 0.0])
        case "Known", "InAt":
            holds = predicates[what.given[0]]
            return np.array([0.0, *(1.0 * holds(n, i) for i in range(1, n + 1)), 0.0])
        case "Known", "InDigit":
            bit, x, y, c = what.given
            number = x * j + y * n + c
            return 1.0 * (inside & (number >= 0) & ((number >> bit) % 2 == 1))
    raise ValueError(f)


_SEES: dict[str, Callable[[Any, Any], Any]] = {
    "AtMost": np.less_equal,
    "Below": np.less,
    "AtLeast": np.greater_equal,
    "Above": np.greater,
    "Any": lambda j, i: np.ones(np.broadcast(j, i).shape, dtype=bool),
}


def width(model: dict[str, Any]) -> int:
    """One more than the largest coordinate that a model has an entry in."""

    def largest(part: Any) -> int:
        match part:
            case (int(c), Fraction()) | ([*_], int(c)):
                return max(c, largest(part[0]))
            case dict():
                return max(map(largest, part.values()), default=0)
            case list() | tuple():
                return max(map(largest, part), default=0)
            case Term():
                return largest(part.given)
        return 0

    return largest(model) + 1


def logits(
    model: dict[str, Any],
    word: Sequence[set[int]],
    scale: float = 1.0,
    predicates: Sequence[Predicate] = (),
) -> NDArray[np.float64]:
    """The outputs (k, i) on a word, with softmax attention over the positions that a head sees;
    <bos> stands at 0, <eos> at n + 1."""
    n, d = len(word), width(model)
    count = n + 2 if model["ends"] else n + 1
    x = np.zeros((n + 2, d))
    x[0], x[n + 1] = _dense(model["bos"], d), _dense(model["eos"], d)
    rows = [_dense(form, d) for form in model["embedding"]]
    for j, here in enumerate(word, start=1):
        x[j] = sum((rows[a] for a in here), np.zeros(d))
    for feature, column in model["features"]:
        x += np.outer(_feature(feature, n, scale, word, predicates), _dense(column, d))
    x = x[:count]
    at = np.arange(count)
    for layer in model["layers"]:
        heads, units, shift = layer.given
        added = np.zeros_like(x)
        for head in heads:
            scored, mask, values, cold = head.given
            scores = np.zeros((count, count))
            for query, key in scored:
                scores += np.outer(x @ _dense(query, d), x @ _dense(key, d))
            scores *= scale * float(cold)
            scores[~_SEES[mask.name](at[None, :], at[:, None])] = -np.inf
            seen = np.isfinite(scores).any(axis=1)  # who sees nothing reads 0
            exponents = scores[seen] - scores[seen].max(axis=1, keepdims=True)
            weights = np.zeros_like(scores)
            weights[seen] = np.exp(exponents) / np.exp(exponents).sum(axis=1, keepdims=True)
            for form, target in values:
                added[:, target] += weights @ (x @ _dense(form, d))
        x = x + added
        added = np.tile(_dense(shift, d), (count, 1))
        for unit in units:
            into, bias, out = unit.given
            added += np.outer(np.maximum(x @ _dense(into, d) + float(bias), 0), _dense(out, d))
        x = x + added
    read = [(_dense(row, d), float(offset)) for row, offset in (r.given for r in model["readouts"])]
    return np.array([x[1 : n + 1] @ row + offset for row, offset in read])
