"""The activations of stock GPT-2s, with what the proof needs to know of them.

For each: its values, how steep it is (`slope`), how much it bends (`bend`, a bound of |f''|; None
for ReLU, which has a corner at 0), and the error of its float kernel relative to |x|.

Bends: gelu'' = φ(x)(2 - x²) has its largest size 2φ(0) = 0.798 at 0. The tanh form's is √(2/π) at 0
too. silu'' is 1/2 at 0, and quick_gelu(x) = silu(1.702 x)/1.702 bends 1.702 times as much: 0.851.
tanh'' is at most 4/(3√3) = 0.770. So 1 bounds all of them; the tests measure it. Slopes: gelu and
its kin have at most 1.13, silu 1.10, tanh and ReLU 1; 1.13 is below 9/8 + 1/100.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import erf, pi, sqrt

import numpy as np

from softhat.io.errors import SofthatError
from softhat.trained.rounding import Array, Rounding


@dataclass(frozen=True, slots=True)
class Activation:
    """A function of one number that a feed-forward layer applies."""

    function: Callable[[Array], Array]
    slope: float
    bend: float | None
    steps: float
    """Roundings of its kernel beside library functions, relative to |x|."""
    functions: float
    """Library functions that its kernel calls, likewise."""

    def error(self, size: Array, rounding: Rounding) -> Array:
        """How far the computed value can be from the exact one, at inputs of at most this size."""
        relative = rounding.gamma(self.steps) + self.functions * rounding.function
        return size * relative + 8 * rounding.least


def _tanh_form(x: Array) -> Array:
    with np.errstate(over="ignore"):
        return 0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)))


_erf = np.vectorize(erf, otypes=[np.float64])


def _gelu(x: Array) -> Array:
    return 0.5 * x * (1 + _erf(x / sqrt(2)))


def _sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1 + small)


# The tanh form: the argument has relative error of one pow and six roundings; |z| sech²(z) <= 0.45,
# so tanh is off by less than half of that and by one function's error; then three roundings.
_TANH_FORM = Activation(_tanh_form, 1.13, 1.0, 10, 2)
_SILU = Activation(lambda x: x * _sigmoid(x), 1.13, 1.0, 8, 2)
ACTIVATIONS = {
    "relu": Activation(lambda x: np.maximum(x, 0.0), 1.0, None, 0, 0),
    "gelu": Activation(_gelu, 1.13, 1.0, 10, 2),
    "gelu_new": _TANH_FORM,
    "gelu_pytorch_tanh": _TANH_FORM,
    "gelu_fast": _TANH_FORM,
    "silu": _SILU,
    "swish": _SILU,
    "quick_gelu": Activation(lambda x: x * _sigmoid(1.702 * x), 1.13, 1.0, 10, 2),
    "tanh": Activation(np.tanh, 1.0, 1.0, 0, 1),
}


def activation_of(name: str) -> Activation:
    if name not in ACTIVATIONS:
        raise SofthatError(
            f"the activation {name!r} is not one that can be proved: {', '.join(ACTIVATIONS)} are"
        )
    return ACTIVATIONS[name]
