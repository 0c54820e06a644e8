"""A node of the syntax: immutable, hashable, compared by structure.

Formulas may be nested as deeply as memory allows, so nothing recurses: a hash is computed once
from the children's, equality and every pass walk iteratively (see `walk`), and a pickle is the
flat list of distinct nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Self, TypeVar, cast, dataclass_transform


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
        set_hash(self, hash((type(self), self.payload, below)))

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

    def latex(self) -> str:
        r"""For papers, in math mode: `\\lnot \\mathtt{a}`."""
        from softhat.logic.syntax.latex import to_latex

        return to_latex(self)

    def pretty(self) -> str:
        """The Unicode form, which can be read back too: `¬a ∧ ⊖b`."""
        from softhat.logic.syntax.print import to_unicode

        return to_unicode(self)


_NODES = ("Formula", "Term", "Digit", "Digit | Digits")
"""The types of fields that hold nodes."""
_OF_INSTANCES = ("__dict__", "__weakref__")
"""What a class has for instances that are not told their attributes beforehand."""
T = TypeVar("T", bound=Node)


@dataclass_transform(frozen_default=True, eq_default=False)
def kind(cls: type[T]) -> type[T]:
    """A kind of node: a frozen dataclass whose `children` are the fields that hold nodes, and whose
    `payload` is the others. One with the fields of another kind is that, under its own name."""
    if hasattr(cls, "__match_args__") and "__annotations__" not in vars(cls):
        said = {name: x for name, x in vars(cls).items() if name not in _OF_INSTANCES}
        return cast("type[T]", type(cls.__name__, cls.__bases__, {**said, "__slots__": ()}))
    cls = dataclass(frozen=True, slots=True, eq=False, repr=False)(cls)
    own = fields(cast("Any", cls))
    children = [field.name for field in own if field.type in _NODES]
    payload = [field.name for field in own if field.type not in _NODES]
    for name, names in (("children", children), ("payload", payload)):
        setattr(cls, name, property(_tuple_of(names)))
    return cls


def _tuple_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The function from an object to these attributes. Every pass asks for children, so it is the
    fastest that Python has: `attrgetter` gives a tuple from two names on."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda node: ()
    only = attrgetter(names[0])
    return lambda node: (only(node),)


set_hash = Node.__dict__["_hash"].__set__
"""Frozen nodes refuse the ordinary way; `object.__setattr__` would look the name up each time."""


def checked_integer(value: object) -> int:
    """The value, if it is an integer: True and False are none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError(f"expected an integer, got {value!r}")
