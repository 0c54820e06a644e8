"""Float error on given words: a run of the float program with all that rounding may do.

Theorem 36 (`noise`, `float_attention`) along the dense runtime: every number of the run is a centre
with its noise, so every order of sums gives values in centre ± radius.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.ahat.bounds.float_attention import attended
from softhat.ahat.bounds.noise import FloatProgram, Noisy, exactly
from softhat.ahat.bounds.weights import LayerWeights, Weights
from softhat.io.errors import VoidError
from softhat.numbers.positions import floats
from softhat.numerics.formats import Format
from softhat.numerics.masks import allowed

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


class FloatRun:
    """The float program of a model with these β."""

    def __init__(self, used: Weights, betas: Mapping[HeadId, float], form: Format) -> None:
        self.used, self.betas, self.program = used, betas, FloatProgram(form)

    def values(self, codes: Codes) -> FloatValues:
        """The values of words (words, n)."""
        words, n = codes.shape
        bos, eos = int(self.used.model.bos), int(self.used.model.eos)
        sink = np.full((words, 1), len(self.used.model.alphabet))
        tokens = np.concatenate([sink] * bos + [codes] + [sink + bos] * eos, axis=1)
        x = self.embedding(tokens, np.arange(tokens.shape[1]), n)
        for l in range(len(self.used.layers)):
            x = self.layer(l, x, x)
        found = self.read(x)
        own = slice(bos, bos + n)
        return FloatValues(found.centre[:, own], found.radius[:, own])

    def embedding(self, tokens: Codes, places: Codes, n: int) -> Noisy:
        """Rows of the embedding table at rows of the feature table of length n, in floats."""
        used, program, model = self.used, self.program, self.used.model
        rows = exactly(program.loaded(used.tokens.values)[tokens])
        table = floats(model.positions, n, bos=model.bos, eos=model.eos)
        features = exactly(program.loaded(table)[places])
        put = program.linear(features, program.loaded(used.places.values))
        shape = rows.centre.shape
        noise = np.broadcast_to(put.noise, (*shape, put.noise.shape[-1]))
        put = Noisy(np.broadcast_to(put.centre, shape), noise)
        return program.stored(program.add(rows, put, shared=False))

    def layer(self, l: int, x: Noisy, keys: Noisy, many: Floats | None = None) -> Noisy:
        """A layer for rows x. The keys are the word's positions; or, `many` given, so many of
        each, and all of them are seen."""
        layer, x = self.used.layers[l], x.boxed()
        if layer.heads:
            x = self._attention(l, layer, x, keys.boxed(), many).boxed()
        return self._forward(layer, x)

    def read(self, x: Noisy) -> FloatValues:
        """The model's value at every row."""
        y = self.program.linear(x, self.program.loaded(self.used.readout.values))
        y = self.program.stored(self._shifted(y, self.used.bias.values[0]))
        return FloatValues(y.centre[..., 0], y.radius[..., 0])

    def _attention(
        self, l: int, layer: LayerWeights, x: Noisy, keys: Noisy, many: Floats | None
    ) -> Noisy:
        program, found = self.program, []
        rows, columns = x.centre.shape[1], keys.centre.shape[1]
        for h, head in enumerate(layer.heads):
            mask = np.ones((rows, columns), dtype=bool) if many is not None else None
            mask = allowed(head.mask, rows) if mask is None else mask
            beta = self.betas.get((l, h), 1.0)
            found.append(attended(program, head, x, keys, mask, many, beta))
        matrix = np.concatenate([head.output.values for head in layer.heads], axis=1)
        added = program.linear(_together(found), program.loaded(matrix))
        return program.stored(program.add(x, added, shared=False))

    def _forward(self, layer: LayerWeights, x: Noisy) -> Noisy:
        if layer.into is None or layer.out is None:
            return x
        assert layer.into_bias is not None and layer.out_bias is not None
        program = self.program
        sums = program.linear(x, program.loaded(layer.into.values))
        hidden = program.relu(self._shifted(sums, layer.into_bias.values[0]))
        out = program.linear(program.stored(hidden), program.loaded(layer.out.values))
        out = self._shifted(out, layer.out_bias.values[0])
        return program.stored(program.add(x, out, shared=True))

    def _shifted(self, y: Noisy, bias: Floats) -> Noisy:
        shift = exactly(np.broadcast_to(self.program.loaded(bias), y.centre.shape))
        return self.program.add(y, shift, shared=False)


def _together(parts: list[Noisy]) -> Noisy:
    """The results of several heads, each with symbols of its own."""
    centre = np.concatenate([part.centre for part in parts], axis=-1)
    error = np.concatenate([part.radius for part in parts], axis=-1)
    return exactly(centre).plus_noise(error)
