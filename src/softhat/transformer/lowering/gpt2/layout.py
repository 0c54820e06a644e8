"""Where everything lives in the residual stream of a stock GPT-2, so that LayerNorm does nothing.

LayerNorm is the identity on vectors of mean 0 and variance 1. Coordinates come in *pairs*
(+v, -v), read as v = (x₊ - x₋)/2, so the mean is 0. A Boolean has v = ±1; a stored bit starts at
its constant and the feed-forward layer that computes it adds 0 or ±2, so the norm stays. `<bos>`
and the word's own positions have a pair each that is 1 there and 0 elsewhere: together their norm
is constant, and what hangs on `<bos>` is exactly 0 elsewhere. Heads write their raw output into
*scratch* pairs: Boolean ones start at -A, A = 1/16 or 1/8, and the head adds 2A or 0, so that its
leak hardly touches the norm; means of counts start at 0 and stay tiny. *Pads*, pairs of amplitude
2 (two squares of 4 for six of 0), bring the variance to 1 but for the A², which are the same at
every position. *Trims*, constant pairs a little below 1, take these off again as far as eight
digits go; what is left goes into LayerNorm's weight.

Positions are the ±1 bits of their binary expansion: norm constant, exact in every format.

Where *reuse* is asked for, a pair whose bit or raw output is read no more takes the next one: the
feed-forward layer takes off again what stood there. So the pairs of a program of many rounds are
those of one round.

A *dense* layout is for a basis in which no coordinate is a variable's own (`disguise`), and for
float32 alone: rounding then hits every direction in proportion to the whole norm, so raw outputs
and means are as large as LayerNorm allows, and there are neither pads nor trims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from softhat.io.errors import SofthatError
from softhat.program.heads import Recall
from softhat.program.narrow import narrowed
from softhat.program.registers import Register, allocate, stored_layers
from softhat.program.schedule import Schedule, schedule
from softhat.program.signals import Program
from softhat.program.strict import gathered, spelled_out
from softhat.transformer.lowering.stock import plan
from softhat.transformer.lowering.stock.constants import told_by_positions

AMPLITUDES = (2.0**-4, 2.0**-3)
"""A: a raw Boolean output is ±A. LayerNorm's mean, whose error grows with the number of
coordinates, must not drown it in float16: the larger from NARROW_MODEL coordinates on."""
NARROW_MODEL = 176
LARGEST_MEAN = 2.0**-6
DENSE_AMPLITUDE = 0.25
"""A of a dense layout: a balance of what is lost in writing and in reading."""

WIDEST = 8
"""Literals of a gate. Their sum's rounding grows with the square of their number, and must leave
hidden units exact in float16; wider gates are trees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout(plan.StockLayout):
    """A variable is a pair of coordinates; and the heads of each block."""

    context: int
    heads: tuple[tuple[plan.StockHeadPlan, ...], ...]
    scratch: tuple[int, ...]
    trims: tuple[int, ...]
    trim: float
    """The amplitude of the trims."""
    dense: bool
    d_head: int
    reuse: bool
    """Pairs are used again."""
    clears: tuple[tuple[Register, ...], ...]
    """What the feed-forward of each block takes off a pair that is used again."""

    @property
    def d_model(self) -> int:
        return self.d_head * self.n_head

    @property
    def variables(self) -> int:
        return self.d_model // 2

    @property
    def used(self) -> int:
        """Pairs from this one on hold nothing but the constant that keeps the norm."""
        return max([*self.place.values(), *self.scratch, *self.pads, *self.trims]) + 1

    @property
    def variance(self) -> float:
        """Of the residual at every position: 1, A² for each Boolean scratch coordinate, trims."""
        outputs = {self.place[to] for block in self.heads for head in block for to in head.targets}
        raws = len(outputs) - len(self.counts)  # each count has a mean and a Sign
        surplus = raws * self.amplitude**2 - len(self.trims) * (1 - self.trim**2)
        return 1.0 + 2 * surplus / self.d_model

    @property
    def width(self) -> int:
        return 2

    @property
    def head_size(self) -> int:
        return self.d_head

    @property
    def blocks(self) -> int:
        return max(1, len(self.heads))

    def placed(self) -> Iterator[plan.PlacedHead]:
        for layer, block in enumerate(self.heads):
            for number, head in enumerate(block):
                yield plan.PlacedHead(layer, number, head, [*range(len(head.signals))])

    def fillers(self) -> dict[int, plan.Filler]:
        fillers = dict.fromkeys(self.scratch, plan.Filler("scratch, unused", 0.0))
        fillers |= dict.fromkeys(self.pads, plan.Filler("pad: keeps the norm", 2.0))
        return fillers | dict.fromkeys(self.trims, plan.Filler("pad: keeps the norm", self.trim))


