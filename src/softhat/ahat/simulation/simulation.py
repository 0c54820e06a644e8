"""A softmax transformer that simulates hard attention: its source, its laws, its certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softhat.ahat.file import dumps
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.certificate import SimulationCertificate
from softhat.ahat.simulation.float64_range import in_range
from softhat.ahat.simulation.interrupted import Interrupted
from softhat.ahat.simulation.lower import VALUE, lower
from softhat.io.errors import SofthatError
from softhat.logic.semantics.words import Word
from softhat.numbers.laws import ONE, Constant, Law
from softhat.numerics.formats import format_of
from softhat.runtime.answers import Answers, End, Runtime
from softhat.transformer.stored import config_of

HeadId = tuple[int, int]
DENSE_TO = 4096
"""The longest word of a simulation that the runtime `auto` runs densely."""


class Simulation(Answers):
    """A softmax transformer that simulates `source`. Its one output is its value."""

    DTYPE = "float64"

    def __init__(
        self,
        source: AHAT,
        laws: Mapping[HeadId, Law | float],
        length: int | None,
        certificate: SimulationCertificate | Callable[[], SimulationCertificate] | None = None,
        dtype: str | None = None,
        claimed: bool = False,
        reaches: Callable[[str, int], bool] | None = None,
    ) -> None:
        """`length` is the one to which it was made (None: every length), `dtype` the arithmetic
        that ε leaves room for; a certificate may be computed later. `claimed`: the length is what
        a file says, and nothing is certified before the certificate is computed. `reaches` says
        whether a length is certified in a format, in less time than the certificate takes."""
        self.every_law = {
            name: law if isinstance(law, Law) else Constant(Fraction(law))
            for name, law in laws.items()
        }
        super().__init__(lower(source, self.every_law))
        self.source = source
        self.length = length
        self._certificate = certificate
        self.dtype = dtype
        self._claimed = claimed
        self._reaches = reaches
        self._reached: dict[str, int] = {}
        """For each format a length that is certified."""

    def __repr__(self) -> str:
        reach = "at every length" if self.length is None else f"to length {self.length}"
        return f"<softhat.Simulation {reach}: {self.size}>"

    def __getstate__(self) -> dict[str, Any]:
        """The certificate is computed first: the function that computes it cannot be stored."""
        return {**super().__getstate__(), "_certificate": self.certificate, "_reaches": None}

    @property
    def certificate(self) -> SimulationCertificate:
        """What is proved about it; computed when first asked for. After Ctrl-C it is what was
        proved until then."""
        if self._certificate is None:
            raise SofthatError("this simulation has no certificate: make it with simulate")
        if not isinstance(self._certificate, SimulationCertificate):
            try:
                with in_range(self.source, None):
                    self._certificate = self._certificate()
            except Interrupted as early:
                self._certificate = early.kept
                raise
        return self._certificate

    @property
    def alphabet(self) -> tuple[str, ...]:
        return self.source.alphabet

    @property
    def laws(self) -> dict[HeadId, Law | None]:
        """β of each head as a function of n; None for a head whose rows are uniform anyway."""
        return {name: None if law == ONE else law for name, law in self.every_law.items()}

    @property
    def betas(self) -> dict[HeadId, float]:
        """β of each head at the length to which the simulation was made (of laws: at length 1)."""
        return {name: float(law.at(self.length or 1)) for name, law in self.every_law.items()}

    def betas_at(self, n: int) -> dict[HeadId, float]:
        """β of each head for words of length n (inf: beyond float64)."""
        return {name: float(law.at(n)) for name, law in self.every_law.items()}

    def acceptance(self, output: str | None = None, at: str | None = None) -> End | None:
        """Acceptance is read off at the last position unless `at` says otherwise."""
        self.output_name(output)
        if at not in (None, "first", "last"):
            raise SofthatError(f"at must be first or last, not {at!r}")
        return "first" if at == "first" else "last"

    def encode(self, word: Word | NDArray[Any]) -> NDArray[Any]:
        """Symbol codes; text with spaces is a list of symbols."""
        if isinstance(word, np.ndarray):
            return super().encode(word)
        return self.source.codes([word])[0]

    def config(self) -> dict[str, Any]:
        """What its folder's `config.json` says."""
        return {
            **config_of(self.transformer, "simulation"),
            "length": self.length,
            "epsilon": self.certificate.epsilon,
            "dtype": self.dtype,
        }

    def meaning(self, output: str | None = None) -> dict[str, bytes]:
        """The hard-attention transformer that it simulates."""
        return {"ahat.json": dumps(self.source).encode()}

    def runtime_for(
        self, n: int, runtime: Runtime = "auto", dtype: str | None = None
    ) -> Literal["dense", "linear"]:
        """As for compiled models, but `auto` stays dense, whose proof it is, while n² fits."""
        if runtime == "auto" and n <= DENSE_TO:
            return "dense"
        return super().runtime_for(n, runtime, dtype)

    def certified_length(self, dtype: str, runtime: Literal["dense", "linear"]) -> int:
        """The length to which values (or decisions) are proved; the linear runtime has no proof."""
        if runtime == "linear":
            return 0
        return self.certificate.max_length.get(format_of(dtype).name, 0)

    def _is_certified(self, n: int, dtype: str, runtime: Literal["dense", "linear"]) -> bool:
        """In float64 every length that was asked of `simulate` is certified: this is known without
        computing the certificate. Where every length was asked, that of the word is looked at."""
        computed = isinstance(self._certificate, SimulationCertificate)
        if not computed and self._reaches is not None and runtime == "dense":
            name = format_of(dtype).name
            if n > self._reached.get(name, 0):
                with in_range(self.source, None):
                    if not self._reaches(name, n):
                        return super()._is_certified(n, dtype, runtime)
                self._reached[name] = n
            return True
        if computed or self._claimed or self.length is None:
            return super()._is_certified(n, dtype, runtime)
        return format_of(dtype).name == "float64" and n <= self.length and runtime == "dense"


__all__ = ["VALUE", "HeadId", "Simulation"]
