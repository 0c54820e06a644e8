"""From one residual stream to the next: what heads copy or average, what ReLUs make of it.

A head that attends to one key copies: every class comes once with each content that the head may
find. One that averages gives atoms: an average of s numbers on a grid lies on the grid over s, and
what belonged to one position (its own number, a size) becomes lcm(1 … n).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from softhat.numbers.grids import ZERO, Generator
from softhat.proof.simulations.argmax import one_value, set_size
from softhat.proof.simulations.own_score import own_score
from softhat.proof.simulations.residual import (
    Atom,
    Class,
    Form,
    LinearReading,
    ResidualStream,
    Residues,
    Sight,
    combined,
)
from softhat.proof.simulations.source import (
    NOTHING,
    Forward,
    Matrix,
    SourceModel,
    Vector,
    columns,
    support,
)

MOST_CLASSES = 200


def attended(
    stream: ResidualStream, sight: Sight, uniform: bool, copies: bool, sinks: int, label: str
) -> ResidualStream:
    """The stream with what one head adds; `sight` is of the stream before the layer.

    Where keys that share a maximum agree, it is the same whether the head takes one of them or
    their average, and so is what is known of it: whoever walks over either model finds the same.
    """
    head = sight.head
    written = [any(row[k] for row in head.output) for k in range(len(head.value))]
    empty = head.mask in ("<", ">")
    picked = one_value(sight, written)
    # The average of what agrees is one of them.
    copies = copies or picked is not None or own_score(sight) is not None
    if picked is None and copies:
        picked = {
            tuple(v.content[k] if w else NOTHING for v, w in zip(sight.value, written, strict=True))
            for k in range(len(sight.stream.classes))
        }
    if picked is not None:
        picked |= {(NOTHING,) * len(sight.value)} if empty else set()
        if len(picked) * len(stream.classes) <= MOST_CLASSES:
            return _copied(stream, sight, sorted(picked), label)
    size = row_size(head.mask, sinks)
    if not uniform and not copies:
        size = set_size(sight, f"argmax set of {label}", size.shift)
    atoms, forms = list(stream.atoms), [dict(form) for form in stream.forms]
    shift = [NOTHING] * len(forms)
    for k, value in enumerate(sight.value):
        if not written[k]:
            continue
        if not value.form and len(set(value.content)) == 1 and not empty:
            for c, row in enumerate(head.output):
                shift[c] += row[k] * value.content[0]
            continue
        for c, row in enumerate(head.output):
            if row[k]:
                forms[c][len(atoms)] = row[k]
        atoms.append(_read_atom(sight, value, uniform, copies, size, f"{label}[{k}]"))
    classes = tuple(
        Class(tuple(x + s for x, s in zip(k.content, shift, strict=True)), k.sink)
        for k in stream.classes
    )
    return ResidualStream(classes, tuple(forms), tuple(atoms), _unwritten(stream, head.output))


def row_size(mask: str, sinks: int) -> Generator:
    """The number of keys of a row."""
    match mask:
        case "none":
            return Generator("global", "n", sinks)
        case "<=":
            return Generator("local", f"i+{sinks}" if sinks else "i", sinks)
        case "<":
            return Generator("local", f"i+{sinks}-1" if sinks != 1 else "i", sinks - 1)
        case ">=":
            return Generator("local", "keys from i", sinks)
    return Generator("local", "keys after i", sinks - 1)


def _asks_alike(sight: Sight) -> bool:
    """Do all positions of a word ask the same of the same keys?"""
    return sight.head.mask == "none" and all(
        (not k.form and len(set(k.content)) == 1) or sight.stream.steady(q)
        for q, k in zip(sight.query, sight.key, strict=True)
    )


def _read_atom(
    sight: Sight, value: LinearReading, uniform: bool, copies: bool, size: Generator, name: str
) -> Atom:
    """What a head reads of a value, as an atom."""
    stream, mask = sight.stream, sight.head.mask
    whole, apart = stream.whole(value), stream.apart(value)
    if copies:
        whole, apart = whole.copied(name), apart.copied(name)
    else:
        whole, apart = whole.summed(size), apart.summed(size)
    reach = stream.range(value)
    if uniform and mask == "none":
        return Atom(name, whole, ZERO, reach, share=_sum_over_sinks(stream, value))
    if _asks_alike(sight):
        return Atom(name, whole, ZERO, reach)
    if mask in ("<", ">"):  # a row without keys gives 0
        return Atom(name, whole, whole, reach.with_zero)
    return Atom(name, whole, apart, reach)


def _sum_over_sinks(stream: ResidualStream, value: LinearReading) -> Fraction:
    """The sum of a value that is 0 at all positions of words, and known at each sink; else 0."""
    told = list(zip(stream.classes, value.content, strict=True))
    ends = {(k.sink, x) for k, x in told if k.sink is not None}
    twice = len(ends) > len({sink for sink, _ in ends})
    if value.form or twice or any(x for k, x in told if k.sink is None):
        return NOTHING
    return sum((x for _, x in ends), NOTHING)


def _copied(
    stream: ResidualStream, sight: Sight, picked: list[Vector], label: str
) -> ResidualStream:
    """Every class once for each content that the head may have read."""
    head, empty = sight.head, sight.head.mask in ("<", ">")
    atoms, forms = list(stream.atoms), [dict(form) for form in stream.forms]
    for k, value in enumerate(sight.value):
        if not value.form or not any(row[k] for row in head.output):
            continue
        numeric = LinearReading((NOTHING,), value.form)
        whole = sight.stream.whole(numeric).copied(label)
        apart = whole if empty else sight.stream.apart(numeric).copied(label)
        apart = ZERO if _asks_alike(sight) else apart
        reach = sight.stream.form_range(value.form)
        for c, row in enumerate(head.output):
            if row[k]:
                forms[c][len(atoms)] = row[k]
        atoms.append(Atom(f"{label}[{k}]", whole, apart, reach.with_zero if empty else reach))
    seen: dict[Class, None] = {}
    for read in picked:
        moved = [
            sum((w * v for w, v in zip(row, read, strict=True)), NOTHING) for row in head.output
        ]
        for old in stream.classes:
            content = tuple(a + b for a, b in zip(old.content, moved, strict=True))
            seen[Class(content, old.sink)] = None
    return ResidualStream(tuple(seen), tuple(forms), tuple(atoms), _unwritten(stream, head.output))


def fed_forward(stream: ResidualStream, forward: Forward, label: str) -> ResidualStream:
    """ReLUs of content change content; those of known sign are linear; the others are atoms, of
    two opposite ones only one, since ReLU(-z) = ReLU(z) - z."""
    atoms, forms = list(stream.atoms), [dict(form) for form in stream.forms]
    contents = [list(k.content) for k in stream.classes]
    known: dict[tuple[Vector, Fraction], int] = {}
    for u, (row, bias) in enumerate(zip(forward.into, forward.into_bias, strict=True)):
        effect = [(c, out[u]) for c, out in enumerate(forward.out) if out[u]]
        z = stream.read(row, bias)
        reach = stream.range(z)
        if not effect or (z.form and (reach * Fraction(-1)).low.least >= 0):
            continue  # nothing is written, or ReLU is 0
        added: Form
        if not z.form:
            linear, added = [max(x, NOTHING) for x in z.content], {}
        elif reach.low.least >= 0:
            linear, added = list(z.content), z.form
        elif (tuple(-w for w in row), -bias) in known:
            opposite = {known[tuple(-w for w in row), -bias]: Fraction(1)}
            linear = list(z.content)
            added = combined([(z.form, Fraction(1)), (opposite, Fraction(1))])
        else:
            known[row, bias] = len(atoms)
            linear, added = [NOTHING] * len(contents), {len(atoms): Fraction(1)}
            whole = stream.whole(z)
            apart = ZERO if stream.steady(z) else whole
            atoms.append(Atom(f"unit {u} of {label}", whole, apart, reach.rectified))
        for c, w in effect:
            forms[c] = combined([(forms[c], Fraction(1)), (added, w)])
            for content, x in zip(contents, linear, strict=True):
                content[c] += w * x
    classes = tuple(
        Class(tuple(x + b for x, b in zip(content, forward.out_bias, strict=True)), k.sink)
        for content, k in zip(contents, stream.classes, strict=True)
    )
    writes = tuple((*row, b) for row, b in zip(forward.out, forward.out_bias, strict=True))
    return ResidualStream(classes, tuple(forms), tuple(atoms), _unwritten(stream, writes))


def _unwritten(stream: ResidualStream, output: Matrix) -> Residues:
    """The coordinates of residues that this matrix does not write to."""
    return {c: told for c, told in stream.residues.items() if not any(output[c])}


def forgotten(stream: ResidualStream, read_later: frozenset[int]) -> ResidualStream:
    """Without what is never read again, so that classes coincide."""
    seen: dict[Class, None] = {}
    for k in stream.classes:
        content = tuple(x if c in read_later else NOTHING for c, x in enumerate(k.content))
        seen[Class(content, k.sink)] = None
    forms = tuple(f if c in read_later else {} for c, f in enumerate(stream.forms))
    residues = {c: told for c, told in stream.residues.items() if c in read_later}
    return replace(stream, classes=tuple(seen), forms=forms, residues=residues)


def read_after(source: SourceModel) -> list[frozenset[int]]:
    """For each layer the coordinates that something after it reads."""
    later = support(source.weights)
    read_later: list[frozenset[int]] = []
    for layer in reversed(source.layers):
        read_later.append(frozenset(later))
        if layer.forward is not None:
            units = {u for c in later for u, w in enumerate(layer.forward.out[c]) if w}
            later = later | columns(tuple(layer.forward.into[u] for u in sorted(units)))
        needed = frozenset(later)
        for head in layer.heads:
            values = head.value if any(any(head.output[c]) for c in needed) else ()
            later = later | columns((*head.query, *head.key, *values))
    return read_later[::-1]
