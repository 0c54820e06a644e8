"""A simulation's folder, read: weights, laws and source must belong together.

`config.json` and `model.safetensors` are the transformer, laws of temperature included;
`ahat.json` is what it simulates. A folder of version 1 has β folded into the queries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.ahat.file import load as load_ahat
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.certificate import from_json
from softhat.ahat.simulation.every_length import SHARES, EveryLength, certify_laws, derived, reaches
from softhat.ahat.simulation.lower import lower
from softhat.ahat.simulation.recertify import recertified
from softhat.ahat.simulation.simulation import HeadId, Simulation
from softhat.ahat.simulation.version_1 import folded, read_betas
from softhat.io.errors import SofthatError, VoidError
from softhat.io.files import read_json, read_tensors
from softhat.numbers.laws import Constant, Law
from softhat.transformer.stored import config_of, damaged, tensors_of, transformer_in

Tensors = Mapping[str, NDArray[np.float64]]


def load_simulation(folder: Path, config: Mapping[str, Any]) -> Simulation:
    """The simulation in a folder with this `config.json`."""
    source = load_ahat(folder / "ahat.json")
    with damaged(folder):
        stored = read_tensors(folder / "model.safetensors", inside=folder)
        if config["version"] == 1:
            return _version_1(folder, config, source, stored)
        laws = _laws(folder, config, source, stored)
        if config["length"] is None:
            return _every_length(folder, config, source, laws)
        return _to_a_length(folder, config, source, laws)


def _to_a_length(
    folder: Path, config: Mapping[str, Any], source: AHAT, laws: Mapping[HeadId, Law]
) -> Simulation:
    """A simulation with constant β: what certificate.json claims is proved anew when asked for."""
    betas = {name: float(law.value) for name, law in laws.items() if isinstance(law, Constant)}
    if len(betas) < len(laws):
        raise SofthatError("config.json has laws of β, but a length")
    return _claimed(folder, source, betas, config["length"], _dtype(config))


def _claimed(
    folder: Path, source: AHAT, betas: Mapping[HeadId, float], length: int | None, dtype: Any
) -> Simulation:
    document = _object(folder, "certificate.json")
    claim, epsilon = from_json(document), _epsilon(document)
    if type(length) is not int or length != claim.length or length != len(claim.lengths):
        raise SofthatError("config.json and certificate.json differ in length")
    proved = partial(recertified, source, betas, epsilon, length, claim.evidence)
    return Simulation(source, betas, length, proved, dtype, claimed=True)


def _laws(
    folder: Path, config: Mapping[str, Any], source: AHAT, stored: Tensors
) -> dict[HeadId, Law]:
    """The laws in a configuration, if everything else is what follows from the source."""
    transformer = transformer_in(config, stored)
    laws = {
        (l, h): law
        for l, layer in enumerate(transformer.layers)
        for h, law in enumerate(layer.laws)
    }
    expected = lower(source, laws)
    if config_of(transformer, "simulation") != config_of(expected, "simulation"):
        raise SofthatError(f"{folder}/config.json does not match ahat.json")
    _compare(tensors_of(transformer), tensors_of(expected))
    return laws


def _every_length(
    folder: Path, config: Mapping[str, Any], source: AHAT, laws: Mapping[HeadId, Law]
) -> Simulation:
    """A simulation for every length: its laws are believed if the evidence in certificate.json
    proves what they do. Nothing else of that file is read; where there is no evidence, as in older
    folders, the laws must be those that follow from the AHAT."""
    epsilon, dtype = _epsilon(config), _dtype(config)
    evidence = _object(folder, "certificate.json").get("evidence")
    if evidence is None:
        claim = derived(source, epsilon, dtype)
        if claim.laws != laws:
            raise SofthatError(
                f"{str(folder)!r}: its temperature laws are not those that follow from ahat.json; "
                "make it again with simulate"
            )
    else:
        claim = EveryLength(source, laws, evidence, epsilon, dtype)
    try:
        _ = claim.verdict
    except VoidError as error:
        raise SofthatError(f"{error}; make it again with simulate") from None
    return Simulation(
        source, laws, None, partial(certify_laws, claim), dtype, reaches=partial(reaches, claim)
    )


def _epsilon(document: Mapping[str, Any]) -> float | None:
    """How far values may be off; None where only decisions are claimed."""
    match document["epsilon"]:
        case None:
            return None
        case float(epsilon) if 0 < epsilon < math.inf:
            return epsilon
        case int(epsilon) if epsilon > 0 and not isinstance(epsilon, bool):
            return float(epsilon)
    raise SofthatError(f"expected an epsilon above 0, not {str(document['epsilon'])[:40]!r}")


def _dtype(config: Mapping[str, Any]) -> str | None:
    dtype = config["dtype"]
    if not isinstance(dtype, str | None) or dtype not in SHARES:
        raise SofthatError(f"config.json: no number format {str(dtype)[:40]!r}")
    return dtype


def _version_1(
    folder: Path, config: Mapping[str, Any], source: AHAT, stored: Tensors
) -> Simulation:
    betas = read_betas(config)
    if set(betas) != set(source.heads):
        raise SofthatError("config.json has β for other heads than ahat.json")
    if not all(0 < beta < math.inf for beta in betas.values()):
        raise SofthatError("config.json has a β that is not a positive number")
    _compare(stored, folded(source, betas))
    length = _object(folder, "certificate.json")["length"]
    return _claimed(folder, source, betas, length, None)


def _compare(stored: Tensors, expected: Tensors) -> None:
    """The tensors are those of ahat.json and config.json."""
    for name in sorted(expected.keys() | stored.keys()):
        if name not in stored or name not in expected:
            where = "missing from" if name in expected else "not expected in"
            raise SofthatError(f"tensor {name} is {where} model.safetensors")
        if not np.array_equal(stored[name], expected[name]):
            raise SofthatError(f"tensor {name} does not match ahat.json and config.json")


def _object(folder: Path, name: str) -> dict[str, Any]:
    data = read_json(folder / name, inside=folder)
    if not isinstance(data, dict):
        raise SofthatError(f"{name} must hold a JSON object")
    return data
