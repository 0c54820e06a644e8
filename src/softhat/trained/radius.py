"""How far the weights of a model may move before its proof fails.

Every entry w may become w (1 + δ) with |δ| at most the radius, each with its own δ, and every word
up to the length is still decided as the specification says. Such a change acts like rounding: each
product has one relative error more. So the same proof is made again with that error added, and the
radius is found by halving. It tells whether a fine-tuned or quantised copy is still proved, as long
as its entries differ by no more than that (`moved_by`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from softhat.io.errors import SofthatError
from softhat.trained.checkpoint import Checkpoint, read_checkpoint
from softhat.trained.concrete import Prefixes
from softhat.trained.prover import OneLayer, cells_to
from softhat.trained.rounding import Rounding, rounding_of
from softhat.trained.specification import Specification, read_specification

LARGEST = 0.25
HALVINGS = 8
"""Of the exponent: the radius is found to within a tenth or so."""


def radius(
    checkpoint: str | Path | Checkpoint,
    spec: Specification | Mapping[str, Any] | str | Path,
    *,
    max_length: int,
    offset: int = 0,
    dtype: str = "float32",
    domain: str = "completable",
    budget: float = 600,
) -> float:
    """A relative change of all weights that keeps the proof up to `max_length`; 0 if none does.

    For models of one layer. The budget is in processor seconds.
    """
    model = checkpoint if isinstance(checkpoint, Checkpoint) else read_checkpoint(checkpoint)
    spec = read_specification(spec)
    if len(model.blocks) != 1:
        raise SofthatError(f"the radius is for models of one layer, not {len(model.blocks)}")
    if not 0 < max_length <= model.context - 1 - offset:
        raise SofthatError(f"max_length {max_length} does not fit {model.context} positions")
    deadline = thread_time() + budget
    exact = rounding_of(dtype)

    def holds(moved: float) -> bool:
        rounding = replace(exact, weights=moved)
        return proved(model, spec, max_length, offset, domain, rounding, deadline)

    low, high = np.log2(exact.unit), np.log2(LARGEST)
    if not holds(float(2.0**low)):
        return 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(float(2.0**middle)) else (low, middle)
    return float(2.0**low)


def proved(
    model: Checkpoint,
    spec: Specification,
    most: int,
    offset: int,
    domain: str,
    rounding: Rounding,
    deadline: float,
) -> bool:
    """Is every word up to a length proved, with this rounding?"""
    prover = OneLayer(model, spec, offset, most, rounding)
    if spec.decided[spec.start] and spec.length(spec.start, 0, domain) <= most:
        try:
            with np.errstate(all="ignore"):
                logits = Prefixes(model, offset, rounding).logits([spec.bos])
        except FloatingPointError:
            return False
        if not prover.decisions.lower(logits, spec.start) > 0:
            return False
    cells = cells_to(spec, most, domain)
    left = {(cell.read, cell.last, state) for cell in cells for state in cell.states}
    for outcome in prover.prove(cells, domain, deadline):
        if not outcome.proved:
            return False
        cell = outcome.cell
        left -= {(cell.read, cell.last, state) for state in cell.states}
    return not left


def moved_by(checkpoint: str | Path | Checkpoint, other: str | Path | Checkpoint) -> float:
    """The largest relative change from one checkpoint's weights to another's; ∞ where a zero
    became something else, or shapes differ."""
    models = [m if isinstance(m, Checkpoint) else read_checkpoint(m) for m in (checkpoint, other)]
    pairs = list(zip(*(_weights(model) for model in models), strict=False))
    if len({len(_weights(model)) for model in models}) > 1:
        return float("inf")
    most = 0.0
    for before, after in pairs:
        if before.shape != after.shape:
            return float("inf")
        change = np.abs(after - before)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(change > 0, change / np.abs(before), 0.0)
        most = max(most, float(relative.max(initial=0.0)))
    return most


def _weights(model: Checkpoint) -> list[Any]:
    arrays = [model.tokens, model.positions, model.last.gain, model.last.shift]
    arrays += [model.answers.weight, model.answers.bias]
    for block in model.blocks:
        for norm in (block.before_attention, block.before_units):
            arrays += [norm.gain, norm.shift]
        for step in (block.attention, block.projection, block.units, block.output):
            arrays += [step.weight, step.bias]
    return arrays
