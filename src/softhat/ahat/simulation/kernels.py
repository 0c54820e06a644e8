"""How far the values of a simulation are proved when PyTorch or ONNX kernels compute them.

The exported modules take the steps of the dense runtime with another arithmetic inside the
attention of a row, which the bounds read from the kernel (`softhat.numerics.kernels`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from softhat.ahat.simulation.every_length import derived, lengths_in
from softhat.ahat.simulation.finite_floats import FiniteFloats
from softhat.ahat.simulation.lengths import Lengths
from softhat.ahat.simulation.simulation import Simulation
from softhat.numerics.formats import FORMATS, Format
from softhat.proof.document import document
from softhat.proof.kernels import ARITHMETIC, ASSUMPTIONS, Kernel
from softhat.transformer.stored import tensors_of

WIDE = ("float32", "float64")
"""The formats that are proved; half precision is not looked at."""


def simulation_kernel_certificate(
    simulation: Simulation, kernel: Kernel, stored: str | None = None
) -> dict[str, Any]:
    """What is proved about the export of a simulation.

    `stored` is the number format of a file's weights: what they have lost there is not back when
    a finer format computes with them.
    """
    certificate = simulation.certificate
    forms = [replace(FORMATS[name], kernel=ARITHMETIC[kernel]) for name in WIDE]
    if simulation.length is None:
        reached = _reached_by_laws(simulation, forms)
    else:
        reached = _reached(simulation, forms)
    for name in reached:
        if stored is not None and not _held(simulation, stored, name):
            reached[name] = 0
    half = {} if kernel == "onnx" else {"float16": 0, "bfloat16": 0}
    return document(
        "export",
        {**half, **reached},
        ASSUMPTIONS[kernel],
        target=kernel,
        kernel=kernel,
        attention=simulation.attention,
        epsilon=certificate.epsilon,
        guarantee=certificate.guarantee,
        length=simulation.length,
        dtype=simulation.dtype,
    )


def _held(simulation: Simulation, stored: str, dtype: str) -> bool:
    """Whether weights stored in one format are, in another, what rounding them to it gives."""
    if FORMATS[stored].digits >= FORMATS[dtype].digits:
        return True
    tensors = tensors_of(simulation.transformer).values()
    return all(np.array_equal(FORMATS[stored].load(array), array) for array in tensors)


def _reached_by_laws(simulation: Simulation, forms: list[Format]) -> dict[str, int]:
    """The same for a simulation at every length."""
    claim = derived(simulation.source, simulation.certificate.epsilon, simulation.dtype)
    known = simulation.certificate.max_length
    return {name: min(n, known[name]) for name, n in lengths_in(claim, forms).items()}


def _reached(simulation: Simulation, forms: list[Format]) -> dict[str, int]:
    """The length to which every shorter word is within ε too; no further than the runtime's."""
    certificate = simulation.certificate
    betas = simulation.betas
    result = {}
    for form in forms:
        top = certificate.max_length.get(form.name, 0)
        lengths = Lengths(simulation.source, top or 1)
        floats = FiniteFloats(lengths, betas)
        n = 0
        while n < top:
            reals = lengths.bound(n + 1, betas)
            bound = floats.bound(n + 1, reals, form, certificate.epsilon)
            if not bound.holds(certificate.epsilon):
                break
            n += 1
        result[form.name] = n
    return result
