"""Variables that are used again: what stood there must come off, and bounds must add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import softhat
from softhat.export.reading import read_export
from softhat.frontends.regular.dfa import DFA
from softhat.io.errors import VoidError
from softhat.proof.stock.derivation import derive
from softhat.proof.stock.gates import Gate
from softhat.proof.stock.variables import RawCell
from tests.export.stock_models import stated
from tests.slices import sizes

S3 = DFA(("a", "b"), 0, frozenset({0}), ((1, 1), (2, 0), (0, 2)))
CONTEXT = 34


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("again") / "m"
    softhat.to_gpt2(softhat.from_dfa(S3, depth="log"), path, CONTEXT)
    return path


def clearing(folder: Path) -> list[tuple[int, Gate, bool]]:
    """The gates that take something off: their block, and whether that is a raw output."""
    export: Any = read_export(folder)
    derived = derive(export.checkpoint, export.formulas, reuse=True)
    found = []
    for at, block in enumerate(derived.blocks):
        cells = derived.after_attention[at]
        found += [(at, g, hasattr(cells[g.target], "amplitude")) for g in block.gates if g.clears]
    return found


def test_pairs_are_used_again_and_certified(folder: Path) -> None:
    found = clearing(folder)
    assert any(raw for *_, raw in found) and not all(raw for *_, raw in found)
    assert set(softhat.certify(folder).max_length.values()) == {CONTEXT - 1}


def test_what_held_a_raw_output_is_no_constant_and_no_bit(folder: Path) -> None:
    """What heads were off by stays in it, which nothing counts for constants and bits."""
    export: Any = read_export(folder)
    derived = derive(export.checkpoint, export.formulas, reuse=True)
    stages = [s for pair in zip(derived.cells, derived.after_attention, strict=False) for s in pair]
    cleared = {gate.target for _, gate, raw in clearing(folder) if raw}
    for target in cleared:
        kinds = [type(stage[target]) for stage in (*stages, derived.cells[-1])]
        assert set(kinds[kinds.index(RawCell) :]) == {RawCell}


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("damage", ["left out", "doubled", "of another bit", "a half"])
def test_what_does_not_come_off_is_not_proved(
    damage: str, raw: bool, folder: Path, tmp_path: Path
) -> None:
    at, gate, _ = next(entry for entry in clearing(folder) if entry[2] == raw)
    tensors = load_file(folder / "model.safetensors")
    name, units = f"transformer.h.{at}.mlp", list(gate.units)
    into, bias, out = (f"{name}.{part}" for part in ("c_fc.weight", "c_fc.bias", "c_proj.weight"))
    match damage:
        case "left out":
            tensors[into][:, units] = tensors[bias][units] = tensors[out][units] = 0
        case "doubled":
            tensors[out][units] *= 2
        case "a half":
            tensors[out][units] /= 2
        case "of another bit":
            other = next(g for b, g, _ in clearing(folder) if b == at and g.target != gate.target)
            for side in (0, 1):
                read = tensors[into][2 * gate.target + side, units]
                tensors[into][2 * other.target + side, units] = read
                tensors[into][2 * gate.target + side, units] = 0
    for file in folder.iterdir():
        if file.is_file() and file.name != "model.safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    certificate = softhat.certify(tmp_path)
    assert certificate.void and not any(certificate.max_length.values())


def test_bounds_that_do_not_add_up_allow_none(folder: Path) -> None:
    export: Any = read_export(folder)
    with pytest.raises(VoidError, match="the feed-forward"):
        derive(export.checkpoint, export.formulas)


@pytest.mark.parametrize("bits", sizes((6, 9), (8, 12)))
def test_rounds_cost_positions_only(tmp_path: Path, bits: tuple[int, int]) -> None:
    """A round more needs the codes of its distance and no pair for its bits."""
    widths = []
    for context in (2 ** bits[0] + 1, 2 ** bits[1] + 1):
        softhat.to_gpt2(softhat.from_dfa(S3, depth="log"), tmp_path / str(context), context)
        tensors = load_file(tmp_path / str(context) / "model.safetensors")
        widths.append(tensors["transformer.wpe.weight"].shape[1])
    codes = [2 * (1 + count) * (1 + count) for count in bits]
    assert widths[1] - widths[0] <= codes[1] - codes[0] + 64


def test_errors_add_up(folder: Path) -> None:
    """The bound of stored bits grows with the rounds in float32 and is 0 in small formats."""
    bounds = {name: entry["bounds"] for name, entry in stated(folder)["formats"].items()}
    assert bounds["float32"]["stored bit"] > 4 * 2.0**-24 * (CONTEXT - 2).bit_length()
    assert bounds["bfloat16"]["stored bit"] == bounds["float16"]["stored bit"] == 0
    assert np.isfinite(list(bounds["float32"].values())).all()
