"""What the residual stream can hold, in every word of every length: one walk over the weights.

The walk starts from what tokens and positions give (`embedding`) and follows what heads copy or
average and what ReLUs make of it (`residual` says in which terms).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from softhat.ahat.analysis.argmax_sets import one_value, same_or_apart
from softhat.ahat.analysis.embedding import embedded
from softhat.ahat.analysis.peaks import one_maximum
from softhat.ahat.analysis.residual import (
    NOTHING,
    ContentClass,
    Form,
    Functional,
    HeadView,
    PositionAtom,
    StreamState,
    combined,
)
from softhat.ahat.analysis.structure import HeadStructure, live, structure
from softhat.ahat.model import AHAT, FeedForward, Head, Mask, Matrix, Vector
from softhat.numbers.grids import ZERO, Generator

MAX_CLASSES = 200  # contents that are told apart; beyond, they become atoms


@dataclass(frozen=True, slots=True)
class Portrait:
    """The states before each layer and at the end, and every head's view."""

    model: AHAT
    states: tuple[StreamState, ...]
    views: Mapping[tuple[int, int], HeadView]
    tieless: Mapping[tuple[int, int], bool]  # every row is proved to have one maximum
    copies: Mapping[tuple[int, int], bool]  # the head attends to one key in every row
    output: Functional


def portrait(model: AHAT) -> Portrait:
    """Walk over the model's weights."""
    facts, after = structure(model), live(model)[1]
    state = embedded(model)
    states, views, copies, tieless = [state], {}, {}, {}
    for l, layer in enumerate(model.layers):
        for h, head in enumerate(layer.heads):
            views[l, h] = HeadView(
                head,
                state,
                tuple(state.read(row) for row in head.query),
                tuple(state.read(row) for row in head.key),
                tuple(state.read(row) for row in head.value),
            )
            tieless[l, h] = not facts[l, h].uniform and one_maximum(views[l, h])
            copies[l, h] = tieless[l, h] or head.ties != "average"
        for h in range(len(layer.heads)):
            state = _attended(model, state, (l, h), views[l, h], facts[l, h], copies[l, h])
        if layer.feed_forward is not None:
            state = _fed_forward(state, layer.feed_forward, l)
        state = _tidied(state, after[l])
        states.append(state)
    output = state.read(model.output_weights, model.output_bias)
    return Portrait(model, tuple(states), views, tieless, copies, output)


def may_be_empty(mask: Mask) -> bool:
    """Has some row of this mask no key?"""
    return mask in ("<", ">")


def row_size(mask: Mask, sinks: int) -> Generator:
    """The number of keys of a row, as a generator."""
    match mask:
        case "none":
            return Generator("global", "n", sinks)
        case "<=":
            return Generator("local", f"i+{sinks}" if sinks else "i", sinks)
        case "<":
            return Generator("local", f"i+{sinks}-1" if sinks != 1 else "i", sinks - 1)
        case ">=":
            return Generator("local", "keys from i", sinks)
        case ">":
            return Generator("local", "keys after i", sinks - 1)


def _tied(view: HeadView, name: str, shift: int) -> Generator:
    """The size of an argmax set, as a generator."""
    sizes = same_or_apart(view)
    if sizes is None:
        return Generator("local", name, shift)
    return Generator("local", name, sizes.alone, sizes.together)


def _attended(
    model: AHAT,
    state: StreamState,
    name: tuple[int, int],
    view: HeadView,
    fact: HeadStructure,
    copies: bool,
) -> StreamState:
    """Add a head's results: content where it copies content, atoms else."""
    head = view.head
    written = [any(row[k] for row in head.output) for k in range(len(head.value))]
    label = f"{name[0]}.{name[1]}"
    empty = may_be_empty(head.mask)
    picked: set[Vector] | None = None
    if copies:
        picked = {
            tuple(v.content[k] if w else NOTHING for v, w in zip(view.value, written, strict=True))
            for k in range(len(view.state.classes))
        }
    elif not fact.uniform:
        picked = one_value(view, written)
    if picked is not None:
        if empty:
            picked.add((NOTHING,) * len(view.value))
        if len(picked) * len(state.classes) <= MAX_CLASSES:
            return _copied(state, head, view, sorted(picked), label, empty)
    atoms, forms = list(state.atoms), [dict(f) for f in state.forms]
    alike = _asks_alike(view)
    size = row_size(head.mask, model.sinks)
    if not fact.uniform and not copies:
        size = _tied(view, f"ties of {label}", size.shift)
    shift = [NOTHING] * model.d_model
    for k, value in enumerate(view.value):
        if not written[k]:
            continue
        if value.constant and not empty:
            for c, row in enumerate(head.output):
                shift[c] += row[k] * value.content[0]
            continue
        atom = _averaged(view.state, value, head, fact, copies, alike, size, f"{label}[{k}]")
        atoms.append(atom)
        for c, row in enumerate(head.output):
            if row[k]:
                forms[c][len(atoms) - 1] = row[k]
    classes = tuple(
        ContentClass(tuple(a + b for a, b in zip(k.content, shift, strict=True)), k.sink)
        for k in state.classes
    )
    return StreamState(classes, tuple(forms), tuple(atoms), _unwritten(state, head.output))


