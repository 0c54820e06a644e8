"""What hidden units of stock decoders do that relu does not: how far from 0 their sums must stay,
and what is left of units whose terms fail."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import exp, pi, sqrt
from typing import ClassVar

from softhat.numerics.formats import Format
from softhat.proof.stock.gates import Gate
from softhat.proof.stock.storage import SECOND, SMALL, U, need


@dataclass(frozen=True, slots=True)
class NearRelu:
    """What an activation is beside relu in float32, in a disguised checkpoint."""

    far: float
    """From here on it is relu, up to `tail`."""
    tail: float
    steep: float
    """Its slope is at most this."""
    error: float
    """Of what is computed, with the product of a second factor, relative to its size."""


class GateActivation(ABC):
    """`far` is how far from 0 the sums of a gate's units stay."""

    near: ClassVar[NearRelu | None] = None
    """None where no disguise is proved."""

    @abstractmethod
    def far(self, gate: Gate, storage: Format) -> float:
        """How far they must stay."""

    @abstractmethod
    def tail(self, gate: Gate, far: float, reach: float, storage: Format) -> float:
        """What both units of a gate whose term fails write, at most; `reach` bounds their sums."""

    @abstractmethod
    def roundings(self, sides: int, terms: int, storage: Format) -> int:
        """Of a sum of so many terms, of which so many hold: of their units and of the sum, in
        relation to what all units that hold write."""


class Relu(GateActivation):
    """Units of terms that fail are 0, and adding 0 rounds nothing: of a term that holds, two
    products and their sum round."""

    near = NearRelu(far=0.0, tail=0.0, steep=1.0, error=0.0)

    def far(self, gate: Gate, storage: Format) -> float:
        return 0.0

    def tail(self, gate: Gate, far: float, reach: float, storage: Format) -> float:
        return 0.0

    def roundings(self, sides: int, terms: int, storage: Format) -> int:
        return 2 * sides + 1


class GeluNew(GateActivation):
    """gelu_new differs from relu by less than 2^-23·|x| from |x| = 6 on. Nearer than that only in
    float32, where what that adds is counted."""

    FAR: ClassVar[float] = 6.0

    def far(self, gate: Gate, storage: Format) -> float:
        nearest = -gate.fails if gate.never else min(gate.low, -gate.fails)
        return min(self.FAR, 7 / 8 * nearest) if storage.wide else self.FAR

    def tail(self, gate: Gate, far: float, reach: float, storage: Format) -> float:
        """From -6 on tanh is -1 or the next number in float32, so that a unit is off 0 by U/2 of
        its input at most; float32 has both units' roundings beside."""
        if far >= self.FAR:
            return (U if storage.wide else U / 2) * gate.out * reach
        return gate.out * (2 * smooth_tail(far) + 2 * U * reach)

    def roundings(self, sides: int, terms: int, storage: Format) -> int:
        return 2 * terms + 4


class Silu(GateActivation):
    """silu(x) differs from relu(x) by at most |x|e^-|x|, 24·e^-24 from |x| = 24 on. What SwiGLU
    multiplies it with is 1 up to SMALL."""

    FAR: ClassVar[float] = 24.0
    TAIL: ClassVar[float] = FAR * exp(-FAR)
    near = NearRelu(far=FAR, tail=TAIL, steep=1.1, error=10 * U)
    """Its slope is largest at 2.4, 1.0998; four units in the last place are eight roundings, and
    the product is one."""

    def far(self, gate: Gate, storage: Format) -> float:
        return self.FAR

    def tail(self, gate: Gate, far: float, reach: float, storage: Format) -> float:
        return SECOND * gate.out * 2 * self.TAIL

    def roundings(self, sides: int, terms: int, storage: Format) -> int:
        """silu is four units in the last place off, each two roundings; its product with the second
        factor, that with the weight and their sum round. Where the format stores what is left of a
        unit that fails as 0, there is no more to add than of relu's."""
        if storage.wide:
            return 12 + 2 * terms
        vanish = storage.floor > self.TAIL * (1 + SMALL)
        return 2 * (sides if vanish else terms) + 1


ACTIVATIONS: dict[str, GateActivation] = {"relu": Relu(), "gelu_new": GeluNew()}
"""Those of a GPT-2, by their names in configurations."""

LEAST_TAIL = 1.0
"""Below this, nothing is said of how gelu_new and relu differ."""


def smooth_tail(far: float) -> float:
    """How far gelu_new is off relu where |x| >= far >= 1, in real numbers.

    With y = √(2/π)(|x| + 0.044715|x|³) it is |x|(1 - tanh y)/2 <= |x|e^-2y, which falls from
    |x| = 1 on: its logarithm has the slope 1/|x| - 2y' <= 1 - 2√(2/π) < 0.
    """
    need(far >= LEAST_TAIL, "gates: gelu_new is too far off relu where they clip")
    return far * exp(-2 * sqrt(2 / pi) * (far + 0.044715 * far**3)) * (1 + 2.0**-40)
