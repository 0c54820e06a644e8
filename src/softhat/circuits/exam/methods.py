"""The methods that sit the exam: their names, whose code they are, and what runs them.

A method gives every edge a score, or predicts directions of the residual stream. `true`, `random`,
`everything` and `reversed` are there to mark the marks: the truth must get 1, and the other three
must be found out. So are `true-directions` and `random-directions`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from softhat.circuits.exam.packages import (
    AUTO_CIRCUIT,
    EAP,
    SAE_LENS,
    SAMPLED_MASKS,
    Package,
    installed,
    version_of,
)
from softhat.circuits.exam.subject import Subject
from softhat.circuits.graph import possible_edges
from softhat.io.errors import SofthatError

Scores = dict[str, float]
Runner = Callable[[Subject, Path | None], Any]
"""Gives Scores, or Features if the method predicts directions."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method, and whose code it is: a package of others, a tool that is installed, or ours."""

    name: str
    title: str
    run: Runner
    package: Package | None = None
    tool: str | None = None
    predicts: Literal["edges", "directions"] = "edges"
    slow: bool = False
    """It tries every edge, so its time grows with the square of the model."""

    @property
    def own_code(self) -> bool:
        """Does the code of its authors run, or of the tool that offers it?"""
        return self.package is not None or self.tool is not None

    def version(self, repositories: Path | None) -> str:
        """What exactly ran."""
        from softhat import __version__

        if self.package is not None:
            return version_of(self.package, repositories)
        if self.tool is not None:
            return f"{self.tool} {installed(self.tool)}"
        return f"softhat {__version__}"


def _from(module: str, name: str, *options: str) -> Runner:
    """A function of a module that needs PyTorch: imported when it runs."""

    def run(subject: Subject, repository: Path | None) -> Any:
        runner = getattr(import_module(f"softhat.circuits.exam.{module}"), name)
        return runner(subject, repository, *options)

    return run


def _eap(kind: str) -> Runner:
    return _from("eap", "attribute", kind)


def _directions(name: str, title: str, package: Package | None = None) -> Method:
    runner = _from("directions", name.replace("-", "_"))
    return Method(name, title, runner, package, predicts="directions")


def _truth(subject: Subject, repository: Path | None) -> Scores:
    true = {edge.name for edge in subject.circuit.edges if edge.carries == "input"}
    return {name: float(name in true) for name in possible_edges(subject.circuit.config)}


def _random(subject: Subject, repository: Path | None) -> Scores:
    names = possible_edges(subject.circuit.config)
    rng = np.random.default_rng([subject.seed, *subject.id.encode()])
    return dict(zip(names, rng.random(len(names)).tolist(), strict=True))


METHODS = {
    method.name: method
    for method in (
        Method("true", "the true circuit", _truth),
        Method("eap", "EAP", _eap("EAP"), EAP),
        Method("eap-ig", "EAP-IG (inputs)", _eap("EAP-IG-inputs"), EAP),
        Method("eap-ig-activations", "EAP-IG (activations)", _eap("EAP-IG-activations"), EAP),
        Method("clean-corrupted", "clean-corrupted", _eap("clean-corrupted"), EAP),
        Method("ifr", "information flow routes", _eap("information-flow-routes"), EAP),
        Method("exact", "exact edge patching", _eap("exact"), EAP, slow=True),
        Method("acdc", "ACDC", _from("auto_circuit", "acdc"), AUTO_CIRCUIT, slow=True),
        Method(
            "subnetwork-probing",
            "subnetwork probing",
            _from("auto_circuit", "subnetwork_probing"),
            AUTO_CIRCUIT,
        ),
        Method(
            "ugs",
            "uniform gradient sampling",
            _from("sampled_masks", "uniform_gradient_sampling"),
            SAMPLED_MASKS,
        ),
        Method(
            "activation-patching",
            "activation patching (TransformerLens)",
            _from("patching", "activation_patching"),
            tool="transformer-lens",
        ),
        Method(
            "nnsight",
            "attribution patching (nnsight)",
            _from("patching", "nnsight_attribution"),
            tool="nnsight",
        ),
        Method("atp", "AtP on edges", _from("star", "atp")),
        Method("atp-star", "AtP* on edges", _from("star", "atp_star")),
        Method("path-patching", "path patching", _from("patching", "edge_patching")),
        Method("probe", "linear probe of the answer", _from("features", "probing")),
        Method("random", "random scores", _random),
        _directions("true-directions", "the true directions"),
        _directions("sparse-autoencoder", "sparse autoencoder (sae_lens)", SAE_LENS),
        _directions("linear-probe", "linear probe of each bit"),
        _directions("difference-of-means", "difference of means of each bit"),
        _directions("random-directions", "random directions"),
    )
}
SABOTAGES = ("random", "everything", "reversed")


def find(name: str) -> Method:
    """The method of this name."""
    if name not in METHODS:
        raise SofthatError(f"there is no method {name!r}: choose {', '.join(METHODS)}")
    return METHODS[name]


def sabotaged(scores: Scores, how: str, seed: int) -> Scores:
    """What a broken method would say: anything, everything, or the opposite."""
    match how:
        case "random":
            rng = np.random.default_rng([seed, len(scores)])
            return dict(zip(scores, rng.random(len(scores)).tolist(), strict=True))
        case "everything":
            return dict.fromkeys(scores, 1.0)
        case "reversed":
            return {name: -value for name, value in scores.items()}
    raise SofthatError(f"there is no sabotage {how!r}: choose {', '.join(SABOTAGES)}")
