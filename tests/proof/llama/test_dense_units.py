"""What a disguised block's hidden units write in float32, against the bounds of their terms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softhat.circuits.stock_network import StockNetwork
from softhat.proof.dense.bounds import ClipTerm, NormError
from softhat.proof.llama.dense_bounds import LlamaDenseBounds
from softhat.proof.llama.squares import Squares
from softhat.proof.llama.undisguise import undisguise
from softhat.proof.stock.derivation import derive
from softhat.proof.stock.storage import SECOND
from tests.proof.llama.test_dense_bounds import CONTEXT, FORMULAS, made, parts
from tests.transformer.lowering.suite import long_words


class Recorded(LlamaDenseBounds):
    """Bounds that keep what they said of each block's gates."""

    said: list[tuple[Any, NormError, dict[int, list[ClipTerm]]]]

    norms: list[tuple[Squares, float]]
    """Before each norm: the mean squares, and the noise."""

    def _clips(self, at: int, off: Any, norm: NormError) -> dict[int, list[ClipTerm]]:
        found = super()._clips(at, off, norm)
        self.said.append((off, norm, found))
        return found

    def _norm(self, off: Any, noise: float, cells: Any) -> NormError:
        self.norms.append((self.squares, noise))
        return super()._norm(off, noise, cells)


@pytest.mark.parametrize("text", [*FORMULAS, "O (a & (#(a) > #(b)))"])
def test_clips_write_two_or_nothing(text: str, tmp_path: Path) -> None:
    export = made(text, tmp_path / "m", 3)
    c, directions = parts(export)
    plain = undisguise(c, directions)
    bounds = Recorded(derive(plain.checkpoint, export.formulas), plain, c, directions, True, None)
    bounds.said, bounds.norms = [], []
    bounds.check(CONTEXT - 1)
    seen: dict[str, Any] = {}
    StockNetwork(tmp_path / "m").run(long_words(CONTEXT - 1, 2, 5), seen=seen)
    flips = 0
    for at, (_, norm, terms) in enumerate(bounds.said):
        written = seen[f"blocks.{at}.hook_resid_post"] - seen[f"blocks.{at}.hook_resid_mid"]
        for target, those in terms.items():
            sizes = np.abs(written @ plain.basis[:, target])
            flips += int((sizes > 1).sum())
            off = np.minimum(sizes, np.abs(sizes - 2)).max()
            # Across the direction everything else is noise.
            assert off <= max(term.bit for term in those) + bounds.bounds["noise"]
            assert all(term.unscaled <= term.bit for term in those)
        assert norm.spread <= norm.scale
    assert flips > 100
    # And the mean squares of the residual stream before each norm are where they are said to be.
    places = ["blocks.0.hook_resid_pre"]
    for at in range(c.blocks):
        places += [f"blocks.{at}.hook_resid_mid", f"blocks.{at}.hook_resid_post"]
    for place, (squares, noise) in zip(places, bounds.norms, strict=True):
        off = (seen[place].astype(np.float64) ** 2).mean(axis=-1) - 1
        slack = 2.1 * noise / c.d_model**0.5 + 1e-9
        assert squares.low - slack <= off.min() <= off.max() <= squares.high + slack, place


def test_units_that_cancel_are_quiet(tmp_path: Path) -> None:
    export = made(FORMULAS[0], tmp_path / "m", 3)
    c, directions = parts(export)
    plain = undisguise(c, directions)
    found = derive(plain.checkpoint, export.formulas)
    bounds = LlamaDenseBounds(found, plain, c, directions, True, None)
    rng = np.random.default_rng(1)
    for units in bounds.units:
        for group in units.idle:
            x = rng.standard_normal((200, c.d_model))
            x *= c.d_model**0.5 / np.linalg.norm(x, axis=1, keepdims=True)
            g, f = (x.astype(np.float32) @ m.T.astype(np.float32) for m in (group.gate, group.up))
            hidden = (g / (1 + np.exp(-g)) * f) @ group.out.astype(np.float32)
            (term,) = (
                t
                for t in bounds._idle_units(bounds.units.index(units), NormError(0, 0, 0, 0))[1:]
                if t.magnitudes == pytest.approx(_magnitudes(bounds, group))
            )
            most = term.noise + bounds.rounding(len(group.out), term.magnitudes, term.magnitudes)
            assert np.linalg.norm(hidden, axis=1).max() <= most


def _magnitudes(bounds: LlamaDenseBounds, group: Any) -> float:
    norms = [np.linalg.norm(m, axis=1) for m in (group.gate, group.up, group.out)]
    return float(SECOND * norms[0].max() * norms[1].max() * norms[2].sum() * bounds.reach**2)
