"""How far the answers of the PyTorch and ONNX kernels are proved.

`Model.certificate` is about softhat's own dense runtime. The exported modules take the same
steps (sums in float32 or wider, rounding after each projection, head output, hidden unit and
residual; the hidden units of a clip share one sum), so the same proof applies, with the arithmetic
of their attention:

- scores and weights are kept as they are summed, in float32 (float64 for float64): they are not
  rounded to half precision, and do not overflow it; more weights than half precision can store
  are summed;
- scores of any number of products are summed there too, exactly as long as their parts are
  multiples of a power of two that it holds;
- fused kernels multiply by 1/Σw, two roundings where the dense runtime has one;
- exp may be off by 20 units in the last place instead of 4, and a fused kernel rescales what it
  has summed when it meets a larger maximum: see `softhat.numerics.kernels`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Protocol

from softhat.logic.syntax.nodes import Formula
from softhat.numerics.formats import FORMATS, Format
from softhat.numerics.kernels import ONNX, PYTORCH
from softhat.proof.check import certify
from softhat.proof.document import document
from softhat.transformer.weights import Transformer

Kernel = Literal["torch", "onnx"]
ARITHMETIC = {"torch": PYTORCH, "onnx": ONNX}

ASSUMPTIONS = {
    "torch": (
        "sums are accumulated in at least float32 (float64 for float64), in any order: no TF32, "
        "no autocast, no reduced-precision reductions",
        "attention takes exp(score - row maximum), the difference taken before any scaling, and "
        "divides (or multiplies by the reciprocal) after summing: kernel='eager' everywhere, and "
        "the fused kernels of scaled_dot_product_attention on CPUs",
        "exp(0) = 1, and exp is otherwise within 20 units in the last place",
        "the parameters are those of the export: fine-tuning voids the certificate",
    ),
    "onnx": (
        "MatMul and ReduceSum accumulate in at least float32 (float64 for float64), in any order",
        "the graph is not quantised, converted to half precision or fused into another softmax",
        "exp(0) = 1, and exp is otherwise within 20 units in the last place",
    ),
}
DTYPES = {
    "torch": ("float16", "bfloat16", "float32", "float64"),
    "onnx": ("float32", "float64"),
}


class Claimed(Protocol):
    """A transformer and the formulas that it is claimed to compute: a model."""

    @property
    def transformer(self) -> Transformer: ...

    @property
    def formulas(self) -> Mapping[str, Formula]: ...


def kernel_certificate(
    model: Claimed, kernel: Kernel, longest: int | None = None
) -> dict[str, Any]:
    """What is proved about an export, as the JSON of its `certificate.json`.

    `longest` is the length of the longest words that the export takes, if there is one.
    """
    proof = certify(model.transformer, model.formulas, kernel_formats(kernel))
    reached = {
        name: length if longest is None else min(length, longest)
        for name, length in proof.max_length.items()
    }
    return document(
        "export",
        reached,
        ASSUMPTIONS[kernel],
        proof.void,
        target=kernel,
        kernel=kernel,
        formulas={name: str(formula) for name, formula in model.formulas.items()},
        attention=model.transformer.attention,
        binding=proof.binding,
    )


def kernel_formats(kernel: Kernel) -> dict[str, Format]:
    """The number formats of a kernel, with its arithmetic."""
    arithmetic = ARITHMETIC[kernel]
    return {name: replace(FORMATS[name], kernel=arithmetic) for name in DTYPES[kernel]}
