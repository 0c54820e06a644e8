"""What is proved about an export: by the kernel that runs it, not by softhat's own runtime."""

from __future__ import annotations

import hashlib
from typing import Any

from softhat.ahat.simulation.kernels import simulation_kernel_certificate
from softhat.ahat.simulation.simulation import Simulation
from softhat.frontends.machines.machine import Machine
from softhat.io.errors import SofthatError
from softhat.io.garbage_collection import rarely_collected
from softhat.models.model import Model
from softhat.models.value_model import ValueModel
from softhat.program.signals import Program
from softhat.proof.kernels import Kernel, kernel_certificate
from softhat.runtime.answers import Answers
from softhat.transformer.weights import Transformer


def export_certificate(
    model: Answers, kernel: Kernel, longest: int | None = None, stored: str | None = None
) -> dict[str, Any]:
    """The JSON of an export's `certificate.json`; `longest`: words that the export takes;
    `stored`: the number format of its weights in the file."""
    match model:
        case Model():
            with rarely_collected():
                return kernel_certificate(model, kernel, longest)
        case ValueModel():
            return model.kernel_certificate(kernel, longest)
        case Simulation():
            return simulation_kernel_certificate(model, kernel, stored)
    raise SofthatError(f"nothing is known to prove about {type(model)}")


def export_facts(t: Transformer | Program, weights: bytes) -> dict[str, Any]:
    """What a certificate of an export is about: the alphabet, and these very weights."""
    return {
        "alphabet": list(t.symbols),
        "propositional": t.propositional,
        "digest": digest_of(weights),
    }


def with_machine(document: dict[str, Any], machine: Machine | None) -> dict[str, Any]:
    """A certificate of runs, with what the machine adds: its kind, and what bounds its memory."""
    if machine is None or "run" not in document:
        return document
    facts = {
        "machine": machine.kind,
        "step": "the allowed token is the machine's next step (machine-checked: "
        f"{machine.step_theorem})",
        "space": machine.space or "nothing bounds its memory but the length",
    }
    return {**document, "run": {**facts, **document["run"]}}


def digest_of(weights: bytes) -> str:
    """How certificates name the weights that they are about."""
    return f"sha256:{hashlib.sha256(weights).hexdigest()}"
