"""The formula language as immutable values: what can be said about a word.

A `Formula` is true or false at every position of a word, a `Term` is an integer there; each kind
says its meaning at position i. Constructors never simplify (`optimise.simplify` does, when asked).
The methods build larger formulas, and ask what one means; the functions at the end begin one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal

from softhat.io.errors import FormulaError, SofthatError
from softhat.logic.syntax.node import Node as Node
from softhat.logic.syntax.node import checked_integer, kind, set_hash
from softhat.numbers.predicates import Predicate, named

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from softhat.logic.semantics.words import Word

Relation = Literal["<", "<=", "=", "!=", ">=", ">"]


class Formula(Node):
    """True or false at every position of a word."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from softhat.io.markup import code
        from softhat.logic.syntax.print import to_unicode

        return code(to_unicode(self))

    def __and__(self, other: Formula) -> And:
        return And(self, checked_formula(other))

    def __or__(self, other: Formula) -> Or:
        return Or(self, checked_formula(other))

    def __xor__(self, other: Formula) -> Xor:
        return Xor(self, checked_formula(other))

    def __rshift__(self, other: Formula) -> Implies:
        return Implies(self, checked_formula(other))

    def __invert__(self) -> Not:
        return Not(self)

    def implies(self, other: Formula) -> Implies:
        return Implies(self, checked_formula(other))

    def iff(self, other: Formula) -> Iff:
        return Iff(self, checked_formula(other))

    def yesterday(self) -> Yesterday:
        return Yesterday(self)

    def weak_yesterday(self) -> WeakYesterday:
        return WeakYesterday(self)

    def once(self, low: int | None = None, high: int | None = None) -> Once | OnceWithin:
        return Once(self) if high is None else OnceWithin(low or 0, high, self)

    def historically(
        self, low: int | None = None, high: int | None = None
    ) -> Historically | HistoricallyWithin:
        return Historically(self) if high is None else HistoricallyWithin(low or 0, high, self)

    def since(
        self, other: Formula, low: int | None = None, high: int | None = None
    ) -> Since | SinceWithin:
        right = checked_formula(other)
        return Since(self, right) if high is None else SinceWithin(low or 0, high, self, right)

    def triggered(self, other: Formula) -> Triggered:
        return Triggered(self, checked_formula(other))

    def tomorrow(self) -> Tomorrow:
        return Tomorrow(self)

    def weak_tomorrow(self) -> WeakTomorrow:
        return WeakTomorrow(self)

    def eventually(
        self, low: int | None = None, high: int | None = None
    ) -> Eventually | EventuallyWithin:
        return Eventually(self) if high is None else EventuallyWithin(low or 0, high, self)

    def always(self, low: int | None = None, high: int | None = None) -> Always | AlwaysWithin:
        return Always(self) if high is None else AlwaysWithin(low or 0, high, self)

    def until(
        self, other: Formula, low: int | None = None, high: int | None = None
    ) -> Until | UntilWithin:
        right = checked_formula(other)
        return Until(self, right) if high is None else UntilWithin(low or 0, high, self, right)

    def release(self, other: Formula) -> Release:
        return Release(self, checked_formula(other))

    def weak_until(self, other: Formula) -> WeakUntil:
        return WeakUntil(self, checked_formula(other))

    def strong_release(self, other: Formula) -> StrongRelease:
        return StrongRelease(self, checked_formula(other))

    def truth(self, word: Word, predicates: Mapping[str, Any] | None = None) -> NDArray[np.bool_]:
        """The truth value at each position of `word`; `predicates` say what `at(name)` means."""
        from softhat.logic.semantics.truth import truth

        return truth(self.bind(predicates), word)

    def truth_many(
        self, words: Iterable[Word], predicates: Mapping[str, Any] | None = None
    ) -> list[NDArray[np.bool_]]:
        """`truth` of each word, evaluated together."""
        from softhat.logic.semantics.truth import truth_many

        return truth_many(self.bind(predicates), words)

    def accepts(
        self,
        word: Word,
        at: Literal["first", "last"] | None = None,
        predicates: Mapping[str, Any] | None = None,
    ) -> bool:
        """Truth at the last position, or the first for a pure-future formula, unless `at` says."""
        from softhat.logic.semantics.truth import accepts

        return accepts(self.bind(predicates), word, at)

    def bind(self, predicates: Mapping[str, Any] | None) -> Formula:
        """The formula with these numerical predicates for the names in `at(name)`."""
        if predicates is None:
            return self
        from softhat.logic.binding import bind

        return bind(self, predicates)


