"""An attention program for people: as numbered lines, or as a Graphviz drawing."""

from __future__ import annotations

from softhat.program.signals import (
    And,
    Average,
    FirstPosition,
    LastPosition,
    Latest,
    Literal,
    PositionMod,
    Previous,
    Program,
    Sign,
    Signal,
    TokenIn,
    Xor,
    inputs,
)


def to_text(program: Program) -> str:
    """One line a signal, in the order they are computed, then the outputs."""
    width = len(str(len(program.signals)))
    lines = [
        f"s{at:<{width}} = {describe(signal)}  % {program.labels[at]}"
        for at, signal in enumerate(program.signals)
    ]
    lines += [f"{name} = {_literal(literal)}" for name, literal in program.outputs]
    return "\n".join(lines)


def to_dot(program: Program) -> str:
    """Graphviz: heads are boxes, gates are ellipses, negated edges are dashed."""
    lines = ["digraph program {", "  rankdir=BT;"]
    for at, signal in enumerate(program.signals):
        shape = "box" if isinstance(signal, Latest | Previous | Average | Sign) else "ellipse"
        label = f"{type(signal).__name__}\\n{_escape(program.labels[at])}"
        lines.append(f'  s{at} [shape={shape}, label="{label}"];')
        negated = {x.signal for x in _literals(signal) if not x.positive}
        for read in inputs(signal):
            style = " [style=dashed]" if read in negated else ""
            lines.append(f"  s{read} -> s{at}{style};")
    for name, literal in program.outputs:
        lines.append(f'  "{_escape(name)}" [shape=doublecircle];')
        if literal.signal >= 0:
            style = "" if literal.positive else " [style=dashed]"
            lines.append(f'  s{literal.signal} -> "{_escape(name)}"{style};')
    return "\n".join([*lines, "}"])


def describe(signal: Signal) -> str:
    """A signal in one line, its inputs as s0, !s1, …"""
    match signal:
        case TokenIn(symbols):
            return f"token in {{{', '.join(symbols[:8])}{', …' if len(symbols) > 8 else ''}}}"
        case FirstPosition():
            return "first"
        case LastPosition():
            return "last"
        case PositionMod(modulus, remainder):
            return f"i mod {modulus} = {remainder}"
        case And(literals):
            return " & ".join(map(_literal, literals))
        case Xor(left, right):
            return f"s{left} xor s{right}"
        case Latest(bad, value, direction):
            name = "Latest" if direction == "past" else "Earliest"
            return f"{name}(bad={_literal(bad)}, value={_literal(value)})"
        case Previous(value, direction):
            return f"{'Previous' if direction == 'past' else 'Next'}({_literal(value)})"
        case Average(terms, over):
            added = " + ".join(f"{a}*{_literal(Literal(read, True))}" for a, read in terms)
            return f"Average({added}, {over})"
        case Sign(past, future, total, position, length, threshold):
            parts = [f"s{a}" for a in (past, future, total) if a is not None]
            parts += [f"{k}*{x}" for k, x in ((position, "i"), (length, "n")) if k]
            return f"Sign({' + '.join(parts)} >= {threshold})"


def _literal(literal: Literal) -> str:
    if literal.signal < 0:
        return "true" if literal.positive else "false"
    return f"{'' if literal.positive else '!'}s{literal.signal}"


def _literals(signal: Signal) -> tuple[Literal, ...]:
    match signal:
        case And(literals):
            return literals
        case Latest(bad, value, _):
            return (bad, value)
        case Previous(value, _):
            return (value,)
        case _:
            return ()


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
