"""Float error on given words: a run of the float program with all that rounding may do.

Theorem 36 (`numerics.noise`, `numerics.noisy_attention`) along the walk of the dense runtime: every
number is a centre with its noise, so every order of sums gives values in centre ± radius.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.ahat.bounds.weights import Weights
from softhat.io.errors import VoidError
from softhat.numbers.positions import floats
from softhat.numerics import walk
from softhat.numerics.formats import Format
from softhat.numerics.masks import allowed
from softhat.numerics.noise import FloatProgram, boxed
from softhat.numerics.noisy_attention import attended
from softhat.numerics.zonotopes import Zonotope, exactly

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
HeadId = tuple[int, int]
MOST_NUMBERS = 4_000_000  # held at once


@dataclass(frozen=True, slots=True)
class FloatValues:
    """What floats give for each word and position: centre ± radius."""

    centre: Floats
    radius: Floats


def float_values(
    used: Weights, codes: Codes, betas: Mapping[HeadId, float], form: Format
) -> FloatValues | None:
    """The values of words (words, n) in floats; None if something may overflow."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        try:
            return FloatRun(used, betas, form).values(codes)
        except VoidError:
            return None


def at_a_time(used: Weights, n: int) -> int:
    """How many words of this length to run at once."""
    keys, width = n + used.model.sinks, used.model.d_model
    return max(8, MOST_NUMBERS // (keys * width * (width + 8) + keys * keys * 24))


class _Rows(FloatProgram):
    """The rows of words: all positions; or, `many` given, so many of each key, all of them seen."""

    def __init__(self, form: Format, many: Floats | None = None) -> None:
        super().__init__(form)
        self.many = many

    def attend(
        self, query: Zonotope, key: Zonotope, value: Zonotope, head: walk.SoftHead
    ) -> Zonotope:
        rows, columns = query.centre.shape[1], key.centre.shape[1]
        every = np.ones((rows, columns), dtype=bool)
        mask = allowed(head.mask, rows) if self.many is None else every
        return attended(self, query, key, value, mask, self.many, head.beta)


class FloatRun:
    """The walk of a model with these β, in floats with all that rounding may do."""

    def __init__(self, used: Weights, betas: Mapping[HeadId, float], form: Format) -> None:
        self.used, self.betas, self.form = used, betas, form

    def values(self, codes: Codes) -> FloatValues:
        """The values of words (words, n)."""
        words, n = codes.shape
        bos, eos = int(self.used.model.bos), int(self.used.model.eos)
        sink = np.full((words, 1), len(self.used.model.alphabet))
        tokens = np.concatenate([sink] * bos + [codes] + [sink + bos] * eos, axis=1)
        x = self.embedding(tokens, np.arange(tokens.shape[1]), n)
        for l in range(len(self.used.layers)):
            x = self.layer(l, x, x)
        values = self.read(x)
        own = slice(bos, bos + n)
        return FloatValues(values.centre[:, own], values.radius[:, own])

    def embedding(self, tokens: Codes, places: Codes, n: int) -> Zonotope:
        """Rows of the embedding table at rows of the feature table of length n, in floats."""
        used, program, model = self.used, _Rows(self.form), self.used.model
        rows = exactly(program.loaded(used.tokens.values)[tokens])
        table = floats(model.positions, n, bos=model.bos, eos=model.eos)
        return walk.embedding(program, used.places, rows, exactly(program.loaded(table)[places]))

    def layer(self, l: int, x: Zonotope, keys: Zonotope, many: Floats | None = None) -> Zonotope:
        """A layer for rows x. The keys are the word's positions; or, `many` given, so many of
        each, and all of them are seen."""
        layer, program = self.used.layers[l], _Rows(self.form, many)
        heads = [
            walk.SoftHead(
                self.betas.get((l, h), 1.0),
                head.mask,
                head.query,
                head.key,
                head.value,
                head.output,
            )
            for h, head in enumerate(layer.heads)
        ]
        x = walk.attention(program, walk.Heads(heads), boxed(x), boxed(keys))
        return x if layer.into is None else walk.feed_forward(program, layer, boxed(x))

    def read(self, x: Zonotope) -> FloatValues:
        """The model's value at every row."""
        y = walk.read_out(_Rows(self.form), self.used.readout, self.used.bias, x)
        return FloatValues(y.centre[..., 0], y.radius[..., 0])
