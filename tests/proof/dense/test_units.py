"""What a disguised block's hidden units write in float32, against the bounds of their terms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.circuits.stock_network import StockNetwork
from softhat.export.reading import Export, read_export
from softhat.proof.dense.bounds import DenseBounds
from softhat.proof.dense.rows import HeldValues, NormedStream, NormError
from softhat.proof.dense.squares import Squares
from softhat.proof.dense.units import ClipTerm, idle_terms
from softhat.proof.gpt2.dense_scores import DensePairs
from softhat.proof.llama.dense_scores import DenseTurns
from softhat.proof.stock.certify import undisguised
from softhat.proof.stock.derivation import derive
from tests.transformer.lowering.suite import long_words

CONTEXT = 64
FORMULAS = ["a S (b & Y a)", "(#(a) > #(Y b)) & O b", "O (a & (#(a) > #(b)))"]


class Recorded(DenseBounds):
    """Bounds that keep what they said of each block's gates."""

    said: list[tuple[NormError, dict[int, list[ClipTerm]]]]

    norms: list[tuple[Squares, float]]
    """At each norm: the mean squares, and the noise."""

    def _clips(self, at: int, off: Any, norm: NormError) -> dict[int, list[ClipTerm]]:
        found = super()._clips(at, off, norm)
        self.said.append((norm, found))
        return found

    def _norm(self, off: Any, noise: float, cells: Any) -> NormError:
        self.norms.append((self._squares(off, cells), noise))
        return super()._norm(off, noise, cells)


def made(text: str, folder: Path, family: str) -> tuple[Export, Recorded]:
    model = softhat.compile(text, "ab")
    if family == "gpt2":
        softhat.to_gpt2(model, folder, CONTEXT, disguise=3)
    else:
        softhat.to_llama(model, folder, CONTEXT, disguise=3)
    export = read_export(folder)
    c, directions = export.checkpoint, export.directions
    assert c is not None and directions is not None
    plain = undisguised(c, directions)
    derived = derive(plain.checkpoint, export.formulas)
    scores = DensePairs if family == "gpt2" else DenseTurns
    bounds = Recorded(plain, derived, directions, True, None, scores)
    bounds.said, bounds.norms = [], []
    return export, bounds


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("text", FORMULAS)
def test_clips_write_two_or_nothing(text: str, family: str, tmp_path: Path) -> None:
    _, bounds = made(text, tmp_path / "m", family)
    bounds.check(CONTEXT - 1)
    seen: dict[str, Any] = {}
    StockNetwork(tmp_path / "m").run(long_words(CONTEXT - 1, 2, 5), seen=seen)
    flips = 0
    for at, (norm, terms) in enumerate(bounds.said):
        written = seen[f"blocks.{at}.hook_resid_post"] - seen[f"blocks.{at}.hook_resid_mid"]
        for target, those in terms.items():
            sizes = np.abs(written @ bounds.u[:, target])
            flips += int((sizes > 1).sum())
            off = np.minimum(sizes, np.abs(sizes - 2)).max()
            # Across the direction everything else is noise.
            assert off <= max(term.bit for term in those) + bounds.bounds["noise"]
            assert all(term.unscaled <= term.bit for term in those)
        assert norm.spread <= norm.scale
    assert flips > 100
    # And the mean squares of the residual stream before each norm are where they are said to be.
    places = ["blocks.0.hook_resid_pre"]
    for at in range(bounds.blocks):
        places += [f"blocks.{at}.hook_resid_mid", f"blocks.{at}.hook_resid_post"]
    square = bounds.plain_norm.square
    for place, (squares, noise) in zip(places, bounds.norms, strict=True):
        off = (seen[place].astype(np.float64) ** 2).sum(axis=-1) / square - 1
        slack = 2.1 * noise / square**0.5 + bounds.skew
        assert squares.low - slack <= off.min() <= off.max() <= squares.high + slack, place


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_units_that_cancel_are_quiet(family: str, tmp_path: Path) -> None:
    _, bounds = made(FORMULAS[0], tmp_path / "m", family)
    rng = np.random.default_rng(1)
    groups = 0
    for units in bounds.units:
        held, silent = HeldValues.of([], np.zeros(0)), NormError(0.0, 0.0, 0.0, 0.0)
        stream = NormedStream(bounds.d, bounds.gain, held, np.zeros(0), silent)
        terms = idle_terms(units, stream)
        terms = terms[len(terms) - len(units.idle) :]
        for group, term in zip(units.idle, terms, strict=True):
            x = rng.standard_normal((200, bounds.d))
            x *= bounds.gain / np.linalg.norm(x, axis=1, keepdims=True)
            x = np.append(x, np.ones((200, 1)), axis=1).astype(np.float32)
            hidden = x @ group.gate.T.astype(np.float32)
            if group.up is None:
                hidden = np.maximum(hidden, 0)
            else:
                hidden = hidden / (1 + np.exp(-hidden)) * (x @ group.up.T.astype(np.float32))
            written = hidden @ group.out.astype(np.float32)
            most = term.noise + bounds.rounding(len(group.out), term.magnitudes, term.magnitudes)
            assert np.linalg.norm(written, axis=1).max() <= most
            groups += 1
    assert groups
