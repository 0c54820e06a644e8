"""The same GPT-2 in a random basis: no coordinate, head dimension or neuron is a variable's own.

Theorem 27. LayerNorm with one weight g and no bias maps Σ v_p·û_p, with orthonormal û_p orthogonal
to (1, …, 1) and Σ v_p² = g²d, to itself. So if x = Σ v_p·û_p solves a trunk whose pairs hold v_p,
every linear form Σ w_p·v_p is the dot product with Σ w_p·û_p, and what a pair adds to itself is
added along û_p: the residual stream needs one direction a pair, and one for the mean.

Within a head, queries and keys may be multiplied by one orthogonal matrix, values and the output
matrix by another; directions that only queries, only keys, only values or only the output matrix
use change nothing and are filled with noise. relu(λz)/λ = relu(z), so neurons are split with
random shares and scales. Head and neuron numbers are permuted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.transformer.decoders import GPT2Block, norm_names
from softhat.transformer.directions import Directions, HeadBasis
from softhat.transformer.lowering.disguise import (
    Array,
    Disguise,
    as_float32,
    dense_units,
    orthonormal,
    product,
    seeded,
    spare_units,
)
from softhat.transformer.lowering.gpt2.layout import Layout
from softhat.transformer.lowering.stock.trunk import Trunk, TrunkBlock

NOISE = 2.0**-3
"""Size of what fills idle dimensions of queries, keys and outputs: it costs rounding, so it is
smaller than what is used."""
VALUE_NOISE = 2.0**-5
"""Size of what fills idle dimensions of values: sums over many keys round these too."""
IDLE = 0.02
"""Size of what neurons write that cancel each other."""


@dataclass(frozen=True)
class DisguisedGPT2(Disguise):
    """A trunk's tensors in a random basis: a variable is a pair, which holds +v and -v."""

    n_head: int
    tensors: dict[str, NDArray[np.float32]]
    head_places: tuple[tuple[int, ...], ...]
    """Where head h of a block went."""

    def head_place(self, layer: int, head: int) -> int:
        return self.head_places[layer][head]

    def value_rows(self, layer: int, head: int) -> Array:
        place = self.head_places[layer][head]
        return self.directions.heads[layer][place].value.astype(np.float64)


