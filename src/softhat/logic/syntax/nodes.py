"""The formula language as immutable values: what can be said about a word.

A `Formula` is true or false at every position of a word; a `Term` is an integer there. Nodes
are frozen, hashable and compared by structure; constructors never simplify (`rewrite` does,
when asked). Formulas may be nested as deeply as memory allows, so nothing recurses: a hash is
computed once from the children's, equality and every pass walk iteratively (see `walk`), and
a pickle is the flat list of distinct nodes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from softhat.errors import FormulaError, SofthatError
from softhat.predicates import Predicate, define, named

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from softhat.logic.semantics.words import Word

Relation = Literal["<", "<=", "=", "!=", ">=", ">"]


class Node:
    """A formula or a term: `children` are its parts, `payload` the rest of its data."""

    __slots__ = ("_hash", "_signal")
    _hash: int
    _signal: int  # where it holds on the words of `logic.refute`, once that has been asked

    @property
    def children(self) -> tuple[Node, ...]:
        return ()

    @property
    def payload(self) -> tuple[Hashable, ...]:
        return ()

    def __post_init__(self) -> None:
        below = tuple([child._hash for child in self.children])
        _set_hash(self, hash((type(self), self.payload, below)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Structural equality, iteratively; a pair of objects is compared once."""
        if self is other:
            return True
        if not isinstance(other, Node):
            return NotImplemented
        if self._hash != other._hash:
            return False
        seen: set[tuple[int, int]] = set()
        stack: list[tuple[Node, Node]] = [(self, other)]
        while stack:
            left, right = stack.pop()
            if left is right or (id(left), id(right)) in seen:
                continue
            if (
                left._hash != right._hash
                or type(left) is not type(right)
                or left.payload != right.payload
            ):
                return False
            seen.add((id(left), id(right)))
            stack.extend(zip(left.children, right.children, strict=True))
        return True

    def __bool__(self) -> bool:
        raise TypeError(
            "a formula has a truth value only at a position of a word: "
            "combine formulas with & | ^ ~ >> and compare terms one at a time"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        from softhat.logic.syntax.walk import from_rows, to_rows

        return from_rows, (to_rows(self),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __str__(self) -> str:
        from softhat.logic.syntax.print import to_text

        return to_text(self)

    def __repr__(self) -> str:
        from softhat.logic.syntax.print import to_short

        return f"<{type(self).__name__} {to_short(self, 200)}>"

    def pretty(self) -> str:
        """The Unicode form, which can be read back too: `¬a ∧ ⊖b`."""
        from softhat.logic.syntax.print import to_unicode

        return to_unicode(self)


_set_hash = Node.__dict__["_hash"].__set__
"""Frozen nodes refuse the ordinary way; `object.__setattr__` would look the name up each time."""


class Formula(Node):
    """True or false at every position of a word."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from softhat.logic.syntax.print import to_unicode
        from softhat.markup import code

        return code(to_unicode(self))

    def __and__(self, other: Formula) -> And:
        return And(self, _formula(other))

    def __or__(self, other: Formula) -> Or:
        return Or(self, _formula(other))

    def __xor__(self, other: Formula) -> Xor:
        return Xor(self, _formula(other))

    def __rshift__(self, other: Formula) -> Implies:
        return Implies(self, _formula(other))

    def __invert__(self) -> Not:
        return Not(self)

    def implies(self, other: Formula) -> Implies:
        return Implies(self, _formula(other))

    def iff(self, other: Formula) -> Iff:
        return Iff(self, _formula(other))

    def yesterday(self) -> Yesterday:
        return Yesterday(self)

    def weak_yesterday(self) -> WeakYesterday:
        return WeakYesterday(self)

    def once(self) -> Once:
        return Once(self)

    def historically(self) -> Historically:
        return Historically(self)

    def since(self, other: Formula) -> Since:
        return Since(self, _formula(other))

    def triggered(self, other: Formula) -> Triggered:
        return Triggered(self, _formula(other))

    def tomorrow(self) -> Tomorrow:
        return Tomorrow(self)

    def weak_tomorrow(self) -> WeakTomorrow:
        return WeakTomorrow(self)

    def eventually(self) -> Eventually:
        return Eventually(self)

    def always(self) -> Always:
        return Always(self)

    def until(self, other: Formula) -> Until:
        return Until(self, _formula(other))

    def release(self, other: Formula) -> Release:
        return Release(self, _formula(other))

    def weak_until(self, other: Formula) -> WeakUntil:
        return WeakUntil(self, _formula(other))

    def strong_release(self, other: Formula) -> StrongRelease:
        return StrongRelease(self, _formula(other))

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


def _formula(value: object) -> Formula:
    if isinstance(value, Formula):
        return value
    raise TypeError(f"expected a formula, got {value!r}; a symbol is softhat.symbol('a')")


def _term(value: object) -> Term:
    if isinstance(value, Term):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Integer(value)
    raise TypeError(f"expected a counting term or an integer, got {value!r}")


def _shown(value: int) -> str:
    """An integer in a message: Python refuses to print huge ones."""
    return str(value) if abs(value) < 10**30 else "a huge number"


def _integer(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError(f"expected an integer, got {value!r}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Symbol(Formula):
    """`a`: the symbol at i is that one (in propositional mode: it is in the set at i)."""

    name: str

    @property
    def payload(self) -> tuple[Hashable, ...]:
        return (self.name,)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SofthatError(f"a symbol is a non-empty string, not {self.name!r}")
        Node.__post_init__(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constant(Formula):
    """`true` or `false`."""

    value: bool

    @property
    def payload(self) -> tuple[Hashable, ...]:
        return (self.value,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class First(Formula):
    """`first`: i = 1."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Last(Formula):
    """`last`: i = n."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Mod(Formula):
    """`mod(m, r)`: i ≡ r (mod m), with m >= 1 and 0 <= r < m."""

    modulus: int
    remainder: int

    @property
    def payload(self) -> tuple[Hashable, ...]:
        return (self.modulus, self.remainder)

    def __post_init__(self) -> None:
        _integer(self.modulus)
        _integer(self.remainder)
        if self.modulus < 1 or not 0 <= self.remainder < self.modulus:
            given = f"mod({_shown(self.modulus)}, {_shown(self.remainder)})"
            raise FormulaError(f"mod(m, r) needs m >= 1 and 0 <= r < m, not {given}")
        Node.__post_init__(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class At(Formula):
    """`at(p)`: the numerical predicate p holds of i (and n)."""

    predicate: Predicate

    @property
    def payload(self) -> tuple[Hashable, ...]:
        return (self.predicate,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unary(Formula):
    """A formula with one operand."""

    operand: Formula

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand,)

    def __post_init__(self) -> None:
        _set_hash(self, hash((type(self), self.operand._hash)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Binary(Formula):
    """A formula with two operands."""

    left: Formula
    right: Formula

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def __post_init__(self) -> None:
        _set_hash(self, hash((type(self), self.left._hash, self.right._hash)))


class Not(Unary):
    """`!f`: f does not hold."""

    __slots__ = ()


class Yesterday(Unary):
    """`Y f`: i > 1 and f at i-1."""

    __slots__ = ()


class WeakYesterday(Unary):
    """`Z f`: i = 1 or f at i-1."""

    __slots__ = ()


class Once(Unary):
    """`O f`: f at some j <= i."""

    __slots__ = ()


class Historically(Unary):
    """`H f`: f at every j <= i."""

    __slots__ = ()


class Tomorrow(Unary):
    """`X f`: i < n and f at i+1."""

    __slots__ = ()


class WeakTomorrow(Unary):
    """`N f`: i = n or f at i+1."""

    __slots__ = ()


class Eventually(Unary):
    """`F f`: f at some j >= i."""

    __slots__ = ()


class Always(Unary):
    """`G f`: f at every j >= i."""

    __slots__ = ()


class And(Binary):
    """`f & g`: both hold."""

    __slots__ = ()


class Or(Binary):
    """`f | g`: one of them holds."""

    __slots__ = ()


class Xor(Binary):
    """`f xor g`: exactly one of them holds."""

    __slots__ = ()


class Implies(Binary):
    """`f -> g`: g holds or f does not."""

    __slots__ = ()


class Iff(Binary):
    """`f <-> g`: both hold or neither."""

    __slots__ = ()


class Since(Binary):
    """`f S g`: g at some j <= i, and f at every k with j < k <= i."""

    __slots__ = ()


class Triggered(Binary):
    """`f T g`: the dual of S: not (!f S !g)."""

    __slots__ = ()


class Until(Binary):
    """`f U g`: g at some j >= i, and f at every k with i <= k < j."""

    __slots__ = ()


class Release(Binary):
    """`f R g`: the dual of U: not (!f U !g)."""

    __slots__ = ()


class WeakUntil(Binary):
    """`f W g`: (f U g) | G f."""

    __slots__ = ()


class StrongRelease(Binary):
    """`f M g`: g U (f & g)."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(Formula):
    """`t1 ⋈ t2`: a linear comparison of counting terms."""

    left: Term
    relation: Relation
    right: Term

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def payload(self) -> tuple[Hashable, ...]:
        return (self.relation,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Integer(Term):
    """An integer constant of any size."""

    value: int

    @property
    def payload(self) -> tuple[Hashable, ...]:
        return (self.value,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Position(Term):
    """`i`: the position itself. Calling it gives itself, so `position()` reads well too."""

    def __call__(self) -> Position:
        return self


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Length(Term):
    """`n`: the length of the word. Calling it gives itself, so `length()` reads well too."""

    def __call__(self) -> Length:
        return self


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Counting(Term):
    """How many positions of a range satisfy a formula."""

    operand: Formula

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand,)


class Count(Counting):
    """`#(f)`: how many j <= i satisfy f."""

    __slots__ = ()


class CountFuture(Counting):
    """`#>(f)`: how many j >= i satisfy f."""

    __slots__ = ()


class CountAll(Counting):
    """`#*(f)`: how many positions of the word satisfy f."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scale(Term):
    """`k*t` with an integer k."""

    factor: int
    term: Term

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.term,)

    @property
    def payload(self) -> tuple[Hashable, ...]:
        return (self.factor,)

    def __post_init__(self) -> None:
        _integer(self.factor)
        Node.__post_init__(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sum(Term):
    """`t1 + t2`."""

    left: Term
    right: Term

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Difference(Term):
    """`t1 - t2`."""

    left: Term
    right: Term

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)


TRUE = Constant(True)
FALSE = Constant(False)
FIRST = First()
LAST = Last()
position = Position()
length = Length()


def symbol(name: str) -> Symbol:
    """The formula that the symbol (or proposition) `name` stands at the position."""
    return Symbol(name)


def count(formula: Formula) -> Count:
    """`#(f)`: how many positions up to and including this one satisfy `formula`."""
    return Count(_formula(formula))


def count_future(formula: Formula) -> CountFuture:
    """`#>(f)`: how many positions from this one on satisfy `formula`."""
    return CountFuture(_formula(formula))


def count_all(formula: Formula) -> CountAll:
    """`#*(f)`: how many positions of the whole word satisfy `formula`."""
    return CountAll(_formula(formula))


def predicate(name: str, given: Any = None) -> At:
    """`at(name)`: a built-in numerical predicate, one that is bound later, or what is given.

    Given are bits such as "0110(01)", a list of bits, or a function of i or of i and n.
    """
    return At(named(name) if given is None else define(name, given))
