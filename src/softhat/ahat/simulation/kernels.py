"""How far the values of a simulation are proved when PyTorch or ONNX kernels compute them.

The exported modules take the steps of the dense runtime with a coarser arithmetic inside the
attention of a row (see `softhat.proof.kernels`): arithmetic with two digits less, to the bounds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from softhat.ahat.bounds.rounding import FLOAT32, FLOAT64
from softhat.ahat.simulation.every_length import derived, lengths_in
from softhat.ahat.simulation.lengths import Lengths
from softhat.ahat.simulation.simulation import Simulation
from softhat.formats import FORMATS
from softhat.proof.kernels import ASSUMPTIONS, FORMAT, Kernel
from softhat.transformer.weights import inverse_temperature

DIGITS = 2
"""An operation is off by up to 4 roundings, exp by 32: arithmetic with two digits less."""


def simulation_kernel_certificate(simulation: Simulation, kernel: Kernel) -> dict[str, Any]:
    """What is proved about the export of a simulation."""
    certificate = simulation.certificate
    if simulation.length is None:
        reached = _reached_by_laws(simulation)
    else:
        reached = {kind.name: _reached(simulation, kind.name) for kind in (FLOAT32, FLOAT64)}
    half = {} if kernel == "onnx" else {"float16": 0, "bfloat16": 0}
    return {
        "format": FORMAT,
        "kind": "export",
        "kernel": kernel,
        "attention": simulation.attention,
        "epsilon": certificate.epsilon,
        "guarantee": certificate.guarantee,
        "max_length": {**half, **reached},
        "assumptions": list(ASSUMPTIONS[kernel]),
        "void": [],
    }


def _reached_by_laws(simulation: Simulation) -> dict[str, int]:
    """The same for a simulation at every length."""
    made = derived(simulation.source, simulation.certificate.epsilon, simulation.dtype)
    coarse = [
        replace(
            FORMATS[name],
            digits=FORMATS[name].digits - DIGITS,
            sum_digits=FORMATS[name].sum_digits - DIGITS,
        )
        for name in ("float32", "float64")
    ]
    known = simulation.certificate.max_length
    return {name: min(n, known[name]) for name, n in lengths_in(made, coarse).items()}


def _reached(simulation: Simulation, dtype: str) -> int:
    """The length to which every shorter word is within ε too; no further than the runtime's."""
    certificate = simulation.certificate
    kind = {"float32": FLOAT32, "float64": FLOAT64}[dtype]
    kind = replace(kind, bits=kind.bits - DIGITS)
    top = certificate.max_length.get(dtype, 0)
    lengths = Lengths(simulation.source, top or 1)
    for n in range(1, top + 1):
        betas = {name: inverse_temperature(law, n) for name, law in simulation.every_law.items()}
        bound = lengths.bound(n, betas, kind, certificate.epsilon is None)
        good = (
            bound.decisions if certificate.epsilon is None else bound.error <= certificate.epsilon
        )
        if not good:
            return n - 1
    return top
