"""An attention program for people: as numbered lines, or as a Graphviz drawing."""

from __future__ import annotations

from softhat.program import heads, inputs
from softhat.program.gates import And, Steps, Table, Total, Xor
from softhat.program.literals import Literal, literals_in
from softhat.program.signals import Number, Program, Signal, reads


def to_text(program: Program) -> str:
    """One line a signal, in the order they are computed, then the outputs."""
    width = len(str(len(program.signals)))
    lines = [
        f"s{at:<{width}} = {describe(signal)}  % {program.labels[at]}"
        for at, signal in enumerate(program.signals)
    ]
    lines += [f"{name} = {_literal(literal)}" for name, literal in program.outputs]
    lines += [f"{name} = {_number(number)}" for name, number in program.numbers]
    return "\n".join(lines)


def to_dot(program: Program) -> str:
    """Graphviz: heads are boxes, gates are ellipses, negated edges are dashed."""
    lines = ["digraph program {", "  rankdir=BT;"]
    for at, signal in enumerate(program.signals):
        shape = "box" if isinstance(signal, heads.Head) else "ellipse"
        label = f"{type(signal).__name__}\\n{_escape(program.labels[at])}"
        lines.append(f'  s{at} [shape={shape}, label="{label}"];')
        negated = {x.signal for x in literals_in(signal) if not x.positive}
        for read in reads(signal):
            style = " [style=dashed]" if read in negated else ""
            lines.append(f"  s{read} -> s{at}{style};")
    for name, literal in program.outputs:
        lines.append(f'  "{_escape(name)}" [shape=doublecircle];')
        if literal.signal >= 0:
            style = "" if literal.positive else " [style=dashed]"
            lines.append(f'  s{literal.signal} -> "{_escape(name)}"{style};')
    for name, number in program.numbers:
        lines.append(f'  "{_escape(name)}" [shape=doublecircle];')
        lines += [f'  s{read} -> "{_escape(name)}";' for read in number.reads]
    return "\n".join([*lines, "}"])


def describe(signal: Signal) -> str:
    """A signal in one line, its inputs as s0, !s1, …"""
    match signal:
        case inputs.TokenIn(symbols):
            return f"token in {{{', '.join(symbols[:8])}{', …' if len(symbols) > 8 else ''}}}"
        case inputs.FirstPosition():
            return "first"
        case inputs.LastPosition():
            return "last"
        case inputs.PositionIn(predicate):
            return f"at({predicate.name})"
        case inputs.PositionMod(modulus, remainder):
            return f"i mod {modulus} = {remainder}"
        case inputs.PositionAtLeast(coefficient, threshold):
            return f"{coefficient}*i >= {threshold}"
        case inputs.PositionBit(bit, position, length, constant):
            return f"bit {bit} of {position}*i + {length}*n + {constant}"
        case And(literals):
            return " & ".join(map(_literal, literals))
        case Xor(left, right):
            return f"s{left} xor s{right}"
        case Table(terms):
            rows = [" & ".join(map(_literal, term)) for term in terms[:4]]
            return "Table(" + " | ".join([*rows, "…"] if len(terms) > 4 else rows) + ")"
        case Total(terms, _):
            return f"Total({_terms(terms)})"
        case Steps(count, turns):
            shown = ", ".join(map(str, turns[:8])) + (", …" if len(turns) > 8 else "")
            return f"Steps(s{count}, turns at {shown})"
        case heads.Latest(bad, value, direction) | heads.StrictLatest(bad, value, direction):
            strict = "Strict" if isinstance(signal, heads.StrictLatest) else ""
            name = "Latest" if direction == "past" else "Earliest"
            return f"{strict}{name}(bad={_literal(bad)}, value={_literal(value)})"
        case heads.Shift(value, distance, direction):
            return f"Shift({_literal(value)}, {'-' if direction == 'past' else '+'}{distance})"
        case heads.Previous(value, direction):
            return f"{'Previous' if direction == 'past' else 'Next'}({_literal(value)})"
        case heads.Average(terms, over):
            return f"Average({_terms(terms)}, {over})"
        case heads.Sign(past, future, total, position, length, threshold):
            parts = [f"s{a}" for a in (past, future, total) if a is not None]
            parts += [f"{k}*{x}" for k, x in ((position, "i"), (length, "n")) if k]
            return f"Sign({' + '.join(parts)} >= {threshold})"
        case heads.Match(selector, value):
            return f"Match({_selector(selector)}, value={_literal(value)})"
        case heads.MatchMean(selector, terms):
            return f"MatchMean({_selector(selector)}, {_terms(terms)})"
        case heads.Width(selector):
            return f"Width({_selector(selector)})"
        case heads.At(queries, keys, value, mask, _):
            asked, key = (" ".join(map(_literal, side)) for side in (queries, keys))
            return f"At(query={asked}, key={key}, value={_literal(value)}, mask {mask})"
        case heads.Recall(bad, queries, keys, value):
            asked, key = (" ".join(map(_literal, side)) for side in (queries, keys))
            ruled = f"bad={_literal(bad)}, value={_literal(value)}"
            return f"Recall(query={asked}, key={key}, {ruled})"


def _number(number: Number) -> str:
    return " + ".join([*(f"{a}*s{read}" for a, read in number.terms), str(number.constant)])


def _selector(selector: heads.Selector) -> str:
    pairs = [
        f"{_literal(selector.queries[q])}~{_literal(selector.keys[k])}" for q, k in selector.table
    ]
    more = f" … ({len(pairs)} pairs)" if len(pairs) > 8 else ""
    return f"{' '.join(pairs[:8])}{more}, mask {selector.mask}"


def _terms(terms: tuple[tuple[int, int], ...]) -> str:
    return " + ".join(f"{a}*{_literal(Literal(read, True))}" for a, read in terms)


def _literal(literal: Literal) -> str:
    if literal.signal < 0:
        return "true" if literal.positive else "false"
    return f"{'' if literal.positive else '!'}s{literal.signal}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
