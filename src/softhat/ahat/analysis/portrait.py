"""What the residual stream can hold, in every word of every length: one walk over the weights.

Each coordinate is its *content* plus a linear form in *atoms*. The content of a position is one
of finitely many *classes* (its symbol, its residue, whether it is `<bos>`, what a head that picks
one key has copied there). Atoms are the numbers that depend on where a position stands or on
averages: i, 1/i, i/n …, and what averaging heads and ReLUs of atoms give. Of an atom we know the
grid it lies on, the grid of its differences between positions, and how large it grows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from softhat.ahat.analysis.grids import ZERO, Generator, Grid, common, gcd_of
from softhat.ahat.analysis.growth import Interval, Polynomial, constant, hull
from softhat.ahat.analysis.structure import HeadStructure, live, structure
from softhat.ahat.model import AHAT, FeedForward, Head, Mask, Vector
from softhat.positions import SHARES, Digit, Feature, Holds, Mod, Named, Table

MAX_CLASSES = 200  # contents that are told apart; beyond, they become atoms
MAX_PERIOD = 24  # of all residues together
NOTHING = Fraction(0)


@dataclass(frozen=True, slots=True)
class Atom:
    """One number a position, of which grid and growth are known at every length."""

    name: str
    whole: Grid  # its values
    spread: Grid  # differences of its values at two positions of a word
    range: Interval
    rises: int = 0  # 1: strictly increasing over the ordinary positions; -1: decreasing
    of_position: bool = False  # positive there, and 0 at <bos>


@dataclass(frozen=True, slots=True)
class Class:
    """A content: one number for each coordinate."""

    content: Vector
    bos: bool


Form = Mapping[int, Fraction]  # atom → coefficient


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear functional of the residual: its content in each class, and its form."""

    content: tuple[Fraction, ...]
    form: Form

    @property
    def constant(self) -> bool:
        """Is it one number, whatever the word and position?"""
        return not self.form and len(set(self.content)) == 1


@dataclass(frozen=True, slots=True)
class State:
    """The residual stream between two layers."""

    classes: tuple[Class, ...]
    forms: tuple[Form, ...]  # of each coordinate
    atoms: tuple[Atom, ...]

    def read(self, row: Vector, bias: Fraction = NOTHING) -> Linear:
        """row · x + bias."""
        used = [(c, w) for c, w in enumerate(row) if w]
        content = tuple(sum((w * k.content[c] for c, w in used), bias) for k in self.classes)
        return Linear(content, combined((self.forms[c], w) for c, w in used))

    def whole(self, x: Linear) -> Grid:
        """The grid of its values."""
        parts = (self.atoms[a].whole.scaled(w) for a, w in x.form.items())
        return common([Grid(gcd_of(x.content)), *parts])

    def spread(self, x: Linear) -> Grid:
        """The grid of its differences between two positions (local generators not yet paired)."""
        first = x.content[0]
        parts = (self.atoms[a].spread.scaled(w) for a, w in x.form.items())
        return common([Grid(gcd_of(c - first for c in x.content)), *parts])

    def range(self, x: Linear) -> Interval:
        """Its values at all positions."""
        return hull(x.content) + self.form_range(x.form)

    def form_range(self, form: Form) -> Interval:
        """The values of a form, at `<bos>` too."""
        result = Interval()
        bos = any(k.bos for k in self.classes)
        for a, w in form.items():
            atom = self.atoms[a]
            here = atom.range.with_zero if bos and atom.of_position else atom.range
            result = result + here * w
        return result


@dataclass(frozen=True, slots=True)
class HeadView:
    """What a head reads, in the state before its layer."""

    head: Head
    state: State
    query: tuple[Linear, ...]
    key: tuple[Linear, ...]
    value: tuple[Linear, ...]


@dataclass(frozen=True, slots=True)
class Portrait:
    """The states before each layer and at the end, and every head's view."""

    model: AHAT
    states: tuple[State, ...]
    views: Mapping[tuple[int, int], HeadView]
    copies: Mapping[tuple[int, int], bool]  # the head attends to one key in every row
    output: Linear


