"""A short way for people to write an AHAT: linear expressions, heads and ReLUs by name.

Each head and each group of ReLUs writes fresh coordinates of the residual stream and is put in
the first layer where what it reads is there; nothing is ever overwritten. So a program reads
from top to bottom, and every coordinate has a name.

    b = Builder("ab")
    share = b.head("<=", value={"share of a": b.token("a")})    # uniform: no score
    b.output(share["share of a"] - Fraction(1, 2))
    majority = b.build()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from softhat.ahat.model import AHAT, BOS, MASKS, TIES, FeedForward, Head, Layer, Mask, Matrix, Ties
from softhat.io.errors import SofthatError
from softhat.numbers.positions import NAMES, DigitFeature, Feature, Holds, Mod, Named, Table, text

Number = int | Fraction


def exact(number: Any) -> Fraction:
    """A number that means what it says: 0.1 is a float near 1/10, and which one is meant?"""
    if isinstance(number, int | Fraction) and not isinstance(number, bool):
        return Fraction(number)
    raise SofthatError(
        f"expected an integer or a Fraction, which are exact, not {number!r}: write "
        "Fraction('0.1') or Fraction(1, 10)"
    )


@dataclass(frozen=True, slots=True)
class Expr:
    """A linear combination of coordinates plus a constant."""

    terms: tuple[tuple[int, Fraction], ...] = ()
    constant: Fraction = Fraction(0)

    def __add__(self, other: Expr | Number) -> Expr:
        if not isinstance(other, Expr):
            return Expr(self.terms, self.constant + exact(other))
        total = dict(self.terms)
        for coordinate, weight in other.terms:
            total[coordinate] = total.get(coordinate, Fraction(0)) + weight
        terms = tuple(sorted((c, w) for c, w in total.items() if w))
        return Expr(terms, self.constant + other.constant)

    def __mul__(self, factor: Number) -> Expr:
        by = exact(factor)
        if not by:
            return Expr()
        return Expr(tuple((c, w * by) for c, w in self.terms), self.constant * by)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Expr:
        return self * -1

    def __sub__(self, other: Expr | Number) -> Expr:
        return self + (-other if isinstance(other, Expr) else -exact(other))

    def __rsub__(self, other: Number) -> Expr:
        return -self + other


Score: TypeAlias = list[tuple[Expr | Number, Expr | Number]]


class Builder:
    """Collects coordinates, heads and ReLUs; `build` makes the AHAT."""

    def __init__(self, alphabet: str | Sequence[str], bos: bool = False) -> None:
        self.alphabet = tuple(alphabet)
        self.bos = bos
        self._names: list[str] = []
        self._ready: list[int] = []  # 0: embedding; 2l+1: heads of layer l; 2l+2: its ReLUs
        self._tokens: dict[int, dict[str, Fraction]] = {}
        self._features: list[tuple[int, Feature]] = []
        self._heads: list[tuple[int, Any]] = []
        self._relus: list[tuple[int, int, Expr, int]] = []  # layer, written to, of, sign
        self._output: Expr | None = None

    def embed(self, name: str, entries: Mapping[str, Number]) -> Expr:
        """A coordinate of the token embedding; symbols (or `<bos>`) not named get 0."""
        for symbol in entries:
            if symbol not in self.alphabet and not (self.bos and symbol == BOS):
                raise SofthatError(f"{symbol!r} is not in the alphabet {' '.join(self.alphabet)}")
        coordinate = self._fresh(name, 0)
        self._tokens[coordinate] = {s: exact(v) for s, v in entries.items()}
        return Expr(((coordinate, Fraction(1)),))

    def token(self, symbol: str) -> Expr:
        """1 where the symbol stands, else 0."""
        for coordinate, entries in self._tokens.items():
            if entries == {symbol: Fraction(1)}:
                return Expr(((coordinate, Fraction(1)),))
        return self.embed(symbol, {symbol: 1})

    def position(self, feature: str | Feature) -> Expr:
        """A position feature by name (`"i"`, `"1/i"` …), or a Mod or Table."""
        if isinstance(feature, str):
            if feature not in NAMES:
                raise SofthatError(f"unknown position feature {feature!r}; known: {list(NAMES)}")
            feature = Named(feature)
        for coordinate, known in self._features:
            if known == feature:
                return Expr(((coordinate, Fraction(1)),))
        coordinate = self._fresh(_feature_name(feature), 0)
        self._features.append((coordinate, feature))
        return Expr(((coordinate, Fraction(1)),))

    def mod(self, modulus: int, remainder: int) -> Expr:
        """1 where i ≡ remainder (mod modulus)."""
        return self.position(Mod(modulus, remainder))

    def table(self, entries: Sequence[Number]) -> Expr:
        """One number a position."""
        return self.position(Table(tuple(exact(x) for x in entries)))

    def head(
        self,
        mask: Mask,
        value: Mapping[str, Expr],
        score: Sequence[tuple[Expr | Number, Expr | Number]] = (),
        name: str = "",
        ties: Ties = "average",
    ) -> dict[str, Expr]:
        """A head with score Σ query(x_i)·key(x_j) over the pairs; its values get these names.

        Of several maximal keys it averages all, or takes the `leftmost` or `rightmost` one.
        """
        if mask not in MASKS:
            raise SofthatError(f"mask must be one of {' '.join(MASKS)}, not {mask!r}")
        if ties not in TIES:
            raise SofthatError(f"ties must be one of {' '.join(TIES)}, not {ties!r}")
        pairs = [(self._homogeneous(q), self._homogeneous(k)) for q, k in score]
        reads = {label: self._homogeneous(v) for label, v in value.items()}
        needed = [*(e for pair in pairs for e in pair), *reads.values()]
        layer = (self._when(needed) + 1) // 2
        out = {label: self._fresh(label, 2 * layer + 1) for label in reads}
        self._heads.append((layer, (mask, pairs, reads, out, name, ties)))
        return {label: Expr(((c, Fraction(1)),)) for label, c in out.items()}

    def relu(self, name: str, of: Expr) -> Expr:
        """A fresh coordinate with ReLU(of)."""
        layer = self._when([of]) // 2
        coordinate = self._fresh(name, 2 * layer + 2)
        self._relus.append((layer, coordinate, of, 1))
        return Expr(((coordinate, Fraction(1)),))

    def clip(self, name: str, of: Expr) -> Expr:
        """A fresh coordinate with min(1, max(0, of)): two ReLUs, whose difference is written, so
        that it is exact in floats wherever it is 0 or 1."""
        clipped = self.relu(name, of)
        layer, coordinate, *_ = self._relus[-1]
        self._relus.append((layer, coordinate, of - 1, -1))
        return clipped

    def output(self, of: Expr) -> None:
        """The model's value; its decision is value > 0."""
        self._output = of

    def build(self) -> AHAT:
        """The AHAT with d_model = the number of coordinates used."""
        if self._output is None:
            raise SofthatError("the builder has no output yet: call output(expression)")
        d = len(self._names)
        used = [head[0] for head in self._heads] + [unit[0] for unit in self._relus]
        depth = max(used, default=-1) + 1
        place = {c: [f for _, f in self._features].index(f) for c, f in self._features}
        zero = Fraction(0)
        return AHAT(
            alphabet=self.alphabet,
            bos=self.bos,
            positions=tuple(f for _, f in self._features),
            embedding=tuple(self._token_vector(s, d) for s in self.alphabet),
            bos_embedding=self._token_vector(BOS, d) if self.bos else None,
            position_embedding=tuple(
                tuple(
                    Fraction(int(c in place and place[c] == k)) for k in range(len(self._features))
                )
                for c in range(d)
            ),
            layers=tuple(self._layer(l, d) for l in range(depth)),
            output_weights=tuple(dict(self._output.terms).get(c, zero) for c in range(d)),
            output_bias=self._output.constant,
            names=tuple(self._names),
        )

    def _fresh(self, name: str, ready: int) -> int:
        self._names.append(name)
        self._ready.append(ready)
        return len(self._names) - 1

    def _when(self, expressions: Sequence[Expr]) -> int:
        return max((self._ready[c] for e in expressions for c, _ in e.terms), default=0)

    def _homogeneous(self, e: Expr | Number) -> Expr:
        """Heads have no biases: a constant is read from the position feature 1."""
        if not isinstance(e, Expr):
            e = Expr((), exact(e))
        return Expr(e.terms) + self.position("1") * e.constant if e.constant else e

    def _token_vector(self, symbol: str, d: int) -> tuple[Fraction, ...]:
        zero = Fraction(0)
        return tuple(self._tokens.get(c, {}).get(symbol, zero) for c in range(d))

    def _layer(self, index: int, d: int) -> Layer:
        heads = []
        for layer, (mask, pairs, reads, out, name, ties) in self._heads:
            if layer == index:
                labels = list(reads)
                output = [[Fraction(0)] * len(labels) for _ in range(d)]
                for k, label in enumerate(labels):
                    output[out[label]][k] = Fraction(1)
                heads.append(
                    Head(
                        mask=mask,
                        query=tuple(_row(q, d) for q, _ in pairs),
                        key=tuple(_row(k, d) for _, k in pairs),
                        value=tuple(_row(reads[label], d) for label in labels),
                        output=tuple(tuple(row) for row in output),
                        name=name or ", ".join(labels),
                        ties=ties,
                    )
                )
        units = [(c, e, sign) for layer, c, e, sign in self._relus if layer == index]
        if not units:
            return Layer(tuple(heads))
        written: Matrix = tuple(
            tuple(Fraction(sign * (c == coordinate)) for c, _, sign in units)
            for coordinate in range(d)
        )
        forward = FeedForward(
            in_weights=tuple(_row(e, d) for _, e, _ in units),
            in_bias=tuple(e.constant for _, e, _ in units),
            out_weights=written,
            out_bias=(Fraction(0),) * d,
        )
        return Layer(tuple(heads), forward)


def _row(e: Expr, d: int) -> tuple[Fraction, ...]:
    terms = dict(e.terms)
    return tuple(terms.get(c, Fraction(0)) for c in range(d))


def _feature_name(feature: Feature) -> str:
    match feature:
        case Named(name):
            return name
        case Mod(modulus, remainder):
            return f"i mod {modulus} = {remainder}"
        case DigitFeature():
            return text(feature)
        case Table():
            return "table"
        case Holds():
            return text(feature)