def checked_formula(value: object) -> Formula:
    """The value, if it is a formula: a string would be easy to give by mistake."""
    if isinstance(value, Formula):
        return value
    raise TypeError(f"expected a formula, got {value!r}; a symbol is softhat.symbol('a')")


def _shown(value: int) -> str:
    """An integer in a message: Python refuses to print huge ones."""
    return str(value) if abs(value) < 10**30 else "a huge number"


@kind
class Symbol(Formula):
    """`a`: the symbol at i is that one (in propositional mode: it is in the set at i)."""

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SofthatError(f"a symbol is a non-empty string, not {self.name!r}")
        Node.__post_init__(self)


@kind
class Constant(Formula):
    """`true` or `false`."""

    value: bool


@kind
class First(Formula):
    """`first`: i = 1."""


@kind
class Last(Formula):
    """`last`: i = n."""


@kind
class Mod(Formula):
    """`mod(m, r)`: i ≡ r (mod m), with m >= 1 and 0 <= r < m."""

    modulus: int
    remainder: int

    def __post_init__(self) -> None:
        checked_integer(self.modulus)
        checked_integer(self.remainder)
        if self.modulus < 1 or not 0 <= self.remainder < self.modulus:
            given = f"mod({_shown(self.modulus)}, {_shown(self.remainder)})"
            raise FormulaError(f"mod(m, r) needs m >= 1 and 0 <= r < m, not {given}")
        Node.__post_init__(self)


@kind
class At(Formula):
    """`at(p)`: the numerical predicate p holds of i (and n)."""

    predicate: Predicate


@kind
class Unary(Formula):
    """A formula with one operand."""

    operand: Formula

    def __post_init__(self) -> None:
        set_hash(self, hash((type(self), self.operand._hash)))


@kind
class Binary(Formula):
    """A formula with two operands."""

    left: Formula
    right: Formula

    def __post_init__(self) -> None:
        set_hash(self, hash((type(self), self.left._hash, self.right._hash)))


@kind
class Not(Unary):
    """`!f`: f does not hold."""


@kind
class Yesterday(Unary):
    """`Y f`: i > 1 and f at i-1."""


@kind
class WeakYesterday(Unary):
    """`Z f`: i = 1 or f at i-1."""


@kind
class Once(Unary):
    """`O f`: f at some j <= i."""


@kind
class Historically(Unary):
    """`H f`: f at every j <= i."""


@kind
class Tomorrow(Unary):
    """`X f`: i < n and f at i+1."""


@kind
class WeakTomorrow(Unary):
    """`N f`: i = n or f at i+1."""


@kind
class Eventually(Unary):
    """`F f`: f at some j >= i."""


@kind
class Always(Unary):
    """`G f`: f at every j >= i."""


@kind
class And(Binary):
    """`f & g`: both hold."""


@kind
class Or(Binary):
    """`f | g`: one of them holds."""


@kind
class Xor(Binary):
    """`f xor g`: exactly one of them holds."""


@kind
class Implies(Binary):
    """`f -> g`: g holds or f does not."""


@kind
class Iff(Binary):
    """`f <-> g`: both hold or neither."""


@kind
class Since(Binary):
    """`f S g`: g at some j <= i, and f at every k with j < k <= i."""


@kind
class Triggered(Binary):
    """`f T g`: the dual of S: not (!f S !g)."""