def portrait(model: AHAT) -> Portrait:
    """Walk over the model's weights."""
    from softhat.ahat.analysis.pairs import tieless

    facts, after = structure(model), live(model)[1]
    state = _embedding(model)
    states, views, copies = [state], {}, {}
    for l, layer in enumerate(model.layers):
        for h, head in enumerate(layer.heads):
            views[l, h] = HeadView(
                head,
                state,
                tuple(state.read(row) for row in head.query),
                tuple(state.read(row) for row in head.key),
                tuple(state.read(row) for row in head.value),
            )
            unique = head.ties != "average"
            # With `<eos>` two sinks look alike to the positions: no row is proved to have one peak.
            alone = unique or (not model.eos and tieless(views[l, h]))
            copies[l, h] = not facts[l, h].uniform and alone
        for h in range(len(layer.heads)):
            state = _attended(model, state, (l, h), views[l, h], facts[l, h], copies[l, h])
        if layer.feed_forward is not None:
            state = _fed_forward(state, layer.feed_forward, l)
        state = _tidied(state, after[l])
        states.append(state)
    output = state.read(model.output_weights, model.output_bias)
    return Portrait(model, tuple(states), views, copies, output)


def combined(parts: Iterable[tuple[Form, Fraction]]) -> dict[int, Fraction]:
    """Σ factor · form."""
    result: dict[int, Fraction] = {}
    for form, factor in parts:
        for atom, w in form.items():
            result[atom] = result.get(atom, NOTHING) + factor * w
    return {atom: w for atom, w in result.items() if w}


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


def _embedding(model: AHAT) -> State:
    """Tokens and residues are content; the other position features are atoms."""
    atoms: list[Atom] = []
    place: dict[int, int] = {}  # position feature → atom
    finite: list[int] = []
    period = math.lcm(*(_period(f) for f in model.positions))
    for k, feature in enumerate(model.positions):
        if _is_finite(feature, period):
            finite.append(k)
        else:
            place[k] = len(atoms)
            atoms.append(_position_atom(feature, model.bos))
    forms = tuple(
        combined(({place[k]: Fraction(1)}, w) for k, w in enumerate(row) if w and k in place)
        for row in model.position_embedding
    )
    ends = [(False, False)]
    if any(f in (Named("first"), Named("last")) for f in model.positions):
        ends = [(a, b) for a in (False, True) for b in (False, True)]
    seen: dict[Class, None] = {}
    residues = period if period <= MAX_PERIOD else 1
    for residue in range(residues):
        for first, last in ends:
            values = {k: _finite(model.positions[k], residue, first, last) for k in finite}
            for token in model.embedding:
                seen[Class(_placed(model, token, values), bos=False)] = None
    if model.bos_embedding is not None:
        values = {k: _finite_at_bos(model.positions[k]) for k in finite}
        seen[Class(_placed(model, model.bos_embedding, values), bos=True)] = None
    for residue in range(residues if model.eos_embedding is not None else 0):
        values = {k: _finite_at_eos(model.positions[k], residue) for k in finite}
        seen[Class(_placed(model, model.eos_embedding or (), values), bos=True)] = None
    return State(tuple(seen), forms, tuple(atoms))


def _placed(model: AHAT, token: Vector, values: Mapping[int, Fraction]) -> Vector:
    return tuple(
        t + sum((row[k] * v for k, v in values.items()), NOTHING)
        for t, row in zip(token, model.position_embedding, strict=True)
    )


def _period(feature: Feature) -> int:
    match feature:
        case Mod(modulus):
            return modulus
        case Named("(-1)^i"):
            return 2
    return 1


def _is_finite(feature: Feature, period: int) -> bool:
    if isinstance(feature, Mod) or feature == Named("(-1)^i"):
        return period <= MAX_PERIOD
    return isinstance(feature, Named) and feature.name in ("1", "ordinary", "first", "last")


def _finite(feature: Feature, residue: int, first: bool, last: bool) -> Fraction:
    """A finite feature at an ordinary position."""
    match feature:
        case Mod(modulus, remainder):
            return Fraction(int(residue % modulus == remainder))
        case Named("(-1)^i"):
            return Fraction(1 - 2 * (residue % 2))
        case Named("first"):
            return Fraction(int(first))
        case Named("last"):
            return Fraction(int(last))
    return Fraction(1)


