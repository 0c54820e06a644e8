"""Wide gates as trees of narrow ones, for architectures that add up few literals exactly."""

from __future__ import annotations

from softhat.program.draft import LABEL_LIMIT, Draft
from softhat.program.gates import And
from softhat.program.literals import Literal
from softhat.program.signals import Program, Signal
from softhat.program.strict import rewritten


def narrowed(program: Program, widest: int) -> Program:
    """A program with the same outputs, in which no gate reads more than `widest` literals.

    The first literals of a wide gate, which are there early, are gathered first; what is late
    stands near the root and costs no more layers than it must.
    """

    def rule(draft: Draft, signal: Signal, label: str) -> Literal:
        if not isinstance(signal, And):
            return draft.add(signal, label)
        waiting = list(signal.literals)
        while len(waiting) > widest:  # a level of the tree
            gathered: list[Literal] = []
            while waiting and len(waiting) + len(gathered) > widest:
                part, waiting = waiting[:widest], waiting[widest:]
                gathered.append(draft.add(And(tuple(sorted(part))), _label(draft, part)))
            waiting = [*gathered, *waiting]
        return draft.add(And(tuple(sorted(waiting))), label)

    return rewritten(program, rule)


def _label(draft: Draft, literals: list[Literal]) -> str:
    texts = [f"{'' if x.positive else '!'}({draft.labels[x.signal]})" for x in literals]
    text = " & ".join(texts)
    return text if len(text) <= LABEL_LIMIT else text[: LABEL_LIMIT - 1] + "…"
