"""SwiGLU units of a disguised Llama: clips that several units share, and units that cancel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.proof.dense.bounds import ClipTerm, DenseBounds, NormError
from softhat.proof.dense.matrices import SLACK, Matrix, frobenius, row_norms
from softhat.proof.llama.dense_rows import HeldValues, RowGroups, exactly_read, read
from softhat.proof.stock.activations import Silu
from softhat.proof.stock.checkpoint import VariableBlock
from softhat.proof.stock.gates import Gate
from softhat.proof.stock.storage import SECOND, U, need
from softhat.transformer.decoders import LlamaBlock
from softhat.transformer.directions import Units

Vector = NDArray[np.float64]
SILU = 10 * U
"""Relative error of silu, four units in the last place, and of the product with it."""
FACTOR = 1.05
"""What units read as their second factor is at most 1.025 + 0.02 (`clipped` refuses more)."""
STEEP = 1.1
"""silu's slope is at most this."""


@dataclass(frozen=True)
class GateUnits:
    """The units of a gate, first side and second, in units of their factors."""

    gate: Gate
    rows: RowGroups
    factor: RowGroups
    """The mean of what the units read as their second factor, one row."""
    factors: Vector  # (units,): norms of what they read
    factors_apart: Vector  # (units,): and of what that is off the mean
    out: Matrix  # (units, d_model)
    direction: Vector
    """Of the bit that the clip writes."""
    bit: RowGroups
    """Σ out·rows' along that direction: what the clip writes, one row."""
    across: float
    """The norm of the rest."""
    held: Matrix  # (units,): what the plain units see where the term holds


@dataclass(frozen=True)
class Group:
    """Units that cancel, in units of their factors: a row a unit."""

    gate: Matrix
    up: Matrix
    out: Matrix


@dataclass(frozen=True)
class HiddenUnits:
    """The hidden units of a block."""

    clips: tuple[GateUnits, ...]
    idle: tuple[Group, ...]
    count: int


def hidden_units(
    u: Matrix,
    actual: LlamaBlock,
    plain: VariableBlock,
    gates: Sequence[Gate],
    units: Units,
    where: str,
) -> HiddenUnits:
    """The gates with the units that share their work, and the groups that cancel."""
    scale = units.factor.astype(np.float64)[:, None]
    gate, up, down = actual.gate, actual.up / scale, actual.down.T * scale
    assert plain.up is not None
    form, factor_form, out_form = (
        matrix.astype(np.float64) for matrix in (plain.gate.weights, plain.up.weights, plain.down.T)
    )
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
        direction = u[:, clip.target]
        through = down[own].T @ gate[own]
        bit = direction @ through
        factor = up[own].mean(axis=0) if own else np.zeros(len(u))
        clips.append(
            GateUnits(
                gate=clip,
                rows=RowGroups.of(gate[own][:, None], form[sides][:, None], u),
                factor=RowGroups.of(factor[None, None], factor_form[first][None, None], u),
                factors=row_norms(up[own]) * (1 + SLACK),
                factors_apart=row_norms(up[own] - factor) + SLACK * row_norms(up[own]),
                out=down[own],
                direction=direction,
                bit=RowGroups.of(bit[None, None], moved[None, None], u),
                across=frobenius(through - np.outer(direction, bit)),
                held=np.array([clip.high if side == first else clip.low for side in sides]),
            )
        )
    known = {side for clip in clips for side in clip.gate.units}
    need(
        known >= {side for side in members if side >= 0},
        f"{where}: a hidden unit belongs to no gate",
    )
    idle = [own for side, own in members.items() if side < 0]
    groups = tuple(Group(gate[own], up[own], down[own]) for own in idle)
    return HiddenUnits(tuple(clips), groups, len(units.part))


def clipped(
    bounds: DenseBounds, clip: GateUnits, held: HeldValues, off: Vector, norm: NormError
) -> ClipTerm:
    """Where a term holds its units see `held`, and write Σ out·(rows·y)·(factors·y): exactly ±2
    times (1 + ρ)², what exact arithmetic is off that, and what each unit is off by itself. What
    they read as their second factor is the same, but for rounding: its error is common to them.

    That factor is 1, scaled by less than 1.025 and off by less than 0.02: FACTOR bounds it, and
    silu's slope is 1 + TAIL at most where a term holds."""
    gate, scale = clip.gate, norm.scale
    _, errors = read(bounds, clip.rows, held, off, norm)
    (factor,) = exactly_read(bounds, clip.factor, held, off, norm)
    each = clip.factors * bounds.reach
    factors = clip.factors_apart * bounds.reach + bounds.roundings(each, each)
    worst = float(errors.max(initial=0.0))
    room = -gate.fails if gate.never else min(gate.low, -gate.fails)
    need(worst <= room * (1 - scale) - Silu.FAR, "gates: a sum of literals may be off too far")
    need(
        float(factor) + float(factors.max(initial=0.0)) < 0.02,
        "gates: a unit's factor may be off too far",
    )
    bounds.record("sum that a gate clips", worst)
    if gate.never:
        return ClipTerm(0.0, 0.0, 0.0, 0)
    seen = (1 + scale) * clip.held + errors
    roundings = bounds.roundings(clip.rows.whole * bounds.reach, seen)
    alone = FACTOR * (seen * (factors + SILU) + Silu.TAIL + roundings)
    along = clip.out @ clip.direction
    across = clip.out - np.outer(along, clip.direction)
    slack = SLACK * float(row_norms(clip.out) @ clip.rows.whole) * bounds.reach
    (written,) = exactly_read(bounds, clip.bit, held, off, norm)
    own = FACTOR * (float(written) + slack + 2 * float(factor)) + float(np.abs(along) @ alone)
    bit = 2 * ((1 + scale) ** 2 - 1) + own
    loose = FACTOR * (clip.across * bounds.reach + slack) + float(row_norms(across) @ alone)
    magnitudes = SECOND * FACTOR * float(row_norms(clip.out) @ seen)
    return ClipTerm(SECOND * bit, SECOND * loose, magnitudes, 0, SECOND * own)


def idle_terms(bounds: DenseBounds, units: HiddenUnits) -> list[ClipTerm]:
    """Units that cancel, and what silu leaves of those that do not hold. Every unit is a term of
    the sum."""
    tails = sum(FACTOR * float(row_norms(clip.out).sum()) * Silu.TAIL for clip in units.clips)
    terms = [ClipTerm(0.0, tails, tails, units.count)]
    return terms + [_cancelled(bounds, group) for group in units.idle]


def _cancelled(bounds: DenseBounds, group: Group) -> ClipTerm:
    """Units that see the same and write what adds up to 0. No row sees more than its norm times
    `reach`, so that silu(g)·f - silu(g₀)·f₀ = (silu(g) - silu(g₀))·f + silu(g₀)·(f - f₀) needs no
    products of errors; SECOND is for roundings of what is seen."""
    sizes = row_norms(group.out)
    seen, factor = (row_norms(m) * bounds.reach for m in (group.gate, group.up))
    apart = []
    for matrix, size in ((group.gate, seen), (group.up, factor)):
        away = row_norms(matrix - matrix[:1]) * bounds.reach
        apart.append(away + 2 * bounds.roundings(size, size) + SLACK * size)
    most, times = float(seen.max()), float(factor.max())
    left = (frobenius(group.out.sum(axis=0)) + SLACK * float(sizes.sum())) * most * times
    each = STEEP * apart[0] * times + most * apart[1] + SILU * most * times
    noise = left + float(sizes @ each)
    return ClipTerm(0.0, SECOND * noise, SECOND * most * times * float(sizes.sum()), 0)
