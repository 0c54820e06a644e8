"""Formulas to an attention program: one fold, with everything equal computed once.

Booleans become n-ary And gates with negated edges, `S` and `U` the head `Latest`, `Y` and `X`
the head `Previous`, and a comparison of counts one `Average` a range and a `Sign`. Boolean
functions of the symbol alone become one input bit. Constants and trivial gates vanish here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

from softhat.errors import SofthatError
from softhat.logic.syntax import nodes
from softhat.logic.syntax.print import to_short
from softhat.logic.syntax.walk import distinct
from softhat.program.signals import (
    FALSE,
    TRUE,
    And,
    Average,
    Direction,
    FirstPosition,
    LastPosition,
    Latest,
    Literal,
    PositionMod,
    Previous,
    Program,
    Range,
    Sign,
    Signal,
    TokenIn,
    Xor,
    inputs,
)

LABEL_LIMIT = 60
FLATTEN_LIMIT = 64
"""A gate that others use too is copied into its consumer up to this many literals."""
LARGEST_COEFFICIENT = 2**40
LARGEST_THRESHOLD = 2**51
"""Thresholds are weights c - 1/2, exact in float64 up to here."""
LARGEST_MODULUS_BITS = 1_990
"""A model's files name a modulus in decimals: 600 digits, which every Python reads."""
LARGEST_LENGTH = 2**40
"""No word is longer: a larger threshold that only longer words reach is cut to the largest."""


@dataclass(eq=False, slots=True)
class _Conjunction:
    """An And that is not a gate yet, so that chains of & become one wide gate."""

    items: tuple[_Value, ...]
    label: str
    gate: Literal | None = None


@dataclass(frozen=True, slots=True)
class _Value:
    """A Boolean while building: a finished literal, or a conjunction in progress."""

    of: int | _Conjunction
    positive: bool

    def __invert__(self) -> _Value:
        return _Value(self.of, not self.positive)


@dataclass(slots=True)
class _Linear:
    """A counting term: Σ a·#(literal) for each range + position·i + length·n + constant."""

    counts: dict[tuple[Range, int], int] = field(default_factory=dict)
    position: int = 0
    length: int = 0
    constant: int = 0

    def plus(self, other: _Linear, factor: int) -> _Linear:
        counts = dict(self.counts)
        for key, coefficient in other.counts.items():
            counts[key] = counts.get(key, 0) + factor * coefficient
        return _Linear(
            {key: a for key, a in counts.items() if a},
            self.position + factor * other.position,
            self.length + factor * other.length,
            self.constant + factor * other.constant,
        )


def build(
    formulas: Mapping[str, nodes.Formula], symbols: Sequence[str], propositional: bool
) -> Program:
    """The attention program whose outputs are `formulas`, over words of `symbols`."""
    builder = _Builder(tuple(symbols), propositional)
    rows, roots = distinct(*formulas.values())
    values: list[_Value | _Linear] = []
    for node, places in rows:
        values.append(builder.step(node, [values[place] for place in places]))
    outputs = {}
    for name, root in zip(formulas, roots, strict=True):
        value = values[root]
        assert isinstance(value, _Value)
        outputs[name] = builder.literal(value)
    return builder.finish(outputs)


