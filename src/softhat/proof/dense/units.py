"""Hidden units of a disguised checkpoint: clips that several units share, and units that cancel.

A unit writes out·act(g)·f: g is what it reads, f its second factor, which is 1 where it has none.
Where it has none, act is relu, and relu(λg)/λ = relu(g); where it has one, f/λ·λ = f. So units are
measured in units of their factors λ: those of what they read, or of their second factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softhat.proof.dense.matrices import SLACK, Matrix, frobenius, lifted, row_norms
from softhat.proof.dense.rows import NormedStream, RowGroups, Vector, exactly_read, read, rounding
from softhat.proof.stock.activations import NearRelu
from softhat.proof.stock.checkpoint import BlockMatrices
from softhat.proof.stock.gates import Gate
from softhat.proof.stock.storage import SECOND, need
from softhat.transformer.directions import DisguisedUnits

FACTOR = 1.05
"""What units read as their second factor is at most 1.025 + 0.02 (`clipped` refuses more)."""


@dataclass(frozen=True)
class ClipTerm:
    """What a clip that holds writes: the error of its bit, noise, Σ|hidden·outgoing|, how many
    units do not write 0, what of the bit's error is not the norm's scale, and how far sums were
    off."""

    bit: float
    noise: float
    magnitudes: float
    units: int
    unscaled: float = 0.0
    worst: float = 0.0


@dataclass(frozen=True)
class SecondFactors:
    """What the units of a gate read as their second factor."""

    mean: RowGroups
    """Their mean, one row."""
    sizes: Vector  # (units,): norms of what they read
    apart: Vector  # (units,): and of what that is off the mean


@dataclass(frozen=True)
class GateUnits:
    """The units of a gate, first side and second, in units of their factors."""

    gate: Gate
    rows: RowGroups
    factors: SecondFactors | None
    out: Matrix  # (units, d_model)
    direction: Vector
    """Of the bit that the clip writes."""
    bit: RowGroups
    """Σ out·rows' along that direction: what the clip writes, one row."""
    across: float
    """The norm of the rest."""
    constant: float
    """And of what it adds, whatever is read."""
    held: Matrix  # (units,): what the plain units see where the term holds


@dataclass(frozen=True)
class CancellingUnits:
    """Units that cancel, in units of their factors: a row a unit, with its own constant."""

    gate: Matrix
    up: Matrix | None
    out: Matrix


@dataclass(frozen=True)
class HiddenUnits:
    """The hidden units of a block."""

    clips: tuple[GateUnits, ...]
    idle: tuple[CancellingUnits, ...]
    count: int
    activation: NearRelu


def hidden_units(
    wide: Matrix,
    actual: BlockMatrices,
    plain: BlockMatrices,
    gates: Sequence[Gate],
    units: DisguisedUnits,
    activation: NearRelu,
    where: str,
) -> HiddenUnits:
    """The gates with the units that share their work, and the groups that cancel. `wide`: the
    directions and 1."""
    scale = units.factor.astype(np.float64)[:, None]
    gate, down = lifted(actual.gate), actual.down.T * scale
    form, out_form = lifted(plain.gate), plain.down.T.astype(np.float64)
    up = factor_form = None
    if actual.up is None or plain.up is None:
        gate = gate / scale
    else:
        up, factor_form = lifted(actual.up) / scale, lifted(plain.up)
    members: dict[int, list[int]] = {}
    for unit, side in enumerate(units.part.tolist()):
        members.setdefault(side, []).append(unit)
    clips = []
    for clip in gates:
        first, second = clip.units
        own = members.get(first, []) + members.get(second, [])
        sides = [first] * len(members.get(first, [])) + [second] * len(members.get(second, []))
        moved = out_form[first, clip.target] * form[first]
        moved = moved + out_form[second, clip.target] * form[second]
        direction = wide[:-1, clip.target]
        through = down[own].T @ gate[own]
        bit = direction @ through
        rest = through - np.outer(direction, bit)
        factors = None
        if up is not None and factor_form is not None:
            factors = _second_factors(up[own], factor_form[first], wide)
        clips.append(
            GateUnits(
                gate=clip,
                rows=RowGroups.of(gate[own][:, None], form[sides][:, None], wide),
                factors=factors,
                out=down[own],
                direction=direction,
                bit=RowGroups.of(bit[None, None], moved[None, None], wide),
                across=frobenius(rest[:, :-1]),
                constant=frobenius(rest[:, -1]),
                held=np.array([clip.high if side == first else clip.low for side in sides]),
            )
        )
    known = {side for clip in clips for side in clip.gate.units}
    need(
        known >= {side for side in members if side >= 0},
        f"{where}: a hidden unit belongs to no gate",
    )
    idle = tuple(
        CancellingUnits(gate[own], None if up is None else up[own], down[own])
        for side, own in members.items()
        if side < 0
    )
    return HiddenUnits(tuple(clips), idle, len(units.part), activation)