@kind
class Until(Binary):
    """`f U g`: g at some j >= i, and f at every k with i <= k < j."""


@kind
class Release(Binary):
    """`f R g`: the dual of U: not (!f U !g)."""


@kind
class WeakUntil(Binary):
    """`f W g`: (f U g) | G f."""


@kind
class StrongRelease(Binary):
    """`f M g`: g U (f & g)."""


@kind
class Window(Formula):
    """An operator that looks at distances from `low` to `high` only, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        checked_integer(self.low)
        checked_integer(self.high)
        if not 0 <= self.low <= self.high:
            raise FormulaError(f"bounds [a,b] need 0 <= a <= b, not {bounds_text(self)}")
        Node.__post_init__(self)


def bounds_text(window: Window) -> str:
    """`[1,4]`."""
    return f"[{_shown(window.low)},{_shown(window.high)}]"


@kind
class UnaryWindow(Window):
    """A window operator with one operand."""

    operand: Formula


@kind
class BinaryWindow(Window):
    """A window operator with two operands."""

    left: Formula
    right: Formula


@kind
class OnceWithin(UnaryWindow):
    """`O[a,b] f`: f at some j with a <= i - j <= b."""


@kind
class HistoricallyWithin(UnaryWindow):
    """`H[a,b] f`: f at every j >= 1 with a <= i - j <= b."""


@kind
class EventuallyWithin(UnaryWindow):
    """`F[a,b] f`: f at some j with a <= j - i <= b."""


@kind
class AlwaysWithin(UnaryWindow):
    """`G[a,b] f`: f at every j <= n with a <= j - i <= b."""


@kind
class SinceWithin(BinaryWindow):
    """`f S[a,b] g`: g at some j with a <= i - j <= b, and f at every k with j < k <= i."""


@kind
class UntilWithin(BinaryWindow):
    """`f U[a,b] g`: g at some j with a <= j - i <= b, and f at every k with i <= k < j."""


@kind
class Comparison(Formula):
    """`t1 ⋈ t2`: a linear comparison of counting terms."""

    left: Term
    relation: Relation
    right: Term


@kind
class Digit(Node):
    """`k = q` of a recall: k at the position that is looked for is q here."""

    key: Formula
    query: Formula


@kind
class Digits(Node):
    """Several digits of a recall: all but the last one, and the last."""

    before: Digit | Digits
    digit: Digit


@kind
class Recall(Formula):
    """`last[v | k1 = q1, …]`: v at the last j <= i at which every k is what its q is at i; false
    if there is none."""

    value: Formula
    code: Digit | Digits

    @property
    def digits(self) -> tuple[tuple[Formula, Formula], ...]:
        """Keys and queries."""
        pairs: list[tuple[Formula, Formula]] = []
        code: Digit | Digits | None = self.code
        while code is not None:
            last = code.digit if isinstance(code, Digits) else code
            pairs.append((last.key, last.query))
            code = code.before if isinstance(code, Digits) else None
        return tuple(reversed(pairs))

    @property
    def operands(self) -> tuple[Formula, ...]:
        """The value, then each digit's key and query."""
        return (self.value, *(side for digit in self.digits for side in digit))


def recall(value: Formula, *digits: tuple[Formula, Formula]) -> Recall:
    """`last[value | key = query, …]`: the value at the last position whose keys are what the
    queries are here."""
    if not digits:
        raise SofthatError("last[v | k = q] needs at least one pair of a key and a query")
    pairs = [Digit(checked_formula(key), checked_formula(query)) for key, query in digits]
    code: Digit | Digits = pairs[0]
    for digit in pairs[1:]:
        code = Digits(code, digit)
    return Recall(checked_formula(value), code)


TRUE = Constant(True)
FALSE = Constant(False)
FIRST = First()
LAST = Last()


