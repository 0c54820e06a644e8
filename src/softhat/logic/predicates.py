"""Which numerical predicates stand in formulas, and how long their words may be."""

from __future__ import annotations

from softhat.io.errors import SofthatError
from softhat.logic.syntax.nodes import At, Formula
from softhat.logic.syntax.walk import distinct
from softhat.numbers.predicates import Predicate, Unbound, longest, unknown


def predicates_of(*formulas: Formula) -> dict[str, Predicate]:
    """The numerical predicates that occur, by name; no name may have two meanings."""
    predicates: dict[str, Predicate] = {}
    for node, _ in distinct(*formulas)[0]:
        if isinstance(node, At):
            predicate = node.predicate
            if isinstance(predicate, Unbound):
                raise unknown(predicate.name)
            if predicates.setdefault(predicate.name, predicate) != predicate:
                raise SofthatError(
                    f"the numerical predicate {predicate.name!r} has two meanings: give each "
                    "its own name"
                )
    return dict(sorted(predicates.items()))


def longest_word(*formulas: Formula) -> int | None:
    """The length at which the shortest table of a predicate ends; None if there is no table."""
    predicates = [node.predicate for node, _ in distinct(*formulas)[0] if isinstance(node, At)]
    ends = [end for end in map(longest, predicates) if end is not None]
    return min(ends, default=None)
