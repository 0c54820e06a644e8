"""The RASP language: sequence operations and selectors, with the names of Tracr.

An *s-op* is a sequence of values, one a position, computed from the input; a *selector* says for
each position (the query) which positions (the keys) it looks at. A program is an s-op; calling
it on a sequence gives its meaning by the reference evaluator (`evaluate`), and `softhat.compile`
gives a transformer with the same meaning. Objects are never changed; `==` and the other operators
make new s-ops, so objects are told apart by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from softhat.frontends.rasp.expressions import Encoding, RASPExpr, annotate
from softhat.frontends.rasp.operations import Between, Comparison, LinearMap, Negate, Value, With

SelectorValue = list[list[bool]]
Predicate = Callable[[Value, Value], bool]
"""Of a key and a query, in this order."""


def _operator(sign: str, first: bool = False) -> Callable[[SOp, Value], SOp]:
    """The method for an operator; `first` says that the other operand stands before it."""

    def method(self: SOp, other: Value) -> SOp:
        if isinstance(other, SOp):
            pair = (other, self) if first else (self, other)
            return SequenceMap(Between(sign), *pair)
        return Map(With(sign, other, first), self)

    return method


class SOp(RASPExpr):
    """A sequence operation. Operators work position by position; None stays None."""

    kind = "sop"
    __hash__ = object.__hash__

    def __call__(self, xs: Sequence[Value]) -> list[Value]:
        """The reference meaning on a sequence."""
        from softhat.frontends.rasp.evaluate import evaluate

        values: list[Value] = evaluate(self, xs)
        return values

    # With constants and with other s-ops. RASP's comparisons are sequences, not truth values.
    __lt__, __le__, __gt__, __ge__ = map(_operator, ("<", "<=", ">", ">="))
    __eq__ = _operator("==")  # type: ignore[assignment]
    __ne__ = _operator("!=")  # type: ignore[assignment]
    __add__, __radd__ = _operator("+"), _operator("+", first=True)
    __sub__, __rsub__ = _operator("-"), _operator("-", first=True)
    __mul__, __rmul__ = _operator("*"), _operator("*", first=True)
    __truediv__, __rtruediv__ = _operator("/"), _operator("/", first=True)
    __and__, __rand__ = _operator("and"), _operator("and", first=True)
    __or__, __ror__ = _operator("or"), _operator("or", first=True)

    def __invert__(self) -> SOp:
        return Map(Negate(), self)

    def __neg__(self) -> SOp:
        return Map(With("*", -1, True), self)


S_co = TypeVar("S_co", bound=SOp)


@overload
def _sop(value: S_co, where: str) -> S_co: ...
@overload
def _sop(value: object, where: str) -> SOp: ...
def _sop(value: object, where: str) -> SOp:
    if isinstance(value, SOp):
        return value
    raise TypeError(f"{where} must be an s-op, not {value!r}; a constant is Full({value!r})")


def _selector(value: object, where: str) -> Selector:
    if isinstance(value, Selector):
        return value
    raise TypeError(f"{where} must be a selector, not {value!r}")


def _function(value: object, where: str) -> Callable[..., Any]:
    if callable(value) and not isinstance(value, RASPExpr):
        return value
    raise TypeError(f"{where} must be a function of values, not {value!r}")


class TokensType(SOp):
    """The input."""

    kind = "tokens"

    @property
    def label(self) -> str:
        return "tokens"


class IndicesType(SOp):
    """The positions, from 0."""

    kind = "indices"

    @property
    def label(self) -> str:
        return "indices"


class LengthType(SOp):
    """The length of the input, at every position."""

    kind = "length"

    @property
    def label(self) -> str:
        return "length"


tokens = TokensType()
indices = IndicesType()
length = LengthType()


class Full(SOp):
    """One value at every position."""

    kind = "full"

    def __init__(self, fill: Value) -> None:
        super().__init__()
        self.fill = fill


class ConstantSOp(SOp):
    """Given values, whatever the input is; only for trying things out."""

    kind = "constant_sop"

    def __init__(self, value: Sequence[Value], check_length: bool = True) -> None:
        super().__init__()
        self.value = list(value)
        self.check_length = check_length


class Map(SOp):
    """`f` of the value at each position; None stays None."""

    kind = "map"

    def __init__(self, f: Callable[[Value], Value], inner: SOp, simplify: bool = True) -> None:
        super().__init__()
        self.f = _function(f, "the first argument of Map")
        self.inner = _sop(inner, "the second argument of Map")


class SequenceMap(SOp):
    """`f` of two values at each position; None if one of them is."""

    kind = "sequence_map"

    def __init__(self, f: Callable[[Value, Value], Value], fst: SOp, snd: SOp) -> None:
        super().__init__()
        self.f = _function(f, "the first argument of SequenceMap")
        self.fst = _sop(fst, "the second argument of SequenceMap")
        self.snd = _sop(snd, "the third argument of SequenceMap")


class LinearSequenceMap(SequenceMap):
    """`fst_fac`·x + `snd_fac`·y at each position."""

    kind = "linear_sequence_map"

    def __init__(self, fst: SOp, snd: SOp, fst_fac: float, snd_fac: float) -> None:
        super().__init__(LinearMap(fst_fac, snd_fac), fst, snd)
        self.fst_fac = fst_fac
        self.snd_fac = snd_fac


class Selector(RASPExpr):
    """For each query position the key positions it looks at."""

    kind = "selector"

    def __call__(self, xs: Sequence[Value]) -> SelectorValue:
        """The reference meaning: rows are queries, columns keys."""
        from softhat.frontends.rasp.evaluate import evaluate

        rows: SelectorValue = evaluate(self, xs)
        return rows

    def __and__(self, other: Selector) -> Selector:
        return SelectorAnd(self, other)

    def __or__(self, other: Selector) -> Selector:
        return SelectorOr(self, other)

    def __invert__(self) -> Selector:
        return SelectorNot(self)


class Select(Selector):
    """Where `predicate(key, query)` holds."""

    kind = "select"

    def __init__(self, keys: SOp, queries: SOp, predicate: Predicate | Comparison) -> None:
        super().__init__()
        self.keys = _sop(keys, "the keys of Select")
        self.queries = _sop(queries, "the queries of Select")
        self.predicate = _function(predicate, "the predicate of Select")


class ConstantSelector(Selector):
    """Given rows, whatever the input is; only for trying things out."""

    kind = "constant_selector"

    def __init__(self, value: SelectorValue, check_length: bool = True) -> None:
        super().__init__()
        self.value = value
        self.check_length = check_length


class _Pair(Selector):
    def __init__(self, fst: Selector, snd: Selector) -> None:
        super().__init__()
        self.fst = _selector(fst, f"the first argument of {type(self).__name__}")
        self.snd = _selector(snd, f"the second argument of {type(self).__name__}")


class SelectorAnd(_Pair):
    """What both select."""

    kind = "selector_and"


class SelectorOr(_Pair):
    """What one of them selects."""

    kind = "selector_or"


class SelectorNot(Selector):
    """Selects what the inner selector does not."""

    kind = "selector_not"

    def __init__(self, inner: Selector) -> None:
        super().__init__()
        self.inner = _selector(inner, "the argument of SelectorNot")


class SelectorWidth(SOp):
    """How many positions are selected."""

    kind = "selector_width"

    def __init__(self, selector: Selector) -> None:
        super().__init__()
        self.selector = _selector(selector, "the argument of SelectorWidth")


class Aggregate(SOp):
    """The mean of the values at the selected positions, `default` where there is none. The mean
    of one value is that value, of whatever type."""

    kind = "aggregate"

    def __init__(self, selector: Selector, sop: SOp, default: Value = None) -> None:
        super().__init__()
        self.selector = _selector(selector, "the first argument of Aggregate")
        self.sop = _sop(sop, "the second argument of Aggregate")
        self.default = default


def sop_not(sop: SOp) -> SOp:
    return Map(Negate(), sop)


def selector_not(inner: Selector, simplify: bool = True) -> Selector:
    return SelectorNot(inner)


def selector_and(fst: Selector, snd: Selector, simplify: bool = True) -> Selector:
    return SelectorAnd(fst, snd)


def selector_or(fst: Selector, snd: Selector, simplify: bool = True) -> Selector:
    return SelectorOr(fst, snd)


def numerical(sop: S_co) -> S_co:
    """To be represented as a number: within the certified error, at no cost in size."""
    return annotate(_sop(sop, "what is numerical"), encoding=Encoding.NUMERICAL)


def categorical(sop: S_co) -> S_co:
    """To be represented exactly."""
    return annotate(_sop(sop, "what is categorical"), encoding=Encoding.CATEGORICAL)


def get_encoding(sop: SOp) -> Encoding:
    encoding: Encoding = _sop(sop, "what has an encoding").annotations.get(
        "encoding", Encoding.CATEGORICAL
    )
    return encoding


def is_numerical(sop: SOp) -> bool:
    return get_encoding(sop) is Encoding.NUMERICAL


def is_categorical(sop: SOp) -> bool:
    return get_encoding(sop) is Encoding.CATEGORICAL
