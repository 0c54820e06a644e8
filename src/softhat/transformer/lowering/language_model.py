"""A language model that samples only what formulas allow.

There is one formula for each symbol, "this symbol may come next", true at position i iff the
symbol may stand at i+1. An output named `<eos>` says when the word may end; without it a word
ends only where no symbol may follow. The word may also end where neither allows anything, so
that there is always an allowed token.

With log-weights (`softhat.logic.sources`) allowed tokens have these as logits, up to one shift, so
that the model's distribution is the source's; more outputs may then be features that log-weights
depend on.

What may come first is the truth of the formulas at the empty prefix
(`softhat.logic.semantics.empty`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from softhat.io.errors import SofthatError
from softhat.logic.semantics.empty import at_empty_prefix
from softhat.logic.sources import ALWAYS, Weights, range_of
from softhat.logic.syntax import nodes
from softhat.program.draft import Draft
from softhat.program.literals import FALSE, Literal
from softhat.program.registers import Register
from softhat.program.signals import Program
from softhat.transformer.lowering.stock.plan import BOS_PAIR, ONE, Key
from softhat.transformer.weights import EOS


def lm_formulas(
    formulas: Mapping[str, nodes.Formula],
    symbols: Sequence[str],
    propositional: bool,
    weights: Weights | None = None,
    closed: bool = False,
) -> dict[str, nodes.Formula]:
    """A formula for each token that may come next, `<eos>` included, and for each feature.

    `closed`, for machines: `<eos>` is an output of its own, and not also allowed where nothing is.
    """
    if closed:
        return {name: formulas[name] for name in (*symbols, EOS)}
    if propositional:
        raise SofthatError("head='lm' needs a model over an alphabet, not over propositions")
    missing = [symbol for symbol in symbols if symbol not in formulas]
    if missing:
        raise SofthatError(
            "head='lm' needs one output for each symbol, true where the symbol may come next; "
            f"there is none for {', '.join(missing[:10])}"
        )
    features = features_of(weights, symbols)
    unknown = [name for name in formulas if name not in (*symbols, EOS, *features)]
    if unknown:
        raise SofthatError(
            f"head='lm' takes outputs named by the symbols or {EOS}, or that log-weights depend "
            f"on, not {unknown[0]!r}: the alphabet is {' '.join(symbols[:20])}"
        )
    named = {symbol: formulas[symbol] for symbol in symbols}
    nothing: nodes.Formula = nodes.Constant(True)
    for formula in named.values():
        nothing = nodes.And(nothing, nodes.Not(formula))
    end = nodes.Or(formulas.get(EOS, nodes.Constant(False)), nothing)
    return {**named, EOS: end, **{name: formulas[name] for name in features}}


def features_of(weights: Weights | None, symbols: Sequence[str]) -> list[str]:
    """The outputs that log-weights depend on and that are no token's own."""
    names = {name: None for parts in (weights or {}).values() for name in parts}
    return [name for name in names if name not in (ALWAYS, EOS, *symbols)]


def lm_program(program: Program, weights: Weights | None = None) -> Program:
    """The program of a model of all symbols, with `<eos>`: where it is allowed or nothing is."""
    draft = Draft.of(program)
    outputs = dict(program.outputs)
    nothing = draft.conjunction([~outputs[s] for s in program.symbols], "no symbol may follow")
    end = draft.disjunction([outputs.get(EOS, FALSE), nothing], "the word may end")
    tokens = {**{symbol: outputs[symbol] for symbol in program.symbols}, EOS: end}
    features = {name: outputs[name] for name in features_of(weights, program.symbols)}
    return draft.finish({**tokens, **features})


Row = dict[Key, float]
"""A logit: weights on what the residual stream holds."""


def lm_rows(program: Program, at_start: Mapping[str, bool], margin: float) -> list[Row]:
    """Logits ±(margin/2)(1 + 2^-6) for allowed and forbidden tokens; `<bos>` is never allowed.
    `at_start`: which tokens may come first."""
    literals = dict(program.outputs)
    # 2^-6 more, so that the margin holds after rounding to any format.
    size = margin / 2 * (1 + 2.0**-6)
    rows: list[Row] = []
    for name in [*program.symbols, None, EOS]:
        if name is None:
            rows.append({ONE: -size})
            continue
        literal = literals[name]
        sign = size if literal.positive else -size
        key: Key = ONE if literal.signal < 0 else Register(literal.signal, False)
        at_bos = sign if literal.signal < 0 else -sign  # stored bits are false at <bos>
        wanted = size if at_start[name] else -size
        rows.append({key: sign, BOS_PAIR: wanted - at_bos})
    return rows


def weighted_rows(
    program: Program, formulas: Mapping[str, nodes.Formula], margin: float, weights: Weights
) -> list[Row]:
    """Logits: the log-weights of allowed tokens and one shift, by which the least possible one is
    (margin/2)(1 + 2^-6); forbidden tokens have at most the negative of that."""
    literals = dict(program.outputs)
    least = min(range_of(parts)[0] for parts in weights.values())
    above = margin / 2 * (1 + 2.0**-6)
    rows: list[Row] = []
    for token in [*program.symbols, None, EOS]:
        if token is None:
            rows.append({ONE: -above})
            continue
        parts = weights[token]
        drop = range_of(parts)[1] - least + 2 * above
        read: Row = {ONE: parts[ALWAYS] - least + above - drop}
        for name, value in [(token, drop), *((n, w) for n, w in parts.items() if n != ALWAYS)]:
            _add_bit(read, literals[name], value, at_empty_prefix(formulas[name]))
        rows.append(read)
    return rows


def _add_bit(read: Row, literal: Literal, value: float, at_start: bool) -> None:
    """value·[the literal holds], where `<bos>` counts as the empty prefix."""

    def add(key: Key, weight: float) -> None:
        read[key] = read.get(key, 0.0) + weight

    if literal.signal < 0:
        held = float(literal.positive)
        add(ONE, value * held)
    else:  # (1 ± v)/2, and v is -1 at <bos>
        add(ONE, value / 2)
        add(Register(literal.signal, False), value / 2 if literal.positive else -value / 2)
        held = 0.0 if literal.positive else 1.0
    add(BOS_PAIR, value * (float(at_start) - held))
