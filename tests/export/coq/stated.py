"""The model that a file of `certify --coq` states, read and run without softhat.

The reader knows the little of Coq's syntax that such files use. The model is run by the definitions
of `proofs/Model.v`, written down here once more.
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
            return np.where(j % 2 == 0, 1.0, -1.0) / divided
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
            scored, mask, values, cold, steady = head.given
            scores = np.zeros((count, count))
            for query, key in scored:
                scores += np.outer(x @ _dense(query, d), x @ _dense(key, d))
            scores *= float(cold) if steady else scale * float(cold)
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