def _finite_at_bos(feature: Feature) -> Fraction:
    match feature:
        case Mod(_, remainder, sinks):
            return Fraction(int(sinks and remainder == 0))
        case Named("1" | "(-1)^i"):
            return Fraction(1)
    return NOTHING


def _finite_at_eos(feature: Feature, residue: int) -> Fraction:
    """The same at `<eos>`, where the other position features are 0 as they are at `<bos>`."""
    match feature:
        case Mod(modulus, remainder, sinks):
            return Fraction(int(sinks and residue % modulus == remainder))
        case Named("(-1)^i"):
            return Fraction(1 - 2 * (residue % 2))
        case Named("1"):
            return Fraction(1)
    return NOTHING


def _position_atom(feature: Feature, bos: bool) -> Atom:
    whole = Grid(Fraction(1))
    one, n = constant(1), Polynomial(((1, Fraction(1)),))
    share = Polynomial(((-1, Fraction(1)),))
    match feature:
        case Named("i"):
            return Atom("i", whole, whole, Interval(one, n), 1, True)
        case Named("r"):
            return Atom("n+1-i", whole, whole, Interval(one, n), -1, True)
        case Named("n"):
            return Atom("n", whole, ZERO, Interval(n, n))
        case Named("i/n"):
            grid = Grid(Fraction(1), ((Generator("global", "n", 0), 1),))
            return Atom("i/n", grid, grid, Interval(share, one), 1, True)
        case Named(name) if name in SHARES:
            degree = SHARES[name]
            grid = Grid(Fraction(1), ((Generator("global", "n", 0), degree),))
            ends = [Polynomial(((k, Fraction(1)),)) for k in (-degree, 1 - degree)]
            return Atom(name, grid, grid, Interval(*ends), 1, True)
        case Named("1/i"):
            grid = Grid(Fraction(1), ((Generator("local", "i", 0), 1),))
            return Atom("1/i", grid, grid, Interval(share, one), -1, True)
        case Named("i^2"):
            square = Polynomial(((2, Fraction(1)),))
            return Atom("i²", whole, whole, Interval(one, square), 1, True)
        case Table(entries):
            spread = gcd_of(e - entries[0] for e in entries) if entries else NOTHING
            return Atom("table", Grid(gcd_of(entries)), Grid(spread), hull(entries or (NOTHING,)))
        case Mod() | Digit() | Holds() | Named("(-1)^i"):
            low = Fraction(-1) if isinstance(feature, Named) else NOTHING
            unit = 1 - low
            return Atom(str(feature), whole, Grid(unit), Interval(constant(low), one))
    raise NotImplementedError(feature)


def _attended(
    model: AHAT,
    state: State,
    name: tuple[int, int],
    view: HeadView,
    fact: HeadStructure,
    copies: bool,
) -> State:
    """Add a head's results: content where it copies content, atoms else."""
    head = view.head
    written = [any(row[k] for row in head.output) for k in range(len(head.value))]
    label = f"{name[0]}.{name[1]}"
    empty = may_be_empty(head.mask)
    if copies:
        picked = {
            tuple(v.content[k] if w else NOTHING for v, w in zip(view.value, written, strict=True))
            for k in range(len(view.state.classes))
        }
        if empty:
            picked.add((NOTHING,) * len(view.value))
        if len(picked) * len(state.classes) <= MAX_CLASSES:
            return _copied(state, head, view, sorted(picked), label, empty)
    atoms, forms = list(state.atoms), [dict(f) for f in state.forms]
    size = row_size(head.mask, model.sinks)
    if not fact.uniform and not copies:
        size = Generator("local", f"ties of {label}", size.shift)
    shift = [NOTHING] * model.d_model
    for k, value in enumerate(view.value):
        if not written[k]:
            continue
        if value.constant and not empty:
            for c, row in enumerate(head.output):
                shift[c] += row[k] * value.content[0]
            continue
        atoms.append(_averaged(view.state, value, head, fact, copies, size, f"{label}[{k}]"))
        for c, row in enumerate(head.output):
            if row[k]:
                forms[c][len(atoms) - 1] = row[k]
    classes = tuple(
        Class(tuple(a + b for a, b in zip(k.content, shift, strict=True)), k.bos)
        for k in state.classes
    )
    return State(classes, tuple(forms), tuple(atoms))