class _Builder:
    """The signals so far, found again by their data."""

    def __init__(self, symbols: tuple[str, ...], propositional: bool) -> None:
        self.symbols = symbols
        self.propositional = propositional
        self.everything = frozenset(symbols)
        self.rank = {symbol: place for place, symbol in enumerate(symbols)}
        self.signals: list[Signal] = []
        self.labels: list[str] = []
        self.index: dict[Signal, int] = {}

    def step(self, node: nodes.Node, below: list[_Value | _Linear]) -> _Value | _Linear:
        match node, below:
            case nodes.Symbol(name), _:
                if name not in self.rank:
                    what, known = "symbol", f"in the alphabet {' '.join(self.symbols)}"
                    if self.propositional:
                        what = "proposition"
                        known = f"one of {', '.join(self.symbols) or 'none'}"
                    raise SofthatError(
                        f"the formula's {what} {name!r} is not {known}: "
                        "add it, or correct the formula"
                    )
                return _value(self.token(frozenset([name])))
            case nodes.Constant(value), _:
                return _value(TRUE if value else FALSE)
            case nodes.First(), _:
                return _value(Literal(self.add(FirstPosition(), "first"), True))
            case nodes.Last(), _:
                return _value(Literal(self.add(LastPosition(), "last"), True))
            case nodes.Mod(modulus, remainder), _:
                if modulus == 1:
                    return _value(TRUE)
                if modulus.bit_length() > LARGEST_MODULUS_BITS:
                    raise SofthatError(
                        f"mod with a number of {modulus.bit_length():,} bits: a model's files "
                        f"name it in full, so {LARGEST_MODULUS_BITS:,} is the limit"
                    )
                at = self.add(PositionMod(modulus, remainder), f"mod({modulus}, {remainder})")
                return _value(Literal(at, True))
            case nodes.Integer(value), _:
                return _Linear(constant=value)
            case nodes.Position(), _:
                return _Linear(position=1)
            case nodes.Length(), _:
                return _Linear(length=1)
            case nodes.Scale(factor, _), [_Linear() as t]:
                return _Linear().plus(t, factor)
            case nodes.Sum(), [_Linear() as t, _Linear() as u]:
                return t.plus(u, 1)
            case nodes.Difference(), [_Linear() as t, _Linear() as u]:
                return t.plus(u, -1)
            case nodes.Count(), [_Value() as f]:
                return self.counted(self.literal(f), "past")
            case nodes.CountFuture(), [_Value() as f]:
                return self.counted(self.literal(f), "future")
            case nodes.CountAll(), [_Value() as f]:
                return self.counted(self.literal(f), "total")
            case nodes.Not(), [_Value() as f]:
                # No signal, so no label: those of 100,000 nested ones were most of the work.
                return ~f
            case nodes.Comparison(_, relation, _), [_Linear() as t, _Linear() as u]:
                return self.comparison(t.plus(u, -1), relation, node)
            case nodes.Formula(), _:
                operands = [value for value in below if isinstance(value, _Value)]
                return self.formula(node, operands)
            case _:
                raise TypeError(f"not a formula: {node!r}")

    def formula(self, node: nodes.Formula, below: list[_Value]) -> _Value:
        label = to_short(node, LABEL_LIMIT)
        match node, below:
            case nodes.And(), [f, g]:
                return self.both(f, g, label)
            case nodes.Or(), [f, g]:
                return ~self.both(~f, ~g, f"!({label})")
            case nodes.Implies(), [f, g]:
                return ~self.both(f, ~g, f"!({label})")
            case nodes.Xor(), [f, g]:
                return _value(self.xor(self.literal(f), self.literal(g), label))
            case nodes.Iff(), [f, g]:
                return _value(~self.xor(self.literal(f), self.literal(g), f"!({label})"))
            case nodes.Yesterday(), [f]:
                return self.previous(f, "past", label)
            case nodes.WeakYesterday(), [f]:
                return ~self.previous(~f, "past", f"!({label})")
            case nodes.Tomorrow(), [f]:
                return self.previous(f, "future", label)
            case nodes.WeakTomorrow(), [f]:
                return ~self.previous(~f, "future", f"!({label})")
            case nodes.Once(), [f]:
                return self.since(_value(TRUE), f, "past", label)
            case nodes.Historically(), [f]:
                return ~self.since(_value(TRUE), ~f, "past", f"!({label})")
            case nodes.Since(), [f, g]:
                return self.since(f, g, "past", label)
            case nodes.Triggered(), [f, g]:
                return ~self.since(~f, ~g, "past", f"!({label})")
            case nodes.Eventually(), [f]:
                return self.since(_value(TRUE), f, "future", label)
            case nodes.Always(), [f]:
                return ~self.since(_value(TRUE), ~f, "future", f"!({label})")
            case nodes.Until(), [f, g]:
                return self.since(f, g, "future", label)
            case nodes.Release(), [f, g]:
                return ~self.since(~f, ~g, "future", f"!({label})")
            case nodes.WeakUntil(), [f, g]:  # f W g = g R (f | g) = !(!g U (!f & !g))
                neither = self.both(~f, ~g, f"goal of !({label})")
                return ~self.since(~g, neither, "future", f"!({label})")
            case nodes.StrongRelease(), [f, g]:
                return self.since(g, self.both(f, g, f"goal of {label}"), "future", label)
            case _:
                raise TypeError(f"not a formula: {node!r}")

    # Boolean gates

    def both(self, f: _Value, g: _Value, label: str) -> _Value:
        # An Or inside an And is finished now, so that flattening later never has to descend.
        items = tuple(
            value if value.positive or isinstance(value.of, int) else _value(self.literal(value))
            for value in (f, g)
        )
        return _Value(_Conjunction(items, label), True)

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
            conjunction.gate = self.conjunction(literals, conjunction.label)
        return conjunction.gate if value.positive else ~conjunction.gate

    def conjunction(self, literals: list[Literal], label: str) -> Literal:
        """And of literals: flattened, without duplicates, token bits merged, constants folded."""
        flat: dict[Literal, None] = {}
        allowed = self.everything
        for literal in self._flattened(literals):
            if literal == FALSE or ~literal in flat:
                return FALSE
            signal = self.signals[literal.signal] if literal.signal >= 0 else None
            if isinstance(signal, TokenIn) and not self.propositional:
                allowed &= self._set_of(signal, literal.positive)
            elif literal != TRUE:
                flat[literal] = None
        if allowed != self.everything:
            token = self.token(allowed)
            if token == FALSE:
                return FALSE
            flat[token] = None
        if len(flat) < 2:
            return next(iter(flat), TRUE)
        return Literal(self.add(And(tuple(sorted(flat))), label), True)

    def _flattened(self, literals: list[Literal]) -> list[Literal]:
        flat: list[Literal] = []
        for literal in literals:
            signal = self.signals[literal.signal] if literal.signal >= 0 else None
            if (
                isinstance(signal, And)
                and literal.positive
                and len(signal.literals) <= FLATTEN_LIMIT
            ):
                flat.extend(signal.literals)  # itself flat when it was built
            else:
                flat.append(literal)
        return flat

    def xor(self, f: Literal, g: Literal, label: str) -> Literal:
        if f.signal < 0:
            return ~g if f == TRUE else g
        if g.signal < 0:
            return ~f if g == TRUE else f
        if f.signal == g.signal:
            return FALSE if f.positive == g.positive else TRUE
        left, right = self.signals[f.signal], self.signals[g.signal]
        if isinstance(left, TokenIn) and isinstance(right, TokenIn) and not self.propositional:
            return self.token(self._set_of(left, f.positive) ^ self._set_of(right, g.positive))
        negated = f.positive != g.positive
        pair = sorted((f.signal, g.signal))
        at = self.add(Xor(pair[0], pair[1]), f"!({label})" if negated else label)
        return Literal(at, not negated)

    def token(self, symbols: frozenset[str]) -> Literal:
        """The bit of a set of symbols; of a set and its complement only the smaller is kept."""
        if not symbols:
            return FALSE
        ordered = tuple(sorted(symbols, key=self.rank.__getitem__))
        if self.propositional:
            return Literal(self.add(TokenIn(ordered), ordered[0]), True)
        if symbols == self.everything:
            return TRUE
        rest = tuple(s for s in self.symbols if s not in symbols)
        kept = min(ordered, rest, key=lambda s: (len(s), [self.rank[x] for x in s]))
        return Literal(self.add(TokenIn(kept), _symbols_label(kept)), kept == ordered)

    def _set_of(self, signal: TokenIn, positive: bool) -> frozenset[str]:
        chosen = frozenset(signal.symbols)
        return chosen if positive else self.everything - chosen

    # Heads

    def previous(self, f: _Value, direction: Direction, label: str) -> _Value:
        value = self.literal(f)
        if value == FALSE:
            return _value(FALSE)
        if value == TRUE:  # there is a previous position
            edge = FirstPosition() if direction == "past" else LastPosition()
            at = self.add(edge, "first" if direction == "past" else "last")
            return _value(Literal(at, False))
        return _value(Literal(self.add(Previous(value, direction), label), True))

    def since(self, f: _Value, g: _Value, direction: Direction, label: str) -> _Value:
        value = self.literal(g)
        bad = self.literal(self.both(f, _value(~value), f"bad of {label}"))
        if bad == FALSE or value == FALSE:  # decided here, or nothing to find
            return _value(value)
        return _value(Literal(self.add(Latest(bad, value, direction), label), True))

    # Counting

    def counted(self, literal: Literal, over: Range) -> _Linear:
        """`#(literal)` with positive literals only: #(¬x) = (size of the range) - #(x)."""
        size = {
            "past": _Linear(position=1),
            "future": _Linear(position=-1, length=1, constant=1),
            "total": _Linear(length=1),
        }[over]
        if literal.signal < 0:
            return size if literal.positive else _Linear()
        plain = _Linear({(over, literal.signal): 1})
        return plain if literal.positive else size.plus(plain, -1)

    def comparison(self, t: _Linear, relation: str, node: nodes.Node) -> _Value:
        """`t ⋈ 0`, by t >= c only: t > 0 is t >= 1, and t = 0 is t >= 0 without t >= 1."""
        label = to_short(node, LABEL_LIMIT)
        match relation:
            case ">=":
                return _value(self.at_least(t, 0, label))
            case ">":
                return _value(self.at_least(t, 1, label))
            case "<":
                return _value(~self.at_least(t, 0, _negated(label)))
            case "<=":
                return _value(~self.at_least(t, 1, _negated(label)))
        low = self.at_least(t, 0, f"{label}: at least")
        high = self.at_least(t, 1, f"{label}: more")
        equal = self.conjunction([low, ~high], label if relation == "=" else _negated(label))
        return _value(equal if relation == "=" else ~equal)

    def at_least(self, t: _Linear, least: int, label: str) -> Literal:
        """`t >= least`, normalised: coprime coefficients, and of t and -t the better one."""
        threshold = least - t.constant
        coefficients = [*t.counts.values(), t.position, t.length]
        divisor = gcd(*coefficients)
        if divisor == 0:
            return TRUE if threshold <= 0 else FALSE
        counts = {key: a // divisor for key, a in sorted(t.counts.items()) if a}
        position, length = t.position // divisor, t.length // divisor
        threshold = -(-threshold // divisor)
        if _turn(counts, position, length):  # -t >= c is not (t >= 1 - c)
            counts = {key: -a for key, a in counts.items()}
            return ~self._sign(counts, -position, -length, 1 - threshold, _negated(label))
        return self._sign(counts, position, length, threshold, label)

    def _sign(
        self, counts: dict[tuple[Range, int], int], p: int, q: int, threshold: int, label: str
    ) -> Literal:
        coefficients = [*counts.values(), p, q]
        # Every count is between 0 and n, and i and n are at least 1.
        if min(coefficients) >= 0 and threshold <= p + q:
            return TRUE
        if max(coefficients) <= 0 and threshold > p + q:
            return FALSE
        if max(map(abs, coefficients)) > LARGEST_COEFFICIENT:
            raise SofthatError(
                f"a coefficient of {label} is beyond 2^40 and cannot be an exact weight"
            )
        if abs(threshold) > LARGEST_THRESHOLD:
            if sum(map(abs, coefficients)) * LARGEST_LENGTH >= LARGEST_THRESHOLD:
                raise SofthatError(
                    f"the constant of {label} is beyond 2^51 and cannot be an exact weight"
                )
            threshold = LARGEST_THRESHOLD if threshold > 0 else -LARGEST_THRESHOLD
        counts, p, q, threshold = _sizes_averaged(counts, p, q, threshold)
        averages: dict[Range, int] = {}
        ranges: tuple[Range, ...] = ("past", "future", "total")
        for over in ranges:
            terms = tuple((a, signal) for (r, signal), a in sorted(counts.items()) if r == over)
            if terms:
                averages[over] = self.add(Average(terms, over), self._average_label(terms, over))
        sign = Sign(
            averages.get("past"), averages.get("future"), averages.get("total"), p, q, threshold
        )
        return Literal(self.add(sign, label), True)

    def _average_label(self, terms: tuple[tuple[int, int], ...], over: Range) -> str:
        mark = {"past": "#", "future": "#>", "total": "#*"}[over]
        text = " + ".join(
            f"{'' if a == 1 else f'{a}*'}{mark}({'true' if signal < 0 else self.labels[signal]})"
            for a, signal in terms
        )
        size = {"past": "i+1", "future": "n+2-i", "total": "n+2"}[over]
        return f"({text if len(text) <= LABEL_LIMIT else text[: LABEL_LIMIT - 1] + '…'})/({size})"

    def add(self, signal: Signal, label: str) -> int:
        at = self.index.get(signal)
        if at is None:
            at = self.index[signal] = len(self.signals)
            self.signals.append(signal)
            self.labels.append(label)
        return at

    def finish(self, outputs: dict[str, Literal]) -> Program:
        """The program of the signals that some output needs."""
        needed = [False] * len(self.signals)
        for literal in outputs.values():
            if literal.signal >= 0:
                needed[literal.signal] = True
        for at in range(len(self.signals) - 1, -1, -1):
            if needed[at]:
                for read in inputs(self.signals[at]):
                    needed[read] = True
        place: dict[int, int] = {-1: -1}
        for at, keep in enumerate(needed):
            if keep:
                place[at] = len(place) - 1
        return Program(
            signals=tuple(_moved(self.signals[at], place) for at in place if at >= 0),
            labels=tuple(self.labels[at] for at in place if at >= 0),
            outputs=tuple(
                (name, Literal(place[lit.signal], lit.positive)) for name, lit in outputs.items()
            ),
            symbols=self.symbols,
            propositional=self.propositional,
        )


def _negated(label: str) -> str:
    """Of a comparison, whose own text does not begin with a negation."""
    return label[2:-1] if label.startswith("!(") else f"!({label})"


def _turn(counts: dict[tuple[Range, int], int], p: int, q: int) -> bool:
    """Whether -t is the better of t and -t: the same for both, so that they share a Sign.

    The scores of Sign must fall with the distance from i. Past counts that are subtracted and
    future ones that are added work against that (future ones subtracted, if they are alone) and
    cost precision. Else the first coefficient is positive.
    """
    alone = {over for over, _ in counts} == {"future"}
    falls = {"past": -1, "future": -1 if alone else 1, "total": 0}
    sides = [max(0, falls[over] * a) for (over, _), a in counts.items()]
    others = [max(0, -falls[over] * a) for (over, _), a in counts.items()]
    if sum(sides) != sum(others):
        return sum(sides) > sum(others)
    return next(a for a in [*counts.values(), p, q] if a) < 0


def _sizes_averaged(
    counts: dict[tuple[Range, int], int], p: int, q: int, threshold: int
) -> tuple[dict[tuple[Range, int], int], int, int, int]:
    """Move p·i + q·n into the averages that are there, as counts of `true`.

    Then the average is near threshold/(i+1) wherever the answer hangs in the balance, and its
    rounding error, which is relative, is small there: 2*#(a) - i is certified as far as #(a) -
    #(b). What no average can take (n beside past counts only) stays a position feature.
    """
    counts = dict(counts)
    present = {over for over, _ in counts}

    def count_true(over: Range, a: int) -> None:
        counts[over, -1] = counts.get((over, -1), 0) + a
        if not counts[over, -1]:
            del counts[over, -1]

    if "total" in present:
        count_true("total", q)
        q = 0
    elif "past" in present and "future" in present:  # n = i + r - 1
        count_true("future", q)
        p, q, threshold = p + q, 0, threshold + q
    if "past" in present:
        count_true("past", p)
        p = 0
    elif "future" in present:  # i = n + 1 - r
        count_true("future", -p)
        p, q, threshold = 0, q + p, threshold - p
    return counts, p, q, threshold


def _value(literal: Literal) -> _Value:
    return _Value(literal.signal, literal.positive)


def _symbols_label(symbols: tuple[str, ...]) -> str:
    text = " | ".join(to_short(nodes.Symbol(s), LABEL_LIMIT) for s in symbols[:8])
    return text if len(symbols) <= 8 else f"{text} | … ({len(symbols)} symbols)"


def _moved(signal: Signal, place: dict[int, int]) -> Signal:
    """`signal` with its inputs renumbered."""

    def lit(literal: Literal) -> Literal:
        return Literal(place[literal.signal], literal.positive)

    match signal:
        case And(literals):
            return And(tuple(sorted(lit(x) for x in literals)))
        case Xor(left, right):
            return Xor(place[left], place[right])
        case Latest(bad, value, direction):
            return Latest(lit(bad), lit(value), direction)
        case Previous(value, direction):
            return Previous(lit(value), direction)
        case Average(terms, over):
            return Average(tuple((a, place[read]) for a, read in terms), over)
        case Sign(past, future, total, p, q, threshold):

            def at(average: int | None) -> int | None:
                return None if average is None else place[average]

            return Sign(at(past), at(future), at(total), p, q, threshold)
        case _:
            return signal
