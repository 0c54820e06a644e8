"""A hard-attention transformer (AHAT) with exact rational weights, as plain data.

Every head attends with equal weight to the unmasked positions whose score is the maximum of its
row (average-hard attention), or to the leftmost or rightmost of them alone (unique-hard).
Sublayers have residual connections; a row without keys gives 0; the model's value at a position is
`output_weights · x + output_bias`, and its decision there is value > 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from softhat.io.argument_types import several
from softhat.io.errors import SofthatError
from softhat.io.plural import plural
from softhat.logic.semantics import words
from softhat.numbers.positions import Feature, longest
from softhat.numerics.exact import Matrix as Matrix
from softhat.numerics.exact import Ties as Ties
from softhat.numerics.exact import Vector as Vector
from softhat.numerics.masks import MASKS as MASKS
from softhat.numerics.masks import Mask as Mask

if TYPE_CHECKING:
    from softhat.runtime.trace import Trace

Sink: TypeAlias = Literal["<bos>", "<eos>"]
BOS: Final = "<bos>"
EOS: Final = "<eos>"
TIES: tuple[Ties, ...] = ("average", "leftmost", "rightmost")
Word: TypeAlias = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Head:
    """Scores `(query x_i) · (key x_j)`, values `value x_j`, written by `output`."""

    mask: Mask
    query: Matrix  # d_k × d_model
    key: Matrix  # d_k × d_model
    value: Matrix  # d_v × d_model
    output: Matrix  # d_model × d_v
    name: str = ""
    ties: Ties = "average"  # what it does with several maximal keys


@dataclass(frozen=True, slots=True)
class FeedForward:
    """`x + out · ReLU(in · x + in_bias) + out_bias`."""

    in_weights: Matrix  # d_ff × d_model
    in_bias: Vector
    out_weights: Matrix  # d_model × d_ff
    out_bias: Vector


@dataclass(frozen=True, slots=True)
class Layer:
    """Attention heads, then a feed-forward sublayer (or none)."""

    heads: tuple[Head, ...]
    feed_forward: FeedForward | None = None


@dataclass(frozen=True)
class AHAT:
    """The whole model. `embedding` has one vector a symbol, in the alphabet's order."""

    alphabet: tuple[str, ...]
    bos: bool
    positions: tuple[Feature, ...]
    embedding: Matrix
    bos_embedding: Vector | None
    position_embedding: Matrix  # d_model × number of position features
    layers: tuple[Layer, ...]
    output_weights: Vector
    output_bias: Fraction
    names: tuple[str, ...] = ()  # of the coordinates, for people
    eos_embedding: Vector | None = None  # of `<eos>` at position n+1, if there is one

    def __repr__(self) -> str:
        alphabet = " ".join(self.alphabet[:10])
        size = f"{plural(len(self.layers), 'layer')}, {plural(len(self.heads), 'head')}"
        return f"<softhat.AHAT over {alphabet}: {size}, d_model {self.d_model}>"

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Computed once: what is known of a model is kept by it, and hashes of fractions take
        long."""
        return hash(tuple(getattr(self, field.name) for field in fields(self)))

    @property
    def d_model(self) -> int:
        return len(self.output_weights)

    @property
    def eos(self) -> bool:
        """Is there an `<eos>` after the word?"""
        return self.eos_embedding is not None

    @property
    def sinks(self) -> int:
        """How many positions there are beside the word's own."""
        return int(self.bos) + int(self.eos)

    @property
    def vectors(self) -> tuple[Vector, ...]:
        """The embeddings of all symbols, then of the sinks."""
        ends = (self.bos_embedding, self.eos_embedding)
        return (*self.embedding, *(end for end in ends if end is not None))

    @property
    def longest(self) -> int | None:
        """The greatest word length its position tables allow; None if any length is."""
        return longest(self.positions, self.bos)

    @property
    def heads(self) -> tuple[tuple[int, int], ...]:
        """All (layer, head) indices, in order."""
        return tuple((a, b) for a, layer in enumerate(self.layers) for b in range(len(layer.heads)))

    def symbols(self, word: words.Word) -> tuple[str, ...]:
        """The word as a tuple of symbols of the alphabet; an error names the first unknown one
        (every set of propositions is one)."""
        if isinstance(word, str) and any(c.isspace() for c in word):
            parts: Sequence[str | Set[str]] = word.split()
        else:
            parts = tuple(several("a word", word))
        if isinstance(word, str) and word in self.alphabet:
            parts = (word,)
        if not parts:
            raise SofthatError("the empty word has no position: give at least one symbol")
        known, symbols = set(self.alphabet), list[str]()
        for place, symbol in enumerate(parts):
            if not isinstance(symbol, str) or symbol not in known:
                raise SofthatError(
                    f"symbol {symbol!r} at position {place + 1} is not in the alphabet "
                    f"({' '.join(self.alphabet)})"
                )
            symbols.append(symbol)
        return tuple(symbols)

    def codes(self, spelt: Iterable[words.Word]) -> npt.NDArray[np.int64]:
        """Words of one length as a (words, n) array of symbol numbers."""
        number = {symbol: k for k, symbol in enumerate(self.alphabet)}
        rows = [[number[s] for s in self.symbols(word)] for word in spelt]
        if len({len(row) for row in rows}) > 1:
            raise SofthatError("these words have different lengths: run them length by length")
        return np.array(rows, dtype=np.int64)

    def spell(self, codes: Iterable[int]) -> Word:
        """The word with these symbol numbers: a string if every symbol is one character."""
        symbols = tuple(self.alphabet[c] for c in codes)
        return "".join(symbols) if all(len(s) == 1 for s in self.alphabet) else symbols

    def values(self, word: words.Word) -> list[Fraction]:
        """The exact value at each position of the word (not at `<bos>`)."""
        from softhat.ahat.exact import run

        return run(self, self.codes([word])).values()[0]

    def truth(self, word: words.Word) -> npt.NDArray[np.bool_]:
        """The decision value > 0 at each position."""
        return np.array([value > 0 for value in self.values(word)], dtype=bool)

    def accepts(self, word: words.Word) -> bool:
        """The decision at the last position."""
        return bool(self.truth(word)[-1])

    def run(self, word: words.Word, dtype: str = "float64") -> Trace:
        """Average-hard attention in floats: the same forward pass with β infinite."""
        from softhat.ahat.simulation.lower import lower
        from softhat.ahat.simulation.unique import tie_broken
        from softhat.numerics.formats import format_of
        from softhat.runtime.dense import Ready
        from softhat.runtime.trace import trace

        codes = self.codes([word])[0]
        once = tie_broken(self, len(codes), every=True)
        return trace(Ready(lower(once, None), format_of(dtype)), codes)

    def save(self, path: str | Path) -> None:
        """Write the JSON file of design section 6.1."""
        from softhat.ahat.file import save

        save(self, path)


def check_ahat(model: object) -> None:
    """Functions for AHATs refuse other models, compiled ones above all."""
    if not isinstance(model, AHAT):
        raise SofthatError(
            f"expected an AHAT (softhat.ahat.load, or softhat.to_ahat of a model compiled with "
            f"attention='hard'), got a {type(model).__name__}"
        )
