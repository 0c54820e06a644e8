"""The frequencies of rotary attention, recomputed as the class computes them.

The class takes 1/θ^(2p/head_dim) in float32, and divides it by the factor of linear scaling. Here
the float32 numbers θ and factor are taken, and the rest in float64; what the class computes is
within `stock.rotary.ERROR` of it, whatever its power function does in the last places.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.llama.checkpoint import LlamaCheckpoint


def frequencies(c: LlamaCheckpoint) -> NDArray[np.float64]:
    """ω of each rotary pair."""
    with np.errstate(over="ignore"):
        theta, factor = float(np.float32(c.theta)), float(np.float32(c.factor))
    if not 1 <= theta < np.inf or not 0 < factor < np.inf:
        raise VoidError(f"rope_theta {c.theta:g} or its factor {c.factor:g} is beyond float32")
    exponents = np.arange(0, c.head_dim, 2) / c.head_dim
    return np.asarray(theta**-exponents / factor, np.float64)
