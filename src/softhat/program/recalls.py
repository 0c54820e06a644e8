"""Recall by its definition: one `Latest` for each code.

softhat's own architecture has no head for it. With unbounded positions none can be: a mismatch must
cost more than the way to the first position, and that is i times a digit of the query, which no
linear map of the residual stream gives. Stock decoders have a context, and so a head of their own.
"""

from __future__ import annotations

from itertools import product

from softhat.io.errors import SofthatError
from softhat.program.draft import Draft
from softhat.program.gates import And
from softhat.program.heads import Latest, Recall
from softhat.program.inputs import TokenIn
from softhat.program.literals import FALSE, Literal
from softhat.program.signals import Program, Signal
from softhat.program.strict import rewritten

MOST_DIGITS = 8
"""256 heads."""


def without_recalls(program: Program) -> Program:
    """A program with the same outputs, without `Recall`."""
    if not any(isinstance(signal, Recall) for signal in program.signals):
        return program
    return rewritten(program, _by_codes)


def with_both_values(program: Program) -> Program:
    """The same recalls with a digit for each value of a key's digits, "it is 1" and "it is 0": a
    mismatch is then always something that holds at the key, and a match that nothing does."""
    return rewritten(program, _both_values)


def _both_values(draft: Draft, signal: Signal, label: str) -> Literal:
    if not isinstance(signal, Recall):
        return draft.add(signal, label)
    queries: list[Literal] = []
    keys: list[Literal] = []
    for query, key in zip(signal.queries, signal.keys, strict=True):
        for asked, held in ((query, key), (~query, ~key)):
            if not isinstance(draft.signal(held), TokenIn):
                held = draft.add(And((held,)), f"digit of {label}")
            queries.append(asked)
            keys.append(held)
    return draft.add(Recall(signal.bad, tuple(queries), tuple(keys), signal.value), label)


def _by_codes(draft: Draft, signal: Signal, label: str) -> Literal:
    """For every code: if it is the query's, then the latest key with it has the value."""
    if not isinstance(signal, Recall):
        return draft.add(signal, label)
    if len(signal.keys) > MOST_DIGITS:
        raise SofthatError(
            f"a recall by {len(signal.keys)} digits needs 2^{len(signal.keys)} heads of softhat's "
            f"own, and {MOST_DIGITS} digits are the limit: stock decoders have a head for it "
            "(to_gpt2, to_llama)"
        )
    cases = []
    for code in product((False, True), repeat=len(signal.keys)):
        asked, held = (
            draft.conjunction(
                [x if bit else ~x for x, bit in zip(side, code, strict=True)], f"code of {label}"
            )
            for side in (signal.queries, signal.keys)
        )
        candidate = draft.conjunction([held, ~signal.bad], f"key of {label}")
        value = draft.conjunction([candidate, signal.value], f"value of {label}")
        answer = value  # where no key has the code, or every key
        if FALSE not in (value, ~candidate):
            answer = draft.add(Latest(~candidate, value, "past"), label)
        cases.append(~draft.conjunction([asked, ~answer], f"{label}: another code"))
    all_met = draft.conjunction(cases, label)
    if all_met.positive:
        return all_met
    return draft.add(And((all_met,)), label)
