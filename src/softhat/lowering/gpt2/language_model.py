"""A language model that samples only what formulas allow.

There is one formula for each symbol, "this symbol may come next", true at position i iff the
symbol may stand at i+1. An output named `<eos>` says when the word may end; without it a word
ends only where no symbol may follow. The word may also end where neither allows anything, so
that there is always an allowed token.

What may come first is the truth of the formulas at the empty prefix
(`softhat.logic.semantics.empty`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from softhat.errors import SofthatError
from softhat.logic.semantics.empty import at_empty_prefix
from softhat.logic.syntax import nodes
from softhat.lowering.gpt2.layout import BOS_PAIR, ONE, Key, Layout
from softhat.lowering.gpt2.weights import read_row
from softhat.program.draft import Draft
from softhat.program.literals import FALSE
from softhat.program.registers import Register
from softhat.program.signals import Program
from softhat.transformer.weights import EOS


def lm_formulas(
    formulas: Mapping[str, nodes.Formula], symbols: Sequence[str], propositional: bool
) -> dict[str, nodes.Formula]:
    """A formula for each token that may come next, `<eos>` included."""
    if propositional:
        raise SofthatError("head='lm' needs a model over an alphabet, not over propositions")
    missing = [symbol for symbol in symbols if symbol not in formulas]
    if missing:
        raise SofthatError(
            "head='lm' needs one output for each symbol, true where the symbol may come next; "
            f"there is none for {', '.join(missing[:10])}"
        )
    unknown = [name for name in formulas if name not in (*symbols, EOS)]
    if unknown:
        raise SofthatError(
            f"head='lm' takes outputs named by the symbols or {EOS}, not {unknown[0]!r}: the "
            f"alphabet is {' '.join(symbols[:20])}"
        )
    named = {symbol: formulas[symbol] for symbol in symbols}
    nothing: nodes.Formula = nodes.Constant(True)
    for formula in named.values():
        nothing = nodes.And(nothing, nodes.Not(formula))
    end = nodes.Or(formulas.get(EOS, nodes.Constant(False)), nothing)
    return {**named, EOS: end}


def lm_program(program: Program) -> Program:
    """The program of a model of all symbols, with `<eos>`: where it is allowed or nothing is."""
    draft = Draft.of(program)
    outputs = dict(program.outputs)
    nothing = draft.conjunction([~outputs[s] for s in program.symbols], "no symbol may follow")
    end = draft.disjunction([outputs.get(EOS, FALSE), nothing], "the word may end")
    return draft.finish({**{symbol: outputs[symbol] for symbol in program.symbols}, EOS: end})


def lm_readout(
    layout: Layout, formulas: dict[str, nodes.Formula], tokens: tuple[str, ...], margin: float
) -> NDArray[np.float32]:
    """Logits ±(margin/2)(1 + 2^-6) for allowed and forbidden tokens; `<bos>` is never allowed."""
    literals = dict(layout.program.outputs)
    names = [*layout.program.symbols, None, EOS]
    matrix = np.zeros((len(tokens), layout.d_model))
    for row, name in enumerate(names):
        if name is None:
            matrix[row] = read_row(layout, {ONE: -1.0})
            continue
        literal = literals[name]
        sign = 1.0 if literal.positive else -1.0
        key: Key = ONE if literal.signal < 0 else Register(literal.signal, False)
        at_bos = sign if literal.signal < 0 else -sign  # stored bits are false at <bos>
        wanted = 1.0 if at_empty_prefix(formulas[name]) else -1.0
        matrix[row] = read_row(layout, {key: sign, BOS_PAIR: wanted - at_bos})
    # 2^-6 more, so that the margin holds after rounding to any format.
    return (matrix * (margin / 2 * (1 + 2.0**-6))).astype(np.float32)
