"""The walk of a layer against its definition, in two domains of its own: texts and rationals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from softhat.numerics import walk

Numbers = list[Fraction]


@dataclass
class NamedHead:
    query: str = "Q"
    key: str = "K"
    value: str = "V"


@dataclass
class NamedLayer:
    heads: list[NamedHead] = field(default_factory=lambda: [NamedHead()])
    into: str = "W"
    into_bias: str = "b"
    out: str = "U"
    out_bias: str = "c"


class Texts:
    """What is computed, as it is written; `[…]` is stored."""

    def linear(self, x: str, matrix: str) -> str:
        return f"{matrix}·{x}"

    def shift(self, x: str, bias: str) -> str:
        return f"({x} + {bias})"

    def relu(self, x: str) -> str:
        return f"relu{x}"

    def attend(self, query: str, key: str, value: str, head: NamedHead) -> str:
        return f"attend({query}, {key}, {value})"

    def gather(self, reads: Sequence[str], layer: NamedLayer) -> str:
        return f"O·({'; '.join(reads)})"

    def add(self, x: str, y: str) -> str:
        return f"({x} + {y})"

    def store(self, x: str) -> str:
        return f"[{x}]"


def test_the_order_of_operations() -> None:
    """As certificates state it: each of these is rounded to the dtype, nothing else is."""
    texts, layer = Texts(), NamedLayer()
    assert walk.embedding(texts, "P", "t", "f") == "[(t + P·f)]"
    assert walk.attention(texts, layer, "x") == "[(x + O·([attend([Q·x], [K·x], [V·x])]))]"
    assert walk.feed_forward(texts, layer, "x") == "[(x + (U·[relu(W·x + b)] + c))]"
    assert walk.read_out(texts, "R", "d", "x") == "[(R·x + d)]"


class StockTexts(Texts):
    def norm(self, x: str, norm: str) -> str:
        return f"{norm}({x})"

    def activate(self, x: str) -> str:
        return f"gelu({x})"


def test_the_order_of_gpt2() -> None:
    """As the stock class computes: nothing is stored by another format than it is summed in."""

    @dataclass
    class Stock:
        before_attention: str = "ln_1"
        attention: str = "c_attn"
        projection: str = "c_proj"
        before_units: str = "ln_2"
        units: str = "c_fc"
        output: str = "c_out"
        last: str = "ln_f"
        answers: str = "head"

    def taken(steps: tuple[walk.Step, ...], **given: str) -> dict[str, str]:
        return walk.take(steps, StockTexts(), Stock(), {**given})

    assert taken(walk.STOCK_READING, stream="x")["mixed"] == "c_attn·ln_1(x)"
    after = taken(walk.STOCK_PROJECTION, stream="x", read="r")["stream"]
    assert after == "(x + c_proj·r)"
    units = taken(walk.STOCK_UNITS, stream="x")["stream"]
    assert units == "(x + c_out·gelu(c_fc·ln_2(x)))"
    assert taken(walk.STOCK_ANSWERS, stream="x")["logits"] == "head·ln_f(x)"


def test_rows_may_see_others() -> None:
    read = "[attend([Q·x], [K·y], [V·y])]"
    assert walk.attention(Texts(), NamedLayer(), "x", "y") == f"[(x + O·({read}))]"
    both = NamedLayer(heads=[NamedHead(), NamedHead("q", "k", "v")])
    second = "[attend([q·x], [k·x], [v·x])]"
    assert second in walk.attention(Texts(), both, "x")


def test_a_layer_without_heads_changes_nothing_before_its_units() -> None:
    assert walk.attention(Texts(), NamedLayer(heads=[]), "x") == "x"


class OneRow:
    """A single row that sees itself: what it reads is its value."""

    def linear(self, x: Numbers, matrix: list[Numbers]) -> Numbers:
        return [sum((w * a for w, a in zip(row, x, strict=True)), Fraction(0)) for row in matrix]

    def shift(self, x: Numbers, bias: Numbers) -> Numbers:
        return self.add(x, bias)

    def relu(self, x: Numbers) -> Numbers:
        return [max(a, Fraction(0)) for a in x]

    def attend(self, query: Numbers, key: Numbers, value: Numbers, head: Any) -> Numbers:
        return value

    def gather(self, reads: Sequence[Numbers], layer: Any) -> Numbers:
        written = [self.linear(x, m) for x, m in zip(reads, layer.output, strict=True)]
        return [sum(parts, Fraction(0)) for parts in zip(*written, strict=True)]

    def add(self, x: Numbers, y: Numbers) -> Numbers:
        return [a + b for a, b in zip(x, y, strict=True)]

    def store(self, x: Numbers) -> Numbers:
        return x


@dataclass
class Weights:
    """Two heads and one hidden unit on two coordinates."""

    heads: list[NamedMatrices]
    output: list[list[Numbers]]
    into: list[Numbers]
    into_bias: Numbers
    out: list[Numbers]
    out_bias: Numbers


@dataclass
class NamedMatrices:
    query: list[Numbers]
    key: list[Numbers]
    value: list[Numbers]


entries = st.integers(-3, 3).map(Fraction)


@given(st.lists(entries, min_size=19, max_size=19))
def test_it_is_the_formula(given: Numbers) -> None:
    """x' = x + Σ O_h V_h x, then x' + U relu(W x' + b) + c, by hand."""
    a, b, *w = given
    heads = [NamedMatrices([], [], [w[0:2]]), NamedMatrices([], [], [w[2:4]])]
    outputs = [[[w[4]], [w[5]]], [[w[6]], [w[7]]]]
    layer = Weights(heads, outputs, [w[8:10]], [w[10]], [[w[11]], [w[12]]], w[13:15])
    first, second = w[0] * a + w[1] * b, w[2] * a + w[3] * b
    x, y = a + w[4] * first + w[6] * second, b + w[5] * first + w[7] * second
    unit = max(Fraction(0), w[8] * x + w[9] * y + w[10])
    wanted = [x + w[11] * unit + w[13], y + w[12] * unit + w[14]]
    domain = OneRow()
    assert walk.feed_forward(domain, layer, walk.attention(domain, layer, [a, b])) == wanted
