"""How every operator is written: its letter or sign, once, for all that read and write formulas."""

from __future__ import annotations

from softhat.logic.syntax import nodes

PREFIX: dict[str, type[nodes.Unary]] = {
    "!": nodes.Not,
    "Y": nodes.Yesterday,
    "Z": nodes.WeakYesterday,
    "O": nodes.Once,
    "H": nodes.Historically,
    "X": nodes.Tomorrow,
    "N": nodes.WeakTomorrow,
    "F": nodes.Eventually,
    "G": nodes.Always,
}
TEMPORAL: dict[str, type[nodes.Binary]] = {
    "S": nodes.Since,
    "T": nodes.Triggered,
    "U": nodes.Until,
    "R": nodes.Release,
    "W": nodes.WeakUntil,
    "M": nodes.StrongRelease,
}
"""Between two operands, all on one level."""
CONNECTIVES: dict[str, type[nodes.Binary]] = {
    "&": nodes.And,
    "|": nodes.Or,
    "xor": nodes.Xor,
    "->": nodes.Implies,
    "<->": nodes.Iff,
}
WINDOWS: dict[str, type[nodes.UnaryWindow]] = {
    "O": nodes.OnceWithin,
    "H": nodes.HistoricallyWithin,
    "F": nodes.EventuallyWithin,
    "G": nodes.AlwaysWithin,
}
"""Operators that take bounds, before one operand."""
TEMPORAL_WINDOWS: dict[str, type[nodes.BinaryWindow]] = {
    "S": nodes.SinceWithin,
    "U": nodes.UntilWithin,
}
"""The same between two operands."""
COUNTS: dict[str, type[nodes.Counting]] = {
    "#": nodes.Count,
    "#>": nodes.CountFuture,
    "#*": nodes.CountAll,
}
CONSTANTS: dict[str, nodes.Formula] = {
    "true": nodes.TRUE,
    "false": nodes.FALSE,
    "first": nodes.FIRST,
    "last": nodes.LAST,
}
VARIABLES: dict[str, nodes.Term] = {"i": nodes.position, "n": nodes.length}

UNICODE = {
    "!": "¬", "Y": "⊖", "Z": "⊜", "O": "⟐", "H": "⊟", "X": "○", "N": "●", "F": "◇", "G": "□",
    "&": "∧", "|": "∨", "xor": "⊕", "->": "→", "<->": "↔", "<=": "≤", ">=": "≥", "!=": "≠",
    "*": "·", "-": "−", "true": "⊤", "false": "⊥",
}  # fmt: skip
"""Signs of logic that may stand instead."""

SIGNS: dict[type[nodes.Node], str] = {
    **{kind: sign for sign, kind in (PREFIX | TEMPORAL | CONNECTIVES | COUNTS).items()},
    **{kind: sign for sign, kind in (WINDOWS | TEMPORAL_WINDOWS).items()},
    nodes.First: "first",
    nodes.Last: "last",
    nodes.Position: "i",
    nodes.Length: "n",
}
"""The sign of each kind of node that has one."""