def _averaged(
    state: StreamState,
    value: Functional,
    head: Head,
    fact: HeadStructure,
    copies: bool,
    alike: bool,
    size: Generator,
    name: str,
) -> PositionAtom:
    """The average of a value over a row's argmax set, as an atom."""
    whole, spread = state.whole(value), state.spread(value)
    if copies:
        whole, spread = whole.copied(name), spread.copied(name)
    else:
        whole, spread = whole.summed(size), spread.summed(size)
    range_ = state.range(value)
    if fact.uniform and head.mask == "none":
        return PositionAtom(name, whole, ZERO, range_, share=_of_sinks(state, value))
    if alike:
        return PositionAtom(name, whole, ZERO, range_)
    if may_be_empty(head.mask):
        return PositionAtom(name, whole, whole, range_.with_zero)
    return PositionAtom(name, whole, spread, range_)


def _asks_alike(view: HeadView) -> bool:
    """Do all positions ask the same of the same keys? Then the head finds the same everywhere."""
    return view.head.mask == "none" and all(
        k.constant or (len(set(q.content)) == 1 and not view.state.spread(q).unit)
        for q, k in zip(view.query, view.key, strict=True)
    )


def _of_sinks(state: StreamState, value: Functional) -> Fraction:
    """The sum of a value that is 0 but at the sinks, each of which a word has once; else 0."""
    told = list(zip(state.classes, value.content, strict=True))
    ends = {(k.sink, x) for k, x in told if k.sink is not None}
    several = len(ends) > len({sink for sink, _ in ends})
    if value.form or several or any(x for k, x in told if k.sink is None):
        return NOTHING
    return sum((x for _, x in ends), NOTHING)


def _copied(
    state: StreamState, head: Head, view: HeadView, picked: list[Vector], label: str, empty: bool
) -> StreamState:
    """Every class once for each content that the head may have found."""
    atoms, forms = list(state.atoms), [dict(f) for f in state.forms]
    for k, value in enumerate(view.value):
        if not value.form or not any(row[k] for row in head.output):
            continue
        numeric = Functional((NOTHING,), value.form)
        whole = view.state.whole(numeric).copied(label)
        spread = whole if empty else view.state.spread(numeric).copied(label)
        if _asks_alike(view):
            spread = ZERO
        range_ = view.state.form_range(value.form)
        atoms.append(
            PositionAtom(f"{label}[{k}]", whole, spread, range_.with_zero if empty else range_)
        )
        for c, row in enumerate(head.output):
            if row[k]:
                forms[c][len(atoms) - 1] = row[k]
    seen: dict[ContentClass, None] = {}
    for found in picked:
        moved = [sum((w * v for w, v in zip(row, found, strict=True)), NOTHING)
                 for row in head.output]  # fmt: skip
        for old in state.classes:
            content = tuple(a + b for a, b in zip(old.content, moved, strict=True))
            seen[ContentClass(content, old.sink)] = None
    return StreamState(tuple(seen), tuple(forms), tuple(atoms), _unwritten(state, head.output))


def _fed_forward(state: StreamState, forward: FeedForward, layer: int) -> StreamState:
    """Units of content change the content, units of known sign are linear, others are atoms;
    of two opposite units one is an atom, since ReLU(-z) = ReLU(z) - z."""
    atoms, forms = list(state.atoms), [dict(f) for f in state.forms]
    contents = [list(k.content) for k in state.classes]
    known: dict[tuple[Vector, Fraction], int] = {}
    for u, (row, bias) in enumerate(zip(forward.in_weights, forward.in_bias, strict=True)):
        effect = [(c, out[u]) for c, out in enumerate(forward.out_weights) if out[u]]
        pre = state.read(row, bias)
        range_ = state.range(pre)
        if not effect or (pre.form and (range_ * Fraction(-1)).low.least >= 0):
            continue
        added: Form
        if not pre.form:
            linear, added = [max(z, NOTHING) for z in pre.content], {}
        elif range_.low.least >= 0:
            linear, added = list(pre.content), pre.form
        elif (opposite := known.get((tuple(-w for w in row), -bias))) is not None:
            linear = list(pre.content)
            added = combined([(pre.form, Fraction(1)), ({opposite: Fraction(1)}, Fraction(1))])
        else:
            whole = state.whole(pre)
            still = not state.spread(pre).unit
            atoms.append(
                PositionAtom(f"unit {layer}.{u}", whole, ZERO if still else whole, range_.rectified)
            )
            known[row, bias] = len(atoms) - 1
            linear, added = [NOTHING] * len(contents), {len(atoms) - 1: Fraction(1)}
        for c, w in effect:
            forms[c] = combined([(forms[c], Fraction(1)), (added, w)])
            for content, z in zip(contents, linear, strict=True):
                content[c] += w * z
    classes = tuple(
        ContentClass(tuple(x + b for x, b in zip(content, forward.out_bias, strict=True)), k.sink)
        for content, k in zip(contents, state.classes, strict=True)
    )
    written = tuple((*row, b) for row, b in zip(forward.out_weights, forward.out_bias, strict=True))
    return StreamState(classes, tuple(forms), tuple(atoms), _unwritten(state, written))


def _unwritten(state: StreamState, output: Matrix) -> dict[int, Mapping[Fraction, tuple[int, int]]]:
    """The coordinates of residues that this matrix does not write to."""
    return {c: told for c, told in state.residues.items() if not any(output[c])}


def _tidied(state: StreamState, kept: frozenset[int]) -> StreamState:
    """Forget what is never read again, so that classes coincide."""
    seen: dict[ContentClass, None] = {}
    for k in state.classes:
        content = tuple(x if c in kept else NOTHING for c, x in enumerate(k.content))
        seen[ContentClass(content, k.sink)] = None
    forms = tuple(f if c in kept else {} for c, f in enumerate(state.forms))
    return replace(state, classes=tuple(seen), forms=forms)