class Term(Node):
    """An integer at every position of a word, for comparisons."""

    __slots__ = ()

    def __add__(self, other: Term | int) -> Sum:
        return Sum(self, _term(other))

    def __radd__(self, other: int) -> Sum:
        return Sum(_term(other), self)

    def __sub__(self, other: Term | int) -> Difference:
        return Difference(self, _term(other))

    def __rsub__(self, other: int) -> Difference:
        return Difference(_term(other), self)

    def __mul__(self, factor: int) -> Scale:
        return Scale(factor, self)

    def __rmul__(self, factor: int) -> Scale:
        return Scale(factor, self)

    def __neg__(self) -> Scale:
        return Scale(-1, self)

    def __lt__(self, other: Term | int) -> Comparison:
        return Comparison(self, "<", _term(other))

    def __le__(self, other: Term | int) -> Comparison:
        return Comparison(self, "<=", _term(other))

    def __ge__(self, other: Term | int) -> Comparison:
        return Comparison(self, ">=", _term(other))

    def __gt__(self, other: Term | int) -> Comparison:
        return Comparison(self, ">", _term(other))

    def equals(self, other: Term | int) -> Comparison:
        """The formula that both are equal (`==` is structural equality)."""
        return Comparison(self, "=", _term(other))

    def differs(self, other: Term | int) -> Comparison:
        return Comparison(self, "!=", _term(other))


def _term(value: object) -> Term:
    if isinstance(value, Term):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Integer(value)
    raise TypeError(f"expected a counting term or an integer, got {value!r}")


@kind
class Integer(Term):
    """An integer constant of any size."""

    value: int


@kind
class Position(Term):
    """`i`: the position itself. Calling it gives itself, so `position()` reads well too."""

    def __call__(self) -> Position:
        return self


@kind
class Length(Term):
    """`n`: the length of the word. Calling it gives itself, so `length()` reads well too."""

    def __call__(self) -> Length:
        return self


@kind
class Counting(Term):
    """How many positions of a range satisfy a formula."""

    operand: Formula


@kind
class Count(Counting):
    """`#(f)`: how many j <= i satisfy f."""


@kind
class CountFuture(Counting):
    """`#>(f)`: how many j >= i satisfy f."""


@kind
class CountAll(Counting):
    """`#*(f)`: how many positions of the word satisfy f."""


@kind
class Scale(Term):
    """`k*t` with an integer k."""

    factor: int
    term: Term

    def __post_init__(self) -> None:
        checked_integer(self.factor)
        Node.__post_init__(self)


@kind
class Sum(Term):
    """`t1 + t2`."""

    left: Term
    right: Term


@kind
class Difference(Term):
    """`t1 - t2`."""

    left: Term
    right: Term


position = Position()
length = Length()


def symbol(name: str) -> Symbol:
    """The formula that the symbol (or proposition) `name` stands at the position."""
    return Symbol(name)


def count(formula: Formula) -> Count:
    """`#(f)`: how many positions up to and including this one satisfy `formula`."""
    return Count(checked_formula(formula))


def count_future(formula: Formula) -> CountFuture:
    """`#>(f)`: how many positions from this one on satisfy `formula`."""
    return CountFuture(checked_formula(formula))


def count_all(formula: Formula) -> CountAll:
    """`#*(f)`: how many positions of the whole word satisfy `formula`."""
    return CountAll(checked_formula(formula))


def predicate(name: str, given: Any = None) -> At:
    """`at(name)`: a built-in numerical predicate, one that is bound later, or what is given.

    Given are bits such as "0110(01)", a list of bits, or a function of i or of i and n.
    """
    from softhat.numbers.definitions import define  # who only reads formulas defines nothing

    return At(named(name) if given is None else define(name, given))


def all_of(formulas: Iterable[Formula]) -> Formula:
    """`f & g & …` in their order; true if there is none."""
    parts = list(formulas)
    return reduce(And, parts) if parts else TRUE


def any_of(formulas: Iterable[Formula]) -> Formula:
    """`f | g | …` in their order; false if there is none."""
    parts = list(formulas)
    return reduce(Or, parts) if parts else FALSE
