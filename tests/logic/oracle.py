"""What a formula means, straight from the definitions: quantifiers over positions 1..n.

Shares nothing with the product's evaluators. Recursive and slow: for small formulas and words.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Comparison, Formula, Term

RELATIONS = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}
TABLE = [
    int(bit) for bit in "0110100110010110100101100110100110010110011010010110100110010110"
] * 20
PREDICATES: dict[str, Callable[[int, int], object]] = {
    "prime": lambda i, n: i > 1 and all(i % d for d in range(2, math.isqrt(i) + 1)),
    "square": lambda i, n: math.isqrt(i) ** 2 == i,
    "triangular": lambda i, n: any(k * (k + 1) == 2 * i for k in range(i + 1)),
    "power2": lambda i, n: bin(i).count("1") == 1,
    "fibonacci": lambda i, n: any(math.isqrt(5 * i * i + d) ** 2 == 5 * i * i + d for d in (4, -4)),
    "factorial": lambda i, n: any(math.factorial(k) == i for k in range(1, 20)),
    "middle": lambda i, n: i in (n // 2, (n + 1) // 2, n / 2) and 2 * i in (n, n + 1),
    "p": lambda i, n: (0, 1, 1, 0)[i - 1] if i <= 4 else (i - 4) % 2 == 0,
    "t": lambda i, n: TABLE[i - 1],
    "f": lambda i, n: i % 5 in (1, 2),
    "g": lambda i, n: 3 * i < n or i == n,
}
"""The built-in numerical predicates by their definitions, and those of `GIVEN`."""
GIVEN: dict[str, Any] = {
    "p": "0110(01)",
    "t": TABLE,
    "f": lambda i: i % 5 in (1, 2),
    "g": lambda i, n: 3 * i < n or i == n,
}


def truth(formula: Formula, word: Sequence[object]) -> list[bool]:
    """The truth value at positions 1..n."""
    return [Meaning(word).holds(formula, i) for i in range(1, len(word) + 1)]


class Meaning:
    def __init__(self, word: Sequence[Any]) -> None:
        self.word = word
        self.n = len(word)
        self.known: dict[tuple[int, int], bool] = {}

    def holds(self, f: Formula, i: int) -> bool:
        key = (id(f), i)
        if key not in self.known:
            self.known[key] = self.define(f, i)
        return self.known[key]

    def define(self, f: Formula, i: int) -> bool:
        n, holds = self.n, self.holds
        before = range(1, i + 1)  # all j <= i
        after = range(i, n + 1)  # all j >= i
        match f:
            case nodes.Symbol(name):
                here = self.word[i - 1]
                return here == name if isinstance(here, str) else name in here
            case nodes.Constant(value):
                return value
            case nodes.First():
                return i == 1
            case nodes.Last():
                return i == n
            case nodes.Mod(m, r):
                return (i - r) % m == 0
            case nodes.At(predicate):
                return bool(PREDICATES[predicate.name](i, n))
            case nodes.Not(g):
                return not holds(g, i)
            case nodes.And(g, h):
                return holds(g, i) and holds(h, i)
            case nodes.Or(g, h):
                return holds(g, i) or holds(h, i)
            case nodes.Xor(g, h):
                return holds(g, i) != holds(h, i)
            case nodes.Implies(g, h):
                return not holds(g, i) or holds(h, i)
            case nodes.Iff(g, h):
                return holds(g, i) == holds(h, i)
            case nodes.Yesterday(g):
                return i > 1 and holds(g, i - 1)
            case nodes.WeakYesterday(g):
                return i == 1 or holds(g, i - 1)
            case nodes.Once(g):
                return any(holds(g, j) for j in before)
            case nodes.Historically(g):
                return all(holds(g, j) for j in before)
            case nodes.Since(g, h):
                return any(
                    holds(h, j) and all(holds(g, k) for k in range(j + 1, i + 1)) for j in before
                )
            case nodes.Triggered(g, h):  # not (!g S !h)
                return not any(
                    not holds(h, j) and all(not holds(g, k) for k in range(j + 1, i + 1))
                    for j in before
                )
            case nodes.Recall(g, _):
                same = [j for j in before if all(holds(k, j) == holds(q, i) for k, q in f.digits)]
                return bool(same) and holds(g, same[-1])
            case nodes.Tomorrow(g):
                return i < n and holds(g, i + 1)
            case nodes.WeakTomorrow(g):
                return i == n or holds(g, i + 1)
            case nodes.Eventually(g):
                return any(holds(g, j) for j in after)
            case nodes.Always(g):
                return all(holds(g, j) for j in after)
            case nodes.Until(g, h):
                return self.until(lambda k: holds(g, k), lambda k: holds(h, k), i)
            case nodes.Release(g, h):  # not (!g U !h)
                return not self.until(lambda k: not holds(g, k), lambda k: not holds(h, k), i)
            case nodes.WeakUntil(g, h):  # (g U h) | G g
                until = self.until(lambda k: holds(g, k), lambda k: holds(h, k), i)
                return until or all(holds(g, j) for j in after)
            case nodes.StrongRelease(g, h):  # h U (g & h)
                return self.until(lambda k: holds(h, k), lambda k: holds(g, k) and holds(h, k), i)
            case Comparison(left, relation, right):
                return RELATIONS[relation](self.value(left, i), self.value(right, i))
        raise AssertionError(f)

    def until(self, left: Callable[[int], bool], right: Callable[[int], bool], i: int) -> bool:
        return any(right(j) and all(left(k) for k in range(i, j)) for j in range(i, self.n + 1))

    def value(self, t: Term, i: int) -> int:
        n = self.n
        match t:
            case nodes.Integer(value):
                return value
            case nodes.Position():
                return i
            case nodes.Length():
                return n
            case nodes.Count(f):
                return sum(self.holds(f, j) for j in range(1, n + 1) if j <= i)
            case nodes.CountFuture(f):
                return sum(self.holds(f, j) for j in range(1, n + 1) if j >= i)
            case nodes.CountAll(f):
                return sum(self.holds(f, j) for j in range(1, n + 1))
            case nodes.Scale(k, u):
                return k * self.value(u, i)
            case nodes.Sum(u, v):
                return self.value(u, i) + self.value(v, i)
            case nodes.Difference(u, v):
                return self.value(u, i) - self.value(v, i)
        raise AssertionError(t)
