"""In which order to evaluate the parts of formulas, and when to forget them.

Both evaluators follow a plan: operands before operators, equal subformulas once, each value
dropped after its last use, so that a deep formula needs memory for a few values only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from softhat.logic.linear import LinearForm, difference
from softhat.logic.syntax.nodes import TRUE, Comparison, Formula, Node, Recall
from softhat.logic.syntax.walk import distinct


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """Steps (node, places of its operands, linear form), what to drop after each, the results.

    The operands of a comparison are what its linear form counts; place -1 stands for `true`.
    Those of a recall are its value, and the key and the query of each digit. Steps that are no
    formulas have nothing to do: the linear forms and these operands hold them.
    """

    steps: tuple[tuple[Node, tuple[int, ...], LinearForm | None], ...]
    dead: tuple[tuple[int, ...], ...]
    results: tuple[int, ...]


@lru_cache(maxsize=32)
def plan(formulas: tuple[Formula, ...]) -> EvaluationPlan:
    """The plan for evaluating `formulas` together, kept for the next words."""
    return planned(formulas)


def planned(formulas: tuple[Formula, ...]) -> EvaluationPlan:
    """The plan for evaluating `formulas` together, once."""
    rows, results = distinct(*formulas)
    index: dict[Node, int] = {node: k for k, (node, _) in enumerate(rows)}
    steps: list[tuple[Node, tuple[int, ...], LinearForm | None]] = []
    for node, places in rows:
        if isinstance(node, Comparison):
            form = difference(node)
            counted = tuple(-1 if f == TRUE else index[f] for f in form.operands)
            steps.append((node, counted, form))
        elif isinstance(node, Recall):
            steps.append((node, tuple(index[f] for f in node.operands), None))
        else:
            steps.append((node, places, None))
    last_use = list(range(len(steps)))
    for k, (_, places, _) in enumerate(steps):
        for place in places:
            if place >= 0:
                last_use[place] = k
    dead: list[list[int]] = [[] for _ in steps]
    for place in set(range(len(steps))).difference(results):
        dead[last_use[place]].append(place)
    return EvaluationPlan(tuple(steps), tuple(map(tuple, dead)), tuple(results))
