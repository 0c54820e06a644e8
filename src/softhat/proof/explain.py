"""A certificate in plain sentences: why the model is right, and how far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softhat.proof.values import NAMES

if TYPE_CHECKING:
    from softhat.proof.certificate import Certificate, HeadCertificate

_NAMED = 6
"""Outputs that a sentence lists."""


def explain(c: Certificate) -> str:
    """Sentences, one a line."""
    if c.void:
        lines = ["Nothing is proved about this model."]
        return "\n".join(lines + [f"Reason: {reason}." for reason in c.void])
    return "\n".join([*_claims(c), *_heads(c), *_gates(c), *_lengths(c), *_assumptions(c)])


def _claims(c: Certificate) -> list[str]:
    extent = "of every length" if c.every_length else "of length up to 2^40"
    claim = "the formula"
    if c.errors:  # a RASP program, compiled to a length
        extent, claim = f"of length up to {max(c.max_length.values()):,}", "the program's"
    lines = [f"The weights were read layer by layer. {_agreement(c, claim)}"]
    lines += _formulas(c)
    lines.append(
        f"So in exact arithmetic the answers are right at every position of every word {extent}."
    )
    if c.error:
        lines.append(f"Numbers are within {c.error:.3g} of the program's in float32.")
    return lines


def _agreement(c: Certificate, claim: str) -> str:
    """What the outputs are, in one sentence however many there are."""
    same = "the same Boolean function of symbols, positions and heads as"
    formulas = {output.formula for output in c.outputs}
    names = [repr(output.name) for output in c.outputs]
    if not names:  # bits are listed, numbers are not
        return "Each output is the number that the program gives."
    if len(names) == 1:
        return f"Output {names[0]} is {same} {claim} {formulas.pop()}."
    if len(formulas) == 1:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        listed = ", ".join(names[:_NAMED]) + more
        return f"Each of the outputs {listed} is {same} {claim} {formulas.pop()}."
    part = "formula" if claim == "the formula" else "part of the program"
    return f"Each output is {same} the {part} with its name:"


def _formulas(c: Certificate) -> list[str]:
    """What several outputs compute, where that differs."""
    if len({output.formula for output in c.outputs}) == 1:
        return []
    return [f"- {output.name!r} is {output.formula}" for output in c.outputs]


def _heads(c: Certificate) -> list[str]:
    lines = []
    for kind, does in NAMES.items():
        heads = [head for head in c.heads if head.kind == kind]
        if heads:
            lines.append(_kind(kind, does, heads, c.attention))
    if c.attention == "temperature" and c.heads:
        laws = ", ".join(sorted({head.beta for head in c.heads}))
        lines.append(f"The inverse temperature of a head is {laws}.")
    return lines


def _kind(kind: str, does: str, heads: list[HeadCertificate], attention: str) -> str:
    count, each = ("1 head", "it") if len(heads) == 1 else (f"{len(heads)} heads", "each")
    text = f"{count} of kind {kind}: {each} {does}"
    if kind == "Average":
        return f"{text}; nothing leaks, and the mean is rounded once."
    gap = min(head.min_gap for head in heads)
    if attention == "hard":
        return f"{text}; the best score exceeds the next by at least {gap:g}."
    if kind == "Width":  # its answer is a share of attention: others get some by design
        return (
            f"{text}; the best score exceeds the next by at least {gap:g}, and what the others get "
            f"is small enough to count by, for {min(head.holds_for for head in heads)}."
        )
    leak = max(head.leak for head in heads)
    return (
        f"{text}; the best score exceeds the next by at least {gap:g}, so at most {leak:.3g} of "
        f"the attention goes elsewhere, for {min(head.holds_for for head in heads)}."
    )


def _gates(c: Certificate) -> list[str]:
    slack = min((head.slack for head in c.heads), default=float("inf"))
    if slack == float("inf"):
        return []
    return [
        "Gates round head outputs to exactly 0 or 1, so errors do not add up over layers; the "
        f"tightest gate or read-out would bear {slack:.3g} more than the leak."
    ]


def _lengths(c: Certificate) -> list[str]:
    lines = []
    for dtype, length in c.max_length.items():
        if length == 2**53:
            lines.append(f"In {dtype} this is proved to 2^53 positions, where the proof is cut.")
        elif length:
            lines.append(
                f"In {dtype} this is proved to {length:,} positions. What ends it: "
                f"{c.binding[dtype]}."
            )
        else:
            lines.append(f"In {dtype} nothing is proved: {c.binding[dtype]}.")
    return lines


def _assumptions(c: Certificate) -> list[str]:
    return ["It assumes:", *(f"- {assumption}" for assumption in c.assumptions)]