def disguise(trunk: Trunk[Layout], seed: int) -> DisguisedGPT2:
    """A trunk of a dense layout, disguised."""
    layout = trunk.layout
    used, d_head = layout.used, layout.d_head
    widest = max((len(block) for block in layout.heads), default=1)
    n_head = max(widest, -(-(used + 1) // d_head))
    d = n_head * d_head
    ones = np.full((1, d), d**-0.5)
    basis = orthonormal(seeded(seed, 0), d, used, ones)
    assert trunk.positions is not None
    tokens, positions = (t[:, :used].astype(np.float64) for t in (trunk.tokens, trunk.positions))
    own = tokens[0] + positions[1]
    gain = float(np.sqrt(np.sum(own * own) / d))
    tensors = {
        "transformer.wte.weight": as_float32(product(tokens, basis)),
        "transformer.wpe.weight": as_float32(product(positions, basis)),
    }
    for name in norm_names(len(trunk.blocks)):
        tensors[f"{name}.weight"] = np.full(d, gain, np.float32)
        tensors[f"{name}.bias"] = np.zeros(d, np.float32)
    hidden = spare_units(max(block.sides for block in trunk.blocks))
    heads, units, places = [], [], []
    for at, block in enumerate(trunk.blocks):
        rng = seeded(seed, 1, at)
        count = len(layout.heads[at]) if at < len(layout.heads) else 0
        order = rng.permutation(n_head)
        bases = []
        attn = np.zeros((d, 3 * d))
        bias = np.zeros(3 * d)
        proj = np.zeros((d, d))
        for h in range(n_head):
            (own_head,) = np.flatnonzero(order == h)
            source = int(own_head) if own_head < count else None
            head = _head(rng, block, source, d_head, used, basis, ones)
            for part in range(3):
                columns = slice(part * d + h * d_head, part * d + (h + 1) * d_head)
                attn[:, columns], bias[columns] = head.reading[part]
            proj[h * d_head : (h + 1) * d_head] = head.writing
            bases.append(head.basis)
        places.append(tuple(int(order[h]) for h in range(count)))
        neurons, reads, shifts, writes = dense_units(rng, block, hidden, basis, IDLE, ones)
        turned = GPT2Block(attn, bias, proj, reads.T, shifts, writes)
        tensors |= {name: as_float32(matrix) for name, matrix in turned.tensors(at).items()}
        for name in ("attn.c_proj.bias", "mlp.c_proj.bias"):
            tensors[f"{GPT2Block.PREFIX}.{at}.{name}"] = np.zeros(d, np.float32)
        heads.append(tuple(bases))
        units.append(neurons)
    directions = Directions(as_float32(basis), tuple(heads), tuple(units))
    return DisguisedGPT2(basis, directions, layout.width, n_head, tensors, tuple(places))


@dataclass(frozen=True)
class _HeadBasis:
    reading: list[tuple[Array, Array]]
    """Queries, keys, values: matrix and bias."""
    writing: Array
    basis: HeadBasis


def _head(
    rng: np.random.Generator,
    block: TrunkBlock,
    source: int | None,
    d_head: int,
    used: int,
    basis: Array,
    ones: Array,
) -> _HeadBasis:
    """Head `source` of a block (none: an idle head) in random bases of its own."""
    forms: list[Array] = [np.zeros((used, 0))] * 3
    offsets: list[Array] = [np.zeros(0)] * 3
    written = np.zeros((0, used))
    if source is not None:
        own = slice(source * d_head, (source + 1) * d_head)
        parts = (block.query, block.key, block.value)
        forms = [rows[own, :used].T.astype(np.float64) for rows in parts]
        offsets = [constants[own].astype(np.float64) for constants in block.constants]
        written = block.output[:used, own].T.astype(np.float64)
        scored = np.flatnonzero((np.abs(forms[1]).sum(axis=0) + np.abs(offsets[1])) > 0)
        valued = np.flatnonzero(np.abs(written).sum(axis=1) > 0)
        for part, rows in enumerate((scored, scored, valued)):
            forms[part], offsets[part] = forms[part][:, rows], offsets[part][rows]
        written = written[valued]
        _balance(forms, offsets)
    d = basis.shape[1]
    reading: list[tuple[Array, Array]] = []
    space = orthonormal(rng, d_head, d_head)
    rows = forms[0].shape[1]
    query_key = space[:rows]
    spare = np.array_split(space[rows:], 2)
    for part in (0, 1):
        placed = forms[part], offsets[part], query_key, spare[part]
        reading.append(_read(rng, *placed, basis, ones, NOISE))
    space = orthonormal(rng, d_head, d_head)
    values = len(written)
    spare = np.array_split(space[values:], 2)
    placed = forms[2], offsets[2], space[:values], spare[0]
    reading.append(_read(rng, *placed, basis, ones, VALUE_NOISE))
    writing = product(space[:values].T, product(written, basis))
    if len(spare[1]):
        loud = NOISE * min(1.0, float(np.abs(written).max(initial=1.0 if not values else 0.0)))
        writing = writing + product(spare[1].T, orthonormal(rng, d, len(spare[1]), ones)) * loud
    claimed = HeadBasis(as_float32(query_key), as_float32(space[:values]))
    return _HeadBasis(reading, writing, claimed)


def _balance(forms: list[Array], offsets: list[Array]) -> None:
    """Queries and keys of one size, row by row, by powers of two: the product stays, and rounding
    in a mixed basis, which is relative to the largest row, costs the least."""
    for r in range(forms[0].shape[1]):
        sizes = [
            np.sqrt(np.sum(form[:, r] ** 2) + offset[r] ** 2)
            for form, offset in zip(forms[:2], offsets[:2], strict=True)
        ]
        scale = 2.0 ** np.round(np.log2(sizes[0] / sizes[1]) / 2)
        for part, factor in ((0, 1 / scale), (1, scale)):
            forms[part][:, r] *= factor
            offsets[part][r] *= factor


def _read(
    rng: np.random.Generator,
    form: Array,
    offset: Array,
    rows: Array,
    spare: Array,
    basis: Array,
    ones: Array,
    loud: float,
) -> tuple[Array, Array]:
    """Forms over pairs, written to `rows` of a head's space, and noise in the spare ones."""
    matrix = product(product(basis.T, form), rows)
    bias = np.einsum("r,rj->j", offset, rows)
    if len(spare):
        noise = orthonormal(rng, len(matrix), len(spare), ones)
        matrix = matrix + loud * product(noise.T, spare)
        bias = bias + loud * np.einsum("r,rj->j", rng.standard_normal(len(spare)), spare)
    return matrix, bias