def _averaged(
    state: State,
    value: Linear,
    head: Head,
    fact: HeadStructure,
    copies: bool,
    size: Generator,
    name: str,
) -> Atom:
    """The average of a value over a row's argmax set, as an atom."""
    whole, spread = state.whole(value), state.spread(value)
    if copies:
        whole, spread = whole.copied(name), spread.copied(name)
    else:
        whole, spread = whole.summed(size), spread.summed(size)
    range_ = state.range(value)
    if fact.uniform and head.mask == "none":
        return Atom(name, whole, ZERO, range_)
    if may_be_empty(head.mask):
        return Atom(name, whole, whole, range_.with_zero)
    return Atom(name, whole, spread, range_)


def _copied(
    state: State, head: Head, view: HeadView, picked: list[Vector], label: str, empty: bool
) -> State:
    """Every class once for each content that the head may have found."""
    atoms, forms = list(state.atoms), [dict(f) for f in state.forms]
    for k, value in enumerate(view.value):
        if not value.form or not any(row[k] for row in head.output):
            continue
        numeric = Linear((NOTHING,), value.form)
        whole = view.state.whole(numeric).copied(label)
        spread = whole if empty else view.state.spread(numeric).copied(label)
        range_ = view.state.form_range(value.form)
        atoms.append(Atom(f"{label}[{k}]", whole, spread, range_.with_zero if empty else range_))
        for c, row in enumerate(head.output):
            if row[k]:
                forms[c][len(atoms) - 1] = row[k]
    seen: dict[Class, None] = {}
    for found in picked:
        moved = [sum((w * v for w, v in zip(row, found, strict=True)), NOTHING)
                 for row in head.output]  # fmt: skip
        for old in state.classes:
            content = tuple(a + b for a, b in zip(old.content, moved, strict=True))
            seen[Class(content, old.bos)] = None
    return State(tuple(seen), tuple(forms), tuple(atoms))


def _fed_forward(state: State, forward: FeedForward, layer: int) -> State:
    """Units of content change the content, units of known sign are linear, others are atoms."""
    atoms, forms = list(state.atoms), [dict(f) for f in state.forms]
    contents = [list(k.content) for k in state.classes]
    for u, (row, bias) in enumerate(zip(forward.in_weights, forward.in_bias, strict=True)):
        effect = [(c, out[u]) for c, out in enumerate(forward.out_weights) if out[u]]
        pre = state.read(row, bias)
        range_ = state.range(pre)
        if not effect or (pre.form and (range_ * Fraction(-1)).low.least >= 0):
            continue
        if not pre.form or range_.low.least >= 0:
            for place, z in enumerate(pre.content):
                for c, w in effect:
                    contents[place][c] += w * (z if pre.form else max(z, NOTHING))
            added: Form = pre.form
        else:
            whole = state.whole(pre)
            still = not state.spread(pre).unit
            atoms.append(
                Atom(f"unit {layer}.{u}", whole, ZERO if still else whole, range_.rectified)
            )
            added = {len(atoms) - 1: Fraction(1)}
        for c, w in effect:
            forms[c] = combined([(forms[c], Fraction(1)), (added, w)])
    classes = tuple(
        Class(tuple(x + b for x, b in zip(content, forward.out_bias, strict=True)), k.bos)
        for content, k in zip(contents, state.classes, strict=True)
    )
    return State(classes, tuple(forms), tuple(atoms))


def _tidied(state: State, kept: frozenset[int]) -> State:
    """Forget what is never read again, so that classes coincide."""
    seen: dict[Class, None] = {}
    for k in state.classes:
        content = tuple(x if c in kept else NOTHING for c, x in enumerate(k.content))
        seen[Class(content, k.bos)] = None
    forms = tuple(f if c in kept else {} for c, f in enumerate(state.forms))
    return replace(state, classes=tuple(seen), forms=forms)
