"""The four files of a simulation's folder, read by code of its own."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.ahat.simulation.recheck.law import value_of
from softhat.errors import SofthatError
from softhat.files.reading import MOST_TENSOR_BYTES, read_bytes, read_json

PARTS = ("query", "key", "value", "output")


class Files:
    """The folder's four files, as they are."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load

        try:
            self.config: dict[str, Any] = read_json(folder / "config.json", folder)
            self.ahat: dict[str, Any] = read_json(folder / "ahat.json", folder)
            self.certificate: dict[str, Any] = read_json(folder / "certificate.json", folder)
            self.tensors = load(read_bytes(folder / "model.safetensors", folder, MOST_TENSOR_BYTES))
        except ValueError as error:
            raise SofthatError(f"cannot re-check {str(folder)!r}: {error}") from None
        try:
            self._read()
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise SofthatError(f"cannot re-check {str(folder)!r}: {error!r}") from None

    def _read(self) -> None:
        """The heads' matrices and β by their place, whichever version the folder has.

        Version 1 has a tensor for each matrix, and a constant β multiplied into the queries;
        version 2 has the heads of a layer in one tensor, padded with zeros, and laws of β.
        """
        self.head: dict[tuple[int, int, str], npt.NDArray[Any]] = {}
        self.laws: dict[tuple[int, int], Any] = {}
        self.folded: dict[tuple[int, int], Fraction] = {}
        old = self.config["version"] == 1
        betas = {(b["layer"], b["head"]): b["beta"] for b in self.config.get("betas", [])}
        for l, layer in enumerate(self.ahat["layers"]):
            for h in range(len(layer["heads"])):
                for part in PARTS:
                    whole = f"layers.{l}.{part}"
                    alone = f"layers.{l}.heads.{h}.{part}"
                    self.head[l, h, part] = self.tensors[alone] if old else self.tensors[whole][h]
                self.folded[l, h] = Fraction(betas[l, h]) if old else Fraction(1)
                self.laws[l, h] = "1" if old else self.config["layers"][l]["heads"][h]["law"]
        weights, bias = ("output.weights", "output.bias") if old else ("readout", "readout_bias")
        self.output = self.tensors[weights].reshape(-1), float(self.tensors[bias].reshape(-1)[0])

    def forward(self, l: int) -> list[npt.NDArray[Any]]:
        """The feed-forward matrices and biases of a layer."""
        if self.config["version"] == 1:
            names = [f"feed_forward.{part}" for part in ("in", "in_bias", "out", "out_bias")]
        else:
            names = ["into", "into_bias", "out", "out_bias"]
        return [self.tensors[f"layers.{l}.{name}"].astype(np.longdouble) for name in names]

    def scale(self, name: tuple[int, int], n: int) -> np.longdouble:
        """What scores are multiplied by: β(n), unless a constant β is in the tensors."""
        return np.longdouble(float(value_of(self.laws[name], n)))

    def weight_faults(self) -> list[str]:
        """Each tensor is the source's, each query β times the source's where β is folded in."""
        faults = []
        for l, layer in enumerate(self.ahat["layers"]):
            for h, head in enumerate(layer["heads"]):
                constant = self.laws[l, h] if isinstance(self.laws[l, h], str) else "1"
                beta = Fraction(constant) * self.folded[l, h]
                top = beta.numerator // (beta.numerator & -beta.numerator)
                if top.bit_length() > 6 or beta.denominator & (beta.denominator - 1):
                    faults.append(f"β of layer {l}, head {h} has more than 6 significant bits")
                for part in PARTS:
                    factor = self.folded[l, h] if part == "query" else Fraction(1)
                    if not _is_multiple(self.head[l, h, part], head[part], factor):
                        faults.append(f"tensor {part} of layer {l}, head {h} is not β·W")
        return faults


def _is_multiple(stored: npt.NDArray[Any], wanted: list[list[Any]], factor: Fraction) -> bool:
    """Is it factor times the matrix, up to a rounding of each entry and one of the product, and
    0 where the matrix has no entry?"""
    rest = stored.copy()
    for r, row in enumerate(wanted):
        for c, w in enumerate(row):
            exact = Fraction(w) * factor
            if abs(Fraction(float(stored[r, c])) - exact) > abs(exact) / 2**51:
                return False
            rest[r, c] = 0
    return not rest.any()
