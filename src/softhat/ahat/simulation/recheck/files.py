"""The four files of a simulation's folder, read by code of its own."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.ahat.simulation.recheck.law import value_of
from softhat.io.errors import SofthatError
from softhat.io.files.reading import MOST_TENSOR_BYTES, read_bytes, read_json

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
        self.masks: dict[tuple[int, int], str] = {}
        old = self.config["version"] == 1
        betas = {(b["layer"], b["head"]): b["beta"] for b in self.config.get("betas", [])}
        for l, layer in enumerate(self.ahat["layers"]):
            for h in range(len(layer["heads"])):
                for part in PARTS:
                    whole = f"layers.{l}.{part}"
                    alone = f"layers.{l}.heads.{h}.{part}"
                    self.head[l, h, part] = self.tensors[alone] if old else self.tensors[whole][h]
                self.folded[l, h] = Fraction(betas[l, h]) if old else Fraction(1)
                told = layer["heads"][h] if old else self.config["layers"][l]["heads"][h]
                self.laws[l, h] = "1" if old else told["law"]
                self.masks[l, h] = told["mask"]
        weights, bias = ("output.weights", "output.bias") if old else ("readout", "readout_bias")
        self.output = self.tensors[weights].reshape(-1), float(self.tensors[bias].reshape(-1)[0])

        ends = [self.tensors["bos_embedding"].reshape(1, -1)] if old and self.ahat["bos"] else []
        tokens = np.concatenate([self.tensors["embedding"], *ends])
        self.embedding = tokens, self.tensors["position_embedding"]

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
        """Each tensor is the source's, each query β times the source's where β is folded in; and
        the configuration says the same alphabet, sinks, positions and masks."""
        faults = self._shape_faults() + self._rest_faults()
        for l, layer in enumerate(self.ahat["layers"]):
            for h, head in enumerate(layer["heads"]):
                constant = self.laws[l, h] if isinstance(self.laws[l, h], str) else "1"
                beta = Fraction(constant) * self.folded[l, h]
                top = beta.numerator // (beta.numerator & -beta.numerator)
                if top.bit_length() > 6 or beta.denominator & (beta.denominator - 1):
                    faults.append(f"β of layer {l}, head {h} has more than 6 significant bits")
                if self.masks[l, h] != head["mask"]:
                    faults.append(f"the mask of layer {l}, head {h} is not that of ahat.json")
                for part in PARTS:
                    factor = self.folded[l, h] if part == "query" else Fraction(1)
                    if not _is_multiple(self.head[l, h, part], head[part], factor):
                        faults.append(f"tensor {part} of layer {l}, head {h} is not β·W")
        return faults

    def _shape_faults(self) -> list[str]:
        """Where the configuration is not that of the source (version 1 does not say it twice)."""
        if self.config["version"] == 1:
            return []
        sinks = ["<bos>"] * self.ahat.get("bos", False) + ["<eos>"] * self.ahat.get("eos", False)
        expected = {
            "alphabet": self.ahat["alphabet"], "sinks": sinks, "positions": self.ahat["positions"]
        }  # fmt: skip
        return [
            f"{key} of config.json is not that of ahat.json"
            for key, value in expected.items()
            if self.config[key] != value
        ]

    def _rest_faults(self) -> list[str]:
        """Embeddings, feed-forward sublayers and the read-out."""
        a = self.ahat
        names = [*a["alphabet"], *(s for s in ("<bos>", "<eos>") if s in a["embedding"])]
        weights, bias = self.output
        pairs: list[tuple[str, Any, list[list[Any]]]] = [
            ("embedding", self.embedding[0], [a["embedding"][s] for s in names]),
            ("position_embedding", self.embedding[1], a["position_embedding"]),
            ("readout", weights.reshape(1, -1), [a["output"]["weights"]]),
            ("readout_bias", np.array([[bias]]), [[a["output"]["bias"]]]),
        ]
        for l, layer in enumerate(a["layers"]):
            ff = layer.get("feed_forward")
            if ff is None:
                if f"layers.{l}.into" in self.tensors:
                    pairs.append((f"layers.{l}.into", self.tensors[f"layers.{l}.into"], []))
                continue
            into, into_bias, out, out_bias = self.forward(l)
            pairs += [
                (f"layers.{l}: in", into, ff["in"]),
                (f"layers.{l}: in_bias", into_bias.reshape(1, -1), [ff["in_bias"]]),
                (f"layers.{l}: out", out, ff["out"]),
                (f"layers.{l}: out_bias", out_bias.reshape(1, -1), [ff["out_bias"]]),
            ]
        return [
            f"tensor {name} is not that of ahat.json"
            for name, stored, wanted in pairs
            if not _is_multiple(stored, wanted, Fraction(1))
        ]


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
