"""At: the position whose code is the query's."""

from __future__ import annotations

from softhat.program.heads import At
from softhat.program.literals import Literal
from softhat.program.registers import Register
from softhat.transformer.lowering.heads.match import sharp
from softhat.transformer.lowering.rows import ONE, ORDINARY, SINKS, HeadScores, Row, RowPair
from softhat.transformer.lowering.wiring import Wiring


def at_scores(head: At, wide: bool, wiring: Wiring) -> HeadScores:
    """Theorem 9. On codes of B digits ±1, softmax of (C/2)·⟨q_i, k_j⟩ and of (C/2)(B - 1) on the
    sinks puts all but n·e^-C + 2e^(-C/2) on the positions with i's code, and if there is none all
    but n·e^(-C/2) on the sinks, where the value is 0: every digit that differs costs C, and the
    sinks stand C/2 below a match and C/2 above one digit. So C = 2 ln(64 N) leaks at most 1/64.
    Where all codes differ (1 + e^-C)^B - 1 may take the place of n·e^-C: it hardly grows with n.
    Machine-checked: `code_found`, `code_none` and `at_found` of proofs/At.v."""
    pairs = [
        RowPair({at: 0.5 * w for at, w in _digit(query).items()}, _digit(key))
        for query, key in zip(head.queries, head.keys, strict=True)
    ]
    pairs.append(RowPair({ONE: 0.5 * (len(pairs) - 1)}, dict(SINKS)))
    return HeadScores("At", head.mask, pairs, 2.0 * sharp(head.longest, wide))


def _digit(literal: Literal) -> Row:
    """1 where the literal holds, -1 where it does not, 0 at the sinks."""
    sign = 1.0 if literal.positive else -1.0
    if literal.signal < 0:
        return {ORDINARY: sign}
    return {Register(literal.signal, False): 2 * sign, ORDINARY: -sign}
