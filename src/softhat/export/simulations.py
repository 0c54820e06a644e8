"""The export of a simulation, read back: its weights must be those that follow from its AHAT.

`ahat.json` says what is simulated, and the exported laws say how sharply. The transformer that
follows from both is rounded to the number format of the exported tensors, and must be what stands
there, entry by entry. Then the simulation is certified as if it had just been made: what the
export's `certificate.json` says of ε and the length is what is tried to prove, and nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from softhat.ahat.file import loads
from softhat.ahat.simulation.every_length import SHARES, certify_laws, derived, reaches
from softhat.ahat.simulation.lower import lower
from softhat.ahat.simulation.recertify import recertified
from softhat.ahat.simulation.simulation import Simulation
from softhat.io.errors import SofthatError
from softhat.numbers.laws import Constant
from softhat.numerics.formats import FORMATS
from softhat.transformer.stored import tensors_of
from softhat.transformer.weights import Transformer

SOURCE = "ahat.json"
"""What a simulation simulates, beside its weights."""


def exported_simulation(
    exported: Transformer, source: str, stated: Mapping[str, Any], stored: str, where: str
) -> Simulation:
    """The simulation whose weights, rounded to the format `stored`, an export holds."""
    ahat = loads(source, f"{where}: {SOURCE}")
    laws = {
        (l, h): law for l, layer in enumerate(exported.layers) for h, law in enumerate(layer.laws)
    }
    _compare(exported, lower(ahat, laws), stored, where)
    missing = [name for name in ("length", "epsilon", "dtype") if name not in stated]
    if missing:
        raise SofthatError(
            f"{where}: certificate.json does not say which {missing[0]} the simulation was made "
            "for: export it again"
        )
    length, epsilon, dtype = stated["length"], stated["epsilon"], stated["dtype"]
    if epsilon is not None and (type(epsilon) not in (int, float) or not 0 < epsilon < math.inf):
        raise SofthatError(f"{where}: certificate.json has no such epsilon: {epsilon!r}")
    if length is None:
        if dtype not in SHARES:
            raise SofthatError(f"{where}: certificate.json has no such dtype: {dtype!r}")
        derivation = derived(ahat, epsilon, dtype)
        if laws != derivation.laws:
            raise SofthatError(f"{where}: its temperature laws do not follow from {SOURCE}")
        return Simulation(
            ahat,
            laws,
            None,
            partial(certify_laws, derivation),
            dtype,
            reaches=partial(reaches, derivation),
        )
    if type(length) is not int or not 0 < length <= MOST_LENGTH:
        raise SofthatError(f"{where}: certificate.json has no such length: {length!r}")
    betas = {name: float(law.value) for name, law in laws.items() if isinstance(law, Constant)}
    if len(betas) < len(laws):
        raise SofthatError(f"{where}: the temperatures depend on the length, but there is one")
    proved = partial(recertified, ahat, betas, epsilon, length)
    return Simulation(ahat, betas, length, proved, dtype, claimed=True)


MOST_LENGTH = 1 << 16
"""Simulations to a length are proved length by length."""


def _compare(exported: Transformer, expected: Transformer, stored: str, where: str) -> None:
    """The exported transformer is the expected one, with its weights rounded to `stored`."""
    for name in ("attention", "symbols", "sinks", "positions", "outputs"):
        if getattr(exported, name) != getattr(expected, name):
            raise SofthatError(f"{where}: its {name} are not those that follow from {SOURCE}")
    if [layer.masks for layer in exported.layers] != [layer.masks for layer in expected.layers]:
        raise SofthatError(f"{where}: its masks are not those that follow from {SOURCE}")
    wanted, have = tensors_of(expected), tensors_of(exported)
    form = FORMATS[stored]
    for name in sorted(wanted.keys() | have.keys()):
        rounded = form.load(wanted[name]).astype(np.float64) if name in wanted else None
        if rounded is None or name not in have or not np.array_equal(have[name], rounded):
            raise SofthatError(f"{where}: the tensor {name} does not follow from {SOURCE}")
