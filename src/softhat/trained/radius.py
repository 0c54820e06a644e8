"""How far the weights of a model may move before its proof fails.

Every entry w may become w + δ with |δ| at most r·|w| ("relative") or r times the largest entry of
its tensor ("largest"), each with its own δ, and every word up to the length is still decided as the
specification says. Products then have one error more: the same proof is made with it, and the
largest r is found by halving.

A copy whose weights were rounded to float16 or bfloat16 moved by a known share of each entry, one
in int8 by half a step of each tensor's scale. `Radius.copies` says which of these are still proved,
`moved_by` how far a fine-tuned copy is from the original. The copy computes in `dtype`: its weights
are rounded, not its arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from softhat.io.errors import SofthatError
from softhat.trained.checkpoint import Affine, Block, Checkpoint, LayerNorm, read_checkpoint
from softhat.trained.deciding import FEW, proofs
from softhat.trained.enumeration import Enumeration, OutOfTimeError
from softhat.trained.one_layer import cells_to
from softhat.trained.prove import DOMAINS, check_budget, too_long
from softhat.trained.question import TrainedQuestion
from softhat.trained.rounding import UNITS, Array, rounding_of
from softhat.trained.specification import Specification, read_specification

KINDS = ("relative", "largest")
LARGEST = 0.25
LEAST = 2.0**-26
"""A smaller radius counts as none: it is less than the rounding of one weight."""
HALVINGS = 7
"""Of the exponent: the radius is found to within an eighth or so."""

Bound = Callable[[Array], Array]
"""How far each entry of a tensor may move."""


def _share_of(whole: Bound, share: float, weight: Array) -> Array:
    return share * whole(weight)


def _largest(weight: Array) -> Array:
    return np.full_like(weight, np.abs(weight).max(initial=0.0))


COPIES: dict[str, Bound] = {
    # Half a unit in the last place of 11 and 8 bits, or half the least step below normal numbers.
    "float16": lambda w: np.where(
        np.abs(w).max(initial=0.0) < 65504, np.abs(w) * 2.0**-11 + 2.0**-25, np.inf
    ),
    "bfloat16": lambda w: np.abs(w) * 2.0**-8 + 2.0**-134,
    # Half a step of max|w|/127, and the roundings of the scale and of its product in float32.
    "int8": lambda w: _largest(w) * (1 / 254 + 2.0**-22),
}
"""Copies by the rounding of their weights: to nearest, int8 with one scale for each tensor."""


@dataclass(frozen=True, slots=True)
class Radius:
    """How far weights may move while every word of at most `max_length` symbols stays proved."""

    radius: float
    """0 if the proof fails as it stands, or bears no change."""
    kind: str
    max_length: int
    copies: dict[str, bool]
    """By name of the rounding: is every copy that is rounded so still proved?"""
    ended: bool
    """The budget ended the search: the radius may be larger."""
    dtype: str
    offset: int
    domain: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def radius(
    checkpoint: str | Path | Checkpoint,
    spec: Specification | Mapping[str, Any] | str | Path,
    *,
    kind: str = "relative",
    max_length: int | None = None,
    offset: int = 0,
    dtype: str = "float32",
    domain: str = "completable",
    budget: float = 600,
) -> Radius:
    """How far all weights may move before the proof up to `max_length` fails.

    `kind` "relative": each entry by that share of itself; "largest": by that share of the largest
    entry of its tensor. `max_length` is by default what the context holds. Models of one or two
    layers; deeper ones where all prefixes can be walked. The budget is in processor seconds.
    """
    model = read_checkpoint(checkpoint)
    spec = read_specification(spec)
    most = _most(model, spec, kind, max_length, offset, dtype, domain, budget)
    question = TrainedQuestion(model, spec, offset, most, domain, rounding_of(dtype))
    work = _Work(question, thread_time() + budget)
    if not work.holds(lambda weight: np.zeros_like(weight)):
        none = dict.fromkeys(COPIES, False)
        return Radius(0.0, kind, most, none, work.ended, dtype, offset, domain)
    share: Bound = np.abs if kind == "relative" else _largest
    copies = {name: work.holds(bound) for name, bound in COPIES.items()}
    low, high, proved = np.log2(LEAST), np.log2(LARGEST), 0.0
    for step in range(HALVINGS + 1):
        exponent = low if step == 0 else (low + high) / 2
        moved = float(2.0**exponent)
        if work.holds(partial(_share_of, share, moved)):
            low, proved = exponent, moved
        elif step == 0:
            break
        else:
            high = exponent
    return Radius(proved, kind, most, copies, work.ended, dtype, offset, domain)


def _most(
    model: Checkpoint,
    spec: Specification,
    kind: str,
    max_length: int | None,
    offset: int,
    dtype: str,
    domain: str,
    budget: float,
) -> int:
    """The longest words that are asked for, once everything that is given is as it should be."""
    for name, value, known in (
        ("kind", kind, KINDS), ("dtype", dtype, tuple(UNITS)), ("domain", domain, DOMAINS)
    ):  # fmt: skip
        if value not in known:
            raise SofthatError(f"{name} is one of {', '.join(known)}, not {value!r}")
    check_budget(budget)
    spec.check_fits(model.vocabulary, model.outputs, model.head)
    if type(offset) is not int or not 0 <= offset < model.context:
        raise SofthatError(f"offset {offset!r} is outside the context of {model.context} positions")
    room = model.context - 1 - offset
    if max_length is None:
        return max(0, room - (spec.eos is not None))
    if type(max_length) is not int or not 0 <= max_length <= room:
        raise too_long(max_length, room, model)
    return max_length


@dataclass
class _Work:
    """Proofs of one model with weights that may move."""

    question: TrainedQuestion
    deadline: float
    ended: bool = False

    def holds(self, bound: Bound) -> bool:
        """Is every word up to the length proved when weights move by at most the bound?"""
        question = replace(self.question, model=moving(self.question.model, bound))
        layers = len(question.model.blocks)
        with np.errstate(all="ignore"):
            tree = Enumeration(question)
            depth = tree.depth(FEW)
            if layers > 1 and depth.whole and self._walked(tree, depth.level):
                return True
            if layers > 2 or not self._walked(tree, 0):
                return False
            cells = cells_to(question)
            left = {(cell.read, cell.last, state) for cell in cells for state in cell.states}
            for outcome in proofs(question, cells, self.deadline):
                if not outcome.proved:
                    return False
                cell = outcome.cell
                left -= {(cell.read, cell.last, state) for state in cell.states}
        self.ended |= thread_time() > self.deadline
        return not left

    def _walked(self, tree: Enumeration, depth: int) -> bool:
        """All prefixes of at most so many symbols, one by one."""
        try:
            seen = tree.walk(depth, self.deadline, self.deadline)
        except OutOfTimeError:
            self.ended = True
            return False
        return seen.open_from > self.question.most


def moving(model: Checkpoint, bound: Bound) -> Checkpoint:
    """The model with weights that may move: the answers that a tied embedding gives as well."""

    def affine(step: Affine) -> Affine:
        return replace(step, moved=Affine(bound(step.weight), bound(step.bias)))

    def norm(step: LayerNorm) -> LayerNorm:
        return replace(step, moved=LayerNorm(bound(step.gain), bound(step.shift)))

    def moved(part: LayerNorm | Affine) -> Any:
        return norm(part) if isinstance(part, LayerNorm) else affine(part)

    blocks = tuple(Block(*map(moved, block.parts)) for block in model.blocks)
    return replace(
        model, blocks=blocks, last=norm(model.last), answers=affine(model.answers),
        moved=(bound(model.tokens), bound(model.positions)),
    )  # fmt: skip


def moved_by(
    checkpoint: str | Path | Checkpoint, other: str | Path | Checkpoint, kind: str = "relative"
) -> float:
    """The largest change from one checkpoint's weights to another's, as a radius of this kind; ∞
    where a zero became something else, or where anything but the weights differs."""
    model, copy = read_checkpoint(checkpoint), read_checkpoint(other)
    settings = [
        (m.heads, m.epsilon, m.scale, m.activation, m.head, [w.shape for w in _weights(m)])
        for m in (model, copy)
    ]
    if settings[0] != settings[1]:
        return float("inf")
    most = 0.0
    for before, after in zip(_weights(model), _weights(copy), strict=True):
        change = np.abs(after - before)
        whole = np.abs(before) if kind == "relative" else _largest(before)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(change > 0, change / whole, 0.0)
        # The division rounds once, and so may the radius times an entry.
        most = max(most, float(share.max(initial=0.0)) * (1 + 2.0**-50))
    return most


def _weights(model: Checkpoint) -> list[Array]:
    parts = [part for block in model.blocks for part in block.parts]
    arrays = [model.tokens, model.positions]
    for part in (model.last, model.answers, *parts):
        arrays += (
            [part.gain, part.shift] if isinstance(part, LayerNorm) else [part.weight, part.bias]
        )
    return arrays