def _second_factors(rows: Matrix, form: Matrix, wide: Matrix) -> SecondFactors:
    mean = rows.mean(axis=0) if len(rows) else np.zeros(len(wide))
    return SecondFactors(
        mean=RowGroups.of(mean[None, None], form[None, None], wide),
        sizes=row_norms(rows) * (1 + SLACK),
        apart=row_norms(rows - mean) + SLACK * row_norms(rows),
    )


def clipped(clip: GateUnits, activation: NearRelu, stream: NormedStream) -> ClipTerm:
    """Where a term holds its units see `held`, and write Σ out·(rows·y)·(factors·y): what the plain
    gate writes, times what the norm's factor makes of it; what exact arithmetic is off that; and
    what each unit is off by itself. The factor scales what is read, once for the rows and once for
    a second factor, but no constants of their own; where sums have none, it is common to them. What
    units read as their second factor is the same, but for rounding: its error is common to them.

    That factor is 1, scaled by less than 1.025 and off by less than 0.02: FACTOR bounds it, and
    silu's slope is 1 + TAIL at most where a term holds."""
    gate, rows, scale = clip.gate, clip.rows, stream.norm.scale
    _, errors = read(rows, stream)
    common = not rows.form[..., -1].any()
    if not common:
        errors = errors + scale * stream.held.scaled(rows.form)
    worst = float(errors.max(initial=0.0))
    room = -gate.fails if gate.never else min(gate.low, -gate.fails)
    room = (room * (1 - scale) if common else room) - activation.far
    need(worst <= room, "gates: a sum of literals may be off too far")
    times, factor, factors, powers = 1.0, 0.0, np.zeros(len(errors)), 1
    if clip.factors is not None:
        times, powers = FACTOR, 2
        (factor,) = exactly_read(clip.factors.mean, stream)
        each = clip.factors.sizes * stream.reach
        factors = clip.factors.apart * stream.reach + rounding(stream.d, each, each)
        off = float(factor) + float(factors.max(initial=0.0))
        need(off < 0.02, "gates: a unit's factor may be off too far")
    if gate.never:
        return ClipTerm(0.0, 0.0, 0.0, 0, worst=worst)
    seen = (1 + scale) * clip.held + errors
    roundings = rounding(stream.d, stream.magnitudes(rows), seen)
    alone = times * (seen * (factors + activation.error) + activation.tail + roundings)
    along = clip.out @ clip.direction
    across = clip.out - np.outer(along, clip.direction)
    slack = SLACK * float(row_norms(clip.out) @ stream.magnitudes(rows))
    (written,), (moved,) = exactly_read(clip.bit, stream), stream.held.scaled(clip.bit.form)
    own = times * (float(written) + slack + float(moved * factor)) + float(np.abs(along) @ alone)
    bit = float(moved) * ((1 + scale) ** powers - 1) + own
    rest = clip.across * stream.whole + clip.constant
    loose = times * (rest + slack) + float(row_norms(across) @ alone)
    magnitudes = SECOND * times * float(row_norms(clip.out) @ seen)
    units = 0 if activation.tail else len(clip.out)
    return ClipTerm(SECOND * bit, SECOND * loose, magnitudes, units, SECOND * own, worst)


def idle_terms(units: HiddenUnits, stream: NormedStream) -> list[ClipTerm]:
    """Units that cancel, and what an activation with tails leaves of those that do not hold: then
    every unit is a term of the sum."""
    terms = [_cancelled(group, units.activation, stream) for group in units.idle]
    if not units.activation.tail:
        return terms
    tails = sum(float(row_norms(clip.out).sum()) for clip in units.clips)
    tails *= FACTOR * units.activation.tail
    return [ClipTerm(0.0, tails, tails, units.count), *terms]


def _cancelled(group: CancellingUnits, activation: NearRelu, stream: NormedStream) -> ClipTerm:
    """Units that see the same and write what adds up to 0. No row sees more than its norm times
    `reach`, so that act(g)·f - act(g₀)·f₀ = (act(g) - act(g₀))·f + act(g₀)·(f - f₀) needs no
    products of errors; SECOND is for roundings of what is seen."""
    sizes = row_norms(group.out)
    seen, apart = _seen(group.gate, stream)
    most = float(seen.max())
    times, factors_apart = 1.0, np.zeros(len(sizes))
    if group.up is not None:
        factors, factors_apart = _seen(group.up, stream)
        times = float(factors.max())
    left = (frobenius(group.out.sum(axis=0)) + SLACK * float(sizes.sum())) * most * times
    each = activation.steep * apart * times + most * factors_apart
    noise = left + float(sizes @ (each + activation.error * most * times))
    units = 0 if activation.tail else len(sizes)
    return ClipTerm(0.0, SECOND * noise, SECOND * most * times * float(sizes.sum()), units)


def _seen(rows: Matrix, stream: NormedStream) -> tuple[Vector, Vector]:
    """How large what each row reads may be, and how far it is off what the first reads."""

    def largest(rows: Matrix) -> Vector:
        sizes: Vector = row_norms(rows[:, :-1]) * stream.whole + np.abs(rows[:, -1])
        return sizes

    size = largest(rows)
    return size, largest(rows - rows[:1]) + rounding(stream.d, size, size) + SLACK * size