def lay_out(
    program: Program,
    context: int,
    dense: bool = False,
    steady: bool = False,
    reuse: bool = False,
) -> Layout:
    """Schedule a decoder's program for the blocks of GPT-2 and give everything its place. With
    `reuse` pairs are used again, where the program lets them."""
    program = spelled_out(program) if dense else gathered(program)
    program = told_by_positions(plan.with_position_inputs(program), context)
    program = narrowed(program, WIDEST)
    layers = schedule(program, store_outputs=True, widest=WIDEST)
    stored = stored_layers(program, layers)
    counts = plan.counts_of(program, context)
    bits = (context - 1).bit_length()
    # 1/√d_head is a power of two. A dense head has room for what scores do not see.
    codes = max((2 * len(s.keys) + 2 for s in program.signals if isinstance(s, Recall)), default=0)
    reuse = reuse and _reusable(layers, counts)
    # Attention takes time for every head, and pairs that are used again leave few of them idle.
    d_head = 16 if bits + codes + (4 if dense else 2) <= 16 and not reuse else 64
    if bits + codes + 2 > 64:
        raise SofthatError(
            f"a recall by {codes // 2 - 1} digits: a head has room for {(60 - bits) // 2}"
        )
    heads = tuple(
        tuple(
            head for group in layer.heads for head in plan.heads_of(program, group, counts, d_head)
        )
        for layer in layers.layers
    )
    flat = [head for block in heads for head in block]
    keys: list[plan.Key] = [plan.ONE, plan.BOS_PAIR, plan.ORDINARY, *map(plan.bit, range(bits))]
    for distance in sorted({head.distance for head in flat if head.distance}):
        keys += [plan.earlier_bit(b, distance) for b in range(bits)]
    pair = {key: at for at, key in enumerate(keys)}
    bit_keys = [Register(at, False) for at in sorted(stored, key=lambda at: (stored[at], at))]
    scratch_keys = [target for head in flat for target in head.targets]
    clears: tuple[tuple[Register, ...], ...] = ((),) * len(layers.layers)
    if reuse:
        allocation = allocate(program, layers)
        clears = allocation.clears
        places: dict[plan.Key, int] = dict(allocation.coordinate.items())
    else:
        places = {key: at for at, key in enumerate([*bit_keys, *scratch_keys])}
    first_scratch = _place(pair, [key for key in bit_keys if key in places], places, len(keys))
    outputs = _place(pair, scratch_keys, places, first_scratch) - first_scratch
    # Three pairs of square 0 and one of amplitude 2; <bos> and ordinary lack one pair together.
    empty = outputs + (0 if dense else -(outputs + 1) % 3)
    first_pad = first_scratch + empty
    first_trim = first_pad + (0 if dense else (empty + 1) // 3)
    raws = outputs - len(counts)
    widest = max((len(block) for block in heads), default=1)
    for amplitude in (DENSE_AMPLITUDE,) if dense else AMPLITUDES:
        # Each takes off a quarter of its square at most.
        trims = 0 if dense else ceil(4 * raws * amplitude**2)
        used = first_trim + trims
        n_head = max(widest, -(-2 * used // d_head), 1)
        if n_head * d_head < NARROW_MODEL:
            break
    return Layout(
        program=program,
        schedule=layers,
        context=context,
        digits=bits,
        heads=heads,
        stored=stored,
        counts=counts,
        place=pair,
        scratch=tuple(range(first_scratch, first_pad)),
        pads=tuple(range(first_pad, first_trim)),
        trims=tuple(range(first_trim, used)),
        trim=_trim(raws * amplitude**2, trims),
        dense=dense,
        amplitude=amplitude,
        mean_amplitude=(
            _dense_mean_amplitude(heads, first_scratch, len(counts), steady)
            if dense
            else plan.mean_amplitude(LARGEST_MEAN, 2.0 * len(counts), n_head * d_head)
        ),
        d_head=d_head,
        n_head=n_head,
        reuse=reuse,
        clears=clears,
    )


def _reusable(layers: Schedule, counts: Mapping[int, plan.PlannedCount]) -> bool:
    """Means do not come off again exactly, and a bit that starts as true needs a pair that does."""
    return not counts and not any(
        gate.complement for layer in layers.layers for gate in layer.gates
    )


def _place(
    pair: dict[plan.Key, int],
    keys: Sequence[plan.Key],
    places: Mapping[plan.Key, int],
    first: int,
) -> int:
    """Pairs from `first` on, in the order of the keys, one for all that share a place; the next."""
    of: dict[int, int] = {}
    for key in keys:
        pair[key] = of.setdefault(places[key], first + len(of))
    return first + len(of)


def _trim(surplus: float, trims: int) -> float:
    """√(1 - raws·A²/trims) with eight digits, as bfloat16 has them."""
    exact = (1 - surplus / trims) ** 0.5 if trims else 1.0
    return round(exact * 256) / 256


def _dense_mean_amplitude(
    heads: tuple[tuple[plan.StockHeadPlan, ...], ...], squares: int, means: int, steady: bool
) -> float:
    """The larger, the less drowns in rounding; but the means' squares move the norm, by which later
    blocks read: a mean then loses its sign at 2^-15, a Latest head its step at 2^-12, a gate far
    above 2^-7 (`squares` is about the square of the norm). A *steady* read-out has logits that
    mean something: log-weights."""
    kinds = [{head.kind for head in block} for block in heads]
    first = next((at for at, block in enumerate(kinds) if "Average" in block), len(kinds))
    later = set[str]().union(*kinds[first + 1 :])
    most = 2.0**-13 if steady or "Average" in later else 2.0**-12 if "Latest" in later else 2.0**-7
    amplitude = 1.0
    while means * amplitude**2 > 2 * most * squares:
        amplitude /= 2
    return amplitude
