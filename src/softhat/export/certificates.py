"""What is proved about an export: by the kernel that runs it, not by softhat's own runtime."""

from __future__ import annotations

from typing import Any

from softhat.ahat.simulation.kernels import simulation_kernel_certificate
from softhat.ahat.simulation.simulation import Simulation
from softhat.errors import SofthatError
from softhat.model import Model
from softhat.proof.kernels import Kernel, kernel_certificate
from softhat.runtime.answers import Answers


def export_certificate(
    model: Answers, kernel: Kernel, longest: int | None = None
) -> dict[str, Any]:
    """The JSON of an export's `certificate.json`; `longest`: words that the export takes."""
    match model:
        case Model():
            return kernel_certificate(model, kernel, longest)
        case Simulation():
            return simulation_kernel_certificate(model, kernel)
    raise SofthatError(f"nothing is known to prove about {type(model)}")
