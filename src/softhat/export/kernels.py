"""How far the answers of the PyTorch and ONNX kernels are proved.

`Model.certificate` is about softhat's own dense runtime. The exported modules take the same
steps (sums in float32 or wider, rounding after each projection, head output, hidden unit and
residual; hidden units of a clip share one sum), so stored bits are exactly 0 or 1 there too, and
a certificate's conditions on scores hold in any order of summation. What differs is inside the
attention of one row:

- Scores and weights are not rounded to the storage format, which only helps.
- exp may be off by a few dozen ulps, at most 2^-18 of its value, and fused kernels rescale what
  they have summed when the maximum grows. A factor 1 ± ε on a weight is a change of its score
  by ε, 2^-17 in all, against gaps of at least 4.
- Fused kernels multiply by 1/Σw, two roundings where the dense runtime has one. Only averages
  whose sign is taken are sensitive: their score error is at most E(n) + e(n), where E is the
  dense bound, which grows at least as fast as e(n) = C'·max|v|·n·u, the share of one rounding.
  Then E(n) + e(n) + 2^-17 <= E(N) for n <= 0.49·N, and N is certified.
- A kernel that normalises the weights *before* it sums (PyTorch's unfused `math` backend) rounds
  each of up to n+2 terms: e'(n) = C'·max|v|·(n+2)(n+3)·u, and E(n) + e'(n) <= E(N) while
  (n+2)(n+3) <= N - n, which n <= √N - 4 implies.
"""

from __future__ import annotations

from math import isqrt
from typing import Any, Literal

from softhat.transformer.model import Model

Kernel = Literal["torch", "onnx"]
FORMAT = "softhat-kernel-certificate/1"

ASSUMPTIONS = {
    "torch": (
        "sums of projections and attention are accumulated in at least float32 (float64 for "
        "float64): no TF32, no autocast, no reduced-precision reductions",
        "attention subtracts the row maximum before exp and divides after summing, as the fused "
        "kernels of scaled_dot_product_attention do; see max_length_normalised_first otherwise",
        "exp has a relative error of at most 2^-18 and exp(0) = 1",
        "parameters are those of the export: fine-tuning or adding noise voids the certificate",
    ),
    "onnx": (
        "MatMul and ReduceSum accumulate in at least float32 (float64 for float64), in any order",
        "the graph runs as written up to reassociation of sums: no float16 conversion, no "
        "quantisation, no approximate softmax fusion",
        "exp has a relative error of at most 2^-18 and exp(0) = 1",
    ),
}
DTYPES = {
    "torch": ("float16", "bfloat16", "float32", "float64"),
    "onnx": ("float32", "float64"),
}


def kernel_certificate(model: Model, kernel: Kernel) -> dict[str, Any]:
    """What is proved about an export, as the JSON of its `certificate.json`."""
    dense = {name: int(model.certificate.max_length[name]) for name in DTYPES[kernel]}
    signs = any("Sign" in layer.kinds for layer in model.transformer.layers)
    certified = {name: _last(limit, signs) for name, limit in dense.items()}
    result: dict[str, Any] = {
        "format": FORMAT,
        "kernel": kernel,
        "formulas": {name: str(formula) for name, formula in model.formulas.items()},
        "assumptions": list(ASSUMPTIONS[kernel]),
        "max_length": certified,
        "dense_max_length": dense,
    }
    if kernel == "torch":
        result["max_length_normalised_first"] = {
            name: _first(limit, signs) for name, limit in dense.items()
        }
    return result


def _last(dense: int, signs: bool) -> int:
    """The division comes last."""
    return dense * 49 // 100 if signs else dense


def _first(dense: int, signs: bool) -> int:
    """The weights are normalised before they are summed."""
    return min(_last(dense, signs), max(isqrt(dense) - 4, 0)) if signs else dense
