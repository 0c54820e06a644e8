"""A simulation as a model folder: config.json, model.safetensors, ahat.json, certificate.json.

Weights are float64. A constant β is folded into the queries, so that the tensors alone are the
softmax model; laws β(n) stand in config.json, as data.
The same simulation gives byte-identical files. Nothing but JSON and safetensors is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.ahat.exact import floats
from softhat.ahat.file import dumps
from softhat.ahat.file import load as load_ahat
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.certificate import from_json
from softhat.ahat.simulation.every_length import SHARES, certify_laws, derived
from softhat.ahat.simulation.recertify import recertified
from softhat.ahat.simulation.simulation import Simulation
from softhat.errors import SofthatError
from softhat.files import json_bytes, read_json, read_tensors, write_folder
from softhat.laws import ONE
from softhat.laws import from_json as law_from_json

VERSION = 1
HeadId = tuple[int, int]


def tensors(model: AHAT, betas: Mapping[HeadId, float]) -> dict[str, npt.NDArray[np.float64]]:
    """The softmax model's weights by name, β folded into the queries."""
    d = model.d_model
    result: dict[str, npt.NDArray[np.float64]] = {
        "embedding": floats(model.embedding),
        "position_embedding": floats(model.position_embedding),
        "output.weights": floats((model.output_weights,))[0],
        "output.bias": floats(((model.output_bias,),))[0],
    }
    if model.bos_embedding is not None:
        result["bos_embedding"] = floats((model.bos_embedding,))[0]
    for l, layer in enumerate(model.layers):
        for h, head in enumerate(layer.heads):
            place = f"layers.{l}.heads.{h}"
            result[f"{place}.query"] = floats(head.query, d) * betas.get((l, h), 1.0)
            result[f"{place}.key"] = floats(head.key, d)
            result[f"{place}.value"] = floats(head.value, d)
            result[f"{place}.output"] = floats(head.output)
        ff = layer.feed_forward
        if ff is not None:
            place = f"layers.{l}.feed_forward"
            result[f"{place}.in"] = floats(ff.in_weights, d)
            result[f"{place}.in_bias"] = floats((ff.in_bias,))[0]
            result[f"{place}.out"] = floats(ff.out_weights)
            result[f"{place}.out_bias"] = floats((ff.out_bias,))[0]
    return result


def save(simulation: Simulation, folder: Path) -> None:
    """Write the folder, as a whole or not at all."""
    from safetensors.numpy import save as to_bytes

    model = simulation.source
    config = {
        "format": "softhat-model",
        "kind": "simulation",
        "version": VERSION,
        "attention": "temperature",
        "alphabet": list(model.alphabet),
        "bos": model.bos,
        **_temperatures(simulation),
        "architecture": {
            "layers": len(model.layers),
            "heads": [len(layer.heads) for layer in model.layers],
            "d_model": model.d_model,
            "d_ff": [
                0 if layer.feed_forward is None else len(layer.feed_forward.in_weights)
                for layer in model.layers
            ],
            "masks": [[head.mask for head in layer.heads] for layer in model.layers],
        },
        "labels": {
            "coordinates": list(model.names),
            "heads": [[head.name for head in layer.heads] for layer in model.layers],
        },
    }
    folded = {} if simulation.length is None else simulation.betas
    weights = {k: np.ascontiguousarray(t) for k, t in tensors(model, folded).items()}
    contents = {
        "ahat.json": dumps(model).encode(),
        "model.safetensors": to_bytes(weights),
        "certificate.json": json_bytes(simulation.certificate.to_json()),
        "config.json": json_bytes(config),
    }
    write_folder(folder, contents)


def _temperatures(simulation: Simulation) -> dict[str, Any]:
    """β as numbers, or as laws of n: then the tensors are not multiplied by it."""
    if simulation.length is not None:
        found = sorted(simulation.betas.items())
        return {"betas": [{"layer": l, "head": h, "beta": beta} for (l, h), beta in found]}
    return {
        "epsilon": simulation.certificate.epsilon,
        "dtype": simulation.dtype,
        "laws": [
            {"layer": l, "head": h, "law": None if law is None else law.to_json()}
            for (l, h), law in sorted(simulation.laws.items())
        ],
    }


