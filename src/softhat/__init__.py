"""softhat compiles hard attention into softmax transformers that provably compute the same.

The public names, nothing else. They are loaded when first used, so that `import softhat` is
fast and never imports torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from softhat.ahat.analysis.analyze import Analysis as Analysis
    from softhat.ahat.analysis.analyze import analyze as analyze
    from softhat.ahat.from_model import to_ahat as to_ahat
    from softhat.ahat.model import AHAT as AHAT
    from softhat.ahat.simulation.certificate import SimulationCertificate as SimulationCertificate
    from softhat.ahat.simulation.simulate import simulate as simulate
    from softhat.ahat.simulation.simulation import Simulation as Simulation
    from softhat.ahat.simulation.verify import SimulationVerification as SimulationVerification
    from softhat.circuits import corpus as corpus
    from softhat.circuits import lens as lens
    from softhat.circuits.circuit import circuit as circuit
    from softhat.circuits.circuit import score as score
    from softhat.circuits.graph import Circuit as Circuit
    from softhat.circuits.score import Score as Score
    from softhat.explore.notebook import Page as Page
    from softhat.explore.notebook import show as show
    from softhat.export.checking import ExportCertificate as ExportCertificate
    from softhat.export.checking import certify as certify
    from softhat.export.checking import verify as verify
    from softhat.export.gguf import to_gguf as to_gguf
    from softhat.export.gpt2.to_gpt2 import to_gpt2 as to_gpt2
    from softhat.export.huggingface.to_huggingface import to_huggingface as to_huggingface
    from softhat.export.llama.to_llama import to_llama as to_llama
    from softhat.export.onnx.to_onnx import to_onnx as to_onnx
    from softhat.export.source import source as source
    from softhat.export.torch import to_torch as to_torch
    from softhat.frontends import rasp as rasp
    from softhat.frontends.machines.machine import Machine as Machine
    from softhat.frontends.machines.machine import Run as Run
    from softhat.frontends.machines.reading import machine as machine
    from softhat.frontends.programs.translate import from_program as from_program
    from softhat.frontends.regular.doubling import LogDepth as LogDepth
    from softhat.frontends.regular.translate import from_dfa as from_dfa
    from softhat.frontends.regular.translate import from_regex as from_regex
    from softhat.io.errors import CertificateError as CertificateError
    from softhat.io.errors import CertificateWarning as CertificateWarning
    from softhat.io.errors import FormulaError as FormulaError
    from softhat.io.errors import MissingExtraError as MissingExtraError
    from softhat.io.errors import NotStarFreeError as NotStarFreeError
    from softhat.io.errors import RaspError as RaspError
    from softhat.io.errors import SofthatError as SofthatError
    from softhat.logic.decide.questions import equivalent as equivalent
    from softhat.logic.decide.questions import implies as implies
    from softhat.logic.decide.questions import satisfiable as satisfiable
    from softhat.logic.sources import Source as Source
    from softhat.logic.syntax.nodes import Formula as Formula
    from softhat.logic.syntax.nodes import Term as Term
    from softhat.logic.syntax.nodes import count as count
    from softhat.logic.syntax.nodes import count_all as count_all
    from softhat.logic.syntax.nodes import count_future as count_future
    from softhat.logic.syntax.nodes import length as length
    from softhat.logic.syntax.nodes import position as position
    from softhat.logic.syntax.nodes import predicate as predicate
    from softhat.logic.syntax.nodes import symbol as symbol
    from softhat.logic.syntax.parse import parse as parse
    from softhat.models import zoo as zoo
    from softhat.models.compiler import compile as compile
    from softhat.models.folders import load as load
    from softhat.models.loop_model import LoopModel as LoopModel
    from softhat.models.machine_model import MachineModel as MachineModel
    from softhat.models.model import Model as Model
    from softhat.models.statement import Statement as Statement
    from softhat.models.statement import state as state
    from softhat.models.value_model import ValueModel as ValueModel
    from softhat.models.verification.report import Verification as Verification
    from softhat.models.verification.values import ValueVerification as ValueVerification
    from softhat.numbers.laws import Law as Law
    from softhat.program.signals import Program as Program
    from softhat.proof.certificate import Certificate as Certificate
    from softhat.runtime.stream import Stream as Stream
    from softhat.runtime.trace import Trace as Trace
    from softhat.trained.decompile import decompile as decompile
    from softhat.trained.languages import spec as spec
    from softhat.trained.prove import prove as prove
    from softhat.trained.radius import Radius as Radius
    from softhat.trained.radius import radius as radius
    from softhat.trained.specification import Specification as Specification
    from softhat.trained.verdict import Verdict as Verdict
    from softhat.transformer.weights import Size as Size
    from softhat.transformer.weights import Transformer as Transformer

_HOME = {
    "AHAT": "softhat.ahat.model",
    "Analysis": "softhat.ahat.analysis.analyze",
    "Simulation": "softhat.ahat.simulation.simulation",
    "Certificate": "softhat.proof.certificate",
    "ExportCertificate": "softhat.export.checking",
    "Circuit": "softhat.circuits.graph",
    "Score": "softhat.circuits.score",
    "Trace": "softhat.runtime.trace",
    "ValueModel": "softhat.models.value_model",
    "Verification": "softhat.models.verification.report",
    "SimulationCertificate": "softhat.ahat.simulation.certificate",
    "SimulationVerification": "softhat.ahat.simulation.verify",
    "ValueVerification": "softhat.models.verification.values",
    "LoopModel": "softhat.models.loop_model",
    "MachineModel": "softhat.models.machine_model",
    "LogDepth": "softhat.frontends.regular.doubling",
    "Specification": "softhat.trained.specification",
    "Source": "softhat.logic.sources",
    "Stream": "softhat.runtime.stream",
    "Size": "softhat.transformer.weights",
    "Program": "softhat.program.signals",
    "Transformer": "softhat.transformer.weights",
    "Page": "softhat.explore.notebook",
    "Law": "softhat.numbers.laws",
    "Statement": "softhat.models.statement",
    "state": "softhat.models.statement",
    "Verdict": "softhat.trained.verdict",
    "decompile": "softhat.trained.decompile",
    "prove": "softhat.trained.prove",
    "Radius": "softhat.trained.radius",
    "radius": "softhat.trained.radius",
    "spec": "softhat.trained.languages",
    "show": "softhat.explore.notebook",
    "circuit": "softhat.circuits.circuit",
    "score": "softhat.circuits.circuit",
    "source": "softhat.export.source",
    "analyze": "softhat.ahat.analysis.analyze",
    "simulate": "softhat.ahat.simulation.simulate",
    "CertificateError": "softhat.io.errors",
    "CertificateWarning": "softhat.io.errors",
    "FormulaError": "softhat.io.errors",
    "MissingExtraError": "softhat.io.errors",
    "NotStarFreeError": "softhat.io.errors",
    "RaspError": "softhat.io.errors",
    "SofthatError": "softhat.io.errors",
    "Model": "softhat.models.model",
    "Machine": "softhat.frontends.machines.machine",
    "Run": "softhat.frontends.machines.machine",
    "machine": "softhat.frontends.machines.reading",
    "compile": "softhat.models.compiler",
    "load": "softhat.models.folders",
    "Formula": "softhat.logic.syntax.nodes",
    "Term": "softhat.logic.syntax.nodes",
    "count": "softhat.logic.syntax.nodes",
    "count_all": "softhat.logic.syntax.nodes",
    "count_future": "softhat.logic.syntax.nodes",
    "from_dfa": "softhat.frontends.regular.translate",
    "from_program": "softhat.frontends.programs.translate",
    "from_regex": "softhat.frontends.regular.translate",
    "equivalent": "softhat.logic.decide.questions",
    "implies": "softhat.logic.decide.questions",
    "satisfiable": "softhat.logic.decide.questions",
    "length": "softhat.logic.syntax.nodes",
    "parse": "softhat.logic.syntax.parse",
    "position": "softhat.logic.syntax.nodes",
    "predicate": "softhat.logic.syntax.nodes",
    "symbol": "softhat.logic.syntax.nodes",
    "to_ahat": "softhat.ahat.from_model",
    "to_gguf": "softhat.export.gguf",
    "to_gpt2": "softhat.export.gpt2.to_gpt2",
    "to_llama": "softhat.export.llama.to_llama",
    "to_huggingface": "softhat.export.huggingface.to_huggingface",
    "to_onnx": "softhat.export.onnx.to_onnx",
    "to_torch": "softhat.export.torch",
    "certify": "softhat.export.checking",
    "verify": "softhat.export.checking",
}
_SUBPACKAGES = {
    "ahat": "softhat.ahat",
    "corpus": "softhat.circuits.corpus",
    "lens": "softhat.circuits.lens",
    "rasp": "softhat.frontends.rasp",
    "zoo": "softhat.models.zoo",
}

__all__ = [*_HOME, *_SUBPACKAGES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if name in _SUBPACKAGES:
        return importlib.import_module(_SUBPACKAGES[name])
    raise AttributeError(f"module 'softhat' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
