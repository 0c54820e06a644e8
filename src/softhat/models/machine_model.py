"""A machine as a model: one output a token, "this one comes next"."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from softhat.frontends.machines.machine import Machine
from softhat.models.model import Model
from softhat.transformer.lowering.lower import lower
from softhat.transformer.weights import Attention, Transformer

if TYPE_CHECKING:
    from softhat.io.errors import SofthatError
    from softhat.runtime.dense import Ready
    from softhat.runtime.linear.runtime import LinearModel


class MachineModel(Model):
    """The weights of softhat's own architecture are made when they are asked for: stock decoders
    do not need them, and a recall has no head there (`softhat.program.recalls`)."""

    def __init__(self, machine: Machine, attention: Attention) -> None:
        self.machine = machine
        self.at = None
        self.formulas = machine.formulas
        self._target = attention
        self._program = machine.program
        self._ready: dict[str, Ready] = {}
        self._linear: dict[str, LinearModel | SofthatError] = {}
        self._linear_limits: dict[str, int] = {}

    @cached_property
    def transformer(self) -> Transformer:  # type: ignore[override]
        return lower(self.program, self._target)

    def __repr__(self) -> str:
        kind = type(self.machine).__name__
        return f"<softhat.Model of a {kind}, {len(self.formulas)} tokens>"