def load(path: str | Path) -> Simulation:
    """Read a simulation's folder, checking that weights, β and source belong together."""
    folder = Path(path)
    config = _read_json(folder, "config.json")
    if config.get("kind") != "simulation":
        raise SofthatError(f"{str(path)!r} holds no simulation but {config.get('kind')!r}")
    if config.get("version") != VERSION:
        raise SofthatError(
            f"{str(path)!r} has format version {config.get('version')!r}; "
            f"this softhat reads version {VERSION}"
        )
    model = load_ahat(folder / "ahat.json")
    if "laws" in config:
        return _load_laws(folder, config, model)
    try:
        betas = {(int(b["layer"]), int(b["head"])): float(b["beta"]) for b in config["betas"]}
        stored = read_tensors(folder / "model.safetensors", inside=folder)
        certificate = from_json(_read_json(folder, "certificate.json"))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise SofthatError(f"the model folder {str(path)!r} is damaged: {error!r}") from None
    if set(betas) != set(model.heads):
        raise SofthatError(f"{str(path)!r}: config.json has β for other heads than ahat.json")
    if not all(0 < beta < math.inf for beta in betas.values()):
        raise SofthatError(f"{str(path)!r}: config.json has a β that is not a positive number")
    if certificate.length != len(certificate.lengths):
        raise SofthatError(f"the model folder {str(path)!r} is damaged: certificate.json lacks n")
    _compare(folder, stored, tensors(model, betas))
    proved = partial(recertified, model, betas, certificate)
    return Simulation(model, betas, certificate.length, proved, claimed=True)


def _load_laws(folder: Path, config: Mapping[str, Any], model: AHAT) -> Simulation:
    """A simulation for every length: its laws are derived again from its AHAT, and believed if
    they are the ones in the folder. What certificate.json says is not read."""
    try:
        epsilon, dtype = config["epsilon"], config["dtype"]
        laws = {
            (int(b["layer"]), int(b["head"])): None if b["law"] is None else law_from_json(b["law"])
            for b in config["laws"]
        }
        stored = read_tensors(folder / "model.safetensors", inside=folder)
        wrong = epsilon is not None and not 0 < epsilon < math.inf
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise SofthatError(f"the model folder {str(folder)!r} is damaged: {error!r}") from None
    if wrong or dtype not in SHARES:
        raise SofthatError(f"{str(folder)!r}: config.json has no such epsilon or dtype")
    _compare(folder, stored, tensors(model, {}))
    made = derived(model, epsilon, dtype)
    if made.laws != laws:
        raise SofthatError(
            f"{str(folder)!r}: its temperature laws are not those that follow from ahat.json; "
            "make it again with simulate"
        )
    used = {name: ONE if law is None else law for name, law in made.laws.items()}
    return Simulation(model, used, None, partial(certify_laws, made), dtype)


def _compare(
    folder: Path,
    stored: Mapping[str, npt.NDArray[np.float64]],
    expected: Mapping[str, npt.NDArray[np.float64]],
) -> None:
    """The tensors are those of ahat.json and config.json."""
    for name in sorted(expected.keys() | stored.keys()):
        if name not in stored or name not in expected:
            where = "missing from" if name in expected else "not expected in"
            raise SofthatError(f"{str(folder)!r}: tensor {name} is {where} model.safetensors")
        if not np.array_equal(stored[name], expected[name]):
            raise SofthatError(
                f"{str(folder)!r}: tensor {name} does not match ahat.json and the β of config.json"
            )


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    data = read_json(folder / name, inside=folder)
    if not isinstance(data, dict):
        raise SofthatError(f"{str(folder / name)!r} must hold a JSON object")
    return data
