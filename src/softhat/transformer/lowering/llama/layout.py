"""Where everything lives in the residual stream of a stock Llama, so that RMSNorm does nothing.

RMSNorm is the identity on vectors whose squares have the mean 1, and it subtracts no mean: nothing
needs to come in pairs. A Boolean is ±1: a stored bit starts at its constant and the gate that
computes it adds 0 or ±2; a head's Boolean output starts at -1 and the head adds twice what it
returns. `<bos>` and the word's own positions have a coordinate each, 1 there and 0 elsewhere.
Means of counts start at 0 and stay small. *Pads* of amplitude 2, one for every three coordinates of
square 0, bring the mean square to 1.

Several query heads share one head of keys and values (grouped-query attention): each reads its own
row of the keys and its own values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from math import log2

from softhat.program.recalls import with_both_values, without_recalls
from softhat.program.registers import Register, stored_layers
from softhat.program.schedule import schedule
from softhat.program.signals import Program
from softhat.program.strict import gathered, spelled_out
from softhat.transformer.lowering.llama.inputs import (
    conjunctions,
    within,
    without_positions,
)
from softhat.transformer.lowering.llama.resting import rested
from softhat.transformer.lowering.llama.rotary import Rotary
from softhat.transformer.lowering.stock import plan
from softhat.transformer.lowering.stock.forms import PairForm, values_of
from softhat.transformer.lowering.stock.heads import KINDS

PAD = "pad"
LARGEST_MEAN = 2.0**-8
DENSE_DIGITS = 2
"""Digits that one block of a disguised checkpoint finds: rounding grows with the square of it. The
highest come first: they weigh most, and later blocks read what earlier ones are off."""
SPARE_PADS = 2
"""More of a disguised checkpoint: the more of the norm is constant, the less RMSNorm's factor moves
with what bits are off, and the less noise is read with a constant."""
FEW_SQUARES, MOST_SQUARES = 1.2e-2, 4e-2
"""Shares of the norm's square that means may have in a disguised checkpoint: in short contexts, and
in those of 1,000 positions and more, whose means are finer."""
STEP_SQUARES, STEADY_SQUARES = 1.6, 6e-4
"""Stricter bounds on that share. The first, over the context: where later heads look for the latest
or the previous position. The second: where later heads average, or logits are stated."""


@dataclass(frozen=True, slots=True)
class KeyGroup:
    """Query heads that share keys and values: rows of the slow pairs, and values."""

    heads: tuple[plan.StockHeadPlan, ...]
    contents: tuple[PairForm, ...]
    values: tuple[PairForm, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaLayout(plan.StockLayout):
    """A variable is a coordinate; and the heads of each block."""

    rotary: Rotary
    groups: tuple[tuple[KeyGroup, ...], ...]
    zeros: tuple[int, ...]
    d_model: int
    n_kv: int

    @property
    def variables(self) -> int:
        return self.d_model

    @property
    def context(self) -> int:
        return self.rotary.context

    @property
    def blocks(self) -> int:
        return max(1, len(self.groups))

    @property
    def head_size(self) -> int:
        return self.rotary.head_dim

    @property
    def shared(self) -> int:
        return self.n_head // self.n_kv

    def groups_of(self, number: int) -> tuple[KeyGroup, ...]:
        """The groups of a block."""
        return self.groups[number] if number < len(self.groups) else ()

    def placed(self) -> Iterator[plan.PlacedHead]:
        for layer in range(self.blocks):
            for at, group in enumerate(self.groups_of(layer)):
                for number, head in enumerate(group.heads, at * self.shared):
                    places = [group.values.index(form) for form in values_of(self.counts, head)]
                    yield plan.PlacedHead(layer, number, head, places)

    def fillers(self) -> dict[int, plan.Filler]:
        fillers = dict.fromkeys(self.zeros, plan.Filler("empty", 0.0))
        return fillers | dict.fromkeys(self.pads, plan.Filler("pad: keeps the norm", 2.0))


def lay_out(
    program: Program, rotary: Rotary, square: bool = False, steady: bool = False
) -> LlamaLayout:
    """Schedule a decoder's program and give everything its place; `square`: d_model must be the
    number of heads times their size; `steady`: its logits will be log-weights."""
    program = with_both_values(program) if rotary.recalls else without_recalls(program)
    program = gathered(program) if rotary.shifts else spelled_out(program)
    by_digits = rotary.positions == "bits"
    program = plan.with_position_inputs(program) if by_digits else without_positions(program)
    if rotary.dense:
        program = within(program, rotary.context)
    layers = schedule(program, store_outputs=True, clean_keys=False)
    if rotary.dense or rotary.recalls:
        layers = rested(program, layers)
    stored = stored_layers(program, layers)
    counts = plan.counts_of(program, rotary.context)
    tables: dict[int, list[plan.Digits]] = {}
    for at, signal in enumerate(program.signals):
        holds = plan.position_table(signal, rotary.context)
        if holds is not None and at in stored:
            tables[at] = conjunctions(holds, program.labels[at])
    blocks: list[list[plan.StockHeadPlan]] = [
        [
            replace(head, distance=min(head.distance, rotary.context - 1))
            for group in layer.heads
            for head in plan.heads_of(program, group, counts, rotary.head_dim)
        ]
        for layer in layers.layers
    ]
    latest = any(head.kind in ("Latest", "Recall") for block in blocks for head in block)
    digits = [plan.StockHeadPlan("Digit", digit=b) for b in range(rotary.digits)]
    if rotary.dense:
        digits.reverse()
    together = DENSE_DIGITS if rotary.dense else len(digits)
    finding = [digits[at : at + together] for at in range(0, len(digits), together)]
    if not (by_digits and (latest or tables)):
        finding = []
    blocks[:0] = finding
    grouped, n_head, n_kv = _shared(counts, blocks, rotary)
    keys: list[plan.Key] = [plan.ONE, plan.BOS_PAIR, plan.ORDINARY]
    keys += [Register(at, False) for at in sorted(stored, key=lambda at: (stored[at], at))]
    flat = [head for block in blocks for head in block]
    keys += [target for head in flat if head.kind != "Average" for target in head.targets]
    means = [target for head in flat if head.kind == "Average" for target in head.targets]
    # <bos> and ordinary lack one square together; one pad makes up for three.
    zeros = -(len(means) + 1) % 3
    pads = (len(means) + 1 + zeros) // 3
    if rotary.dense:
        pads, zeros = pads + SPARE_PADS, zeros + 3 * SPARE_PADS
    used = len(keys) + len(means) + zeros + pads
    if square:
        group = n_head // n_kv
        n_kv = max(n_kv, -(-used // (rotary.head_dim * group)))
        n_head = group * n_kv
        d_model = n_head * rotary.head_dim
    else:
        d_model = -(-used // n_head) * n_head
    start = len(keys) + len(means)
    return LlamaLayout(
        program=program,
        schedule=layers,
        rotary=rotary,
        digits=rotary.digits,
        first=len(finding),
        tables=tables,
        groups=grouped,
        stored=stored,
        counts=counts,
        place={key: at for at, key in enumerate([*keys, *means])} | {PAD: start + zeros},
        pads=tuple(range(start + zeros, start + zeros + pads)),
        zeros=tuple(range(start, start + zeros)),
        mean_amplitude=(
            _dense_mean_amplitude(
                [{h.kind for h in block} for block in blocks], used, counts, steady, rotary.context
            )
            if rotary.dense
            else plan.mean_amplitude(LARGEST_MEAN, len(means), d_model)
        ),
        d_model=d_model,
        n_head=n_head,
        n_kv=n_kv,
    )


def _dense_mean_amplitude(
    kinds: Sequence[AbstractSet[str]],
    squares: int,
    counts: Mapping[int, plan.PlannedCount],
    steady: bool,
    context: int,
) -> float:
    """The larger, the less drowns in rounding; but the means' squares move RMSNorm's factor
    (`squares` is the square of the norm), with it the scores of later heads that look up positions,
    whose steps are the smaller the longer the context, and every bit that a gate writes, which a
    later mean adds up and log-weights mean."""
    first = next((at for at, block in enumerate(kinds) if "Average" in block), len(kinds))
    later = set[str]().union(*kinds[first + 1 :])
    most = max(FEW_SQUARES, MOST_SQUARES * min(1.0, context / 1000))
    if later & {"Latest", "Previous"}:
        most = min(FEW_SQUARES, STEP_SQUARES / context)
    if steady or "Average" in later:
        most = min(most, STEADY_SQUARES)
    means = 0.0
    for count in counts.values():
        high = sum(a for a, _ in count.terms if a > 0)
        low = sum(-a for a, _ in count.terms if a < 0)
        means += (max(high, low, abs(count.threshold - 0.5)) / count.scale) ** 2
    amplitude = 1.0
    while means * amplitude**2 > most * squares:  # 1, 3/4, 1/2, 3/8, …
        amplitude *= 3 / 4 if log2(amplitude).is_integer() else 2 / 3
    return amplitude


# Sharing keys and values


def _shared(
    counts: dict[int, plan.PlannedCount],
    blocks: Sequence[Sequence[plan.StockHeadPlan]],
    rotary: Rotary,
) -> tuple[tuple[tuple[KeyGroup, ...], ...], int, int]:
    """Groups for each block, with the number of query heads and of heads of keys and values: as
    few as possible together, for each costs as much. In a disguised checkpoint heads share nothing:
    what another head's values are would be rounded with its own."""
    widest = max((len(block) for block in blocks), default=1) or 1
    best = None
    for size in range(1, 2 if rotary.dense else widest + 1):
        packed = tuple(tuple(_packed(counts, block, rotary.head_dim, size)) for block in blocks)
        n_kv = max((len(groups) for groups in packed), default=1) or 1
        if best is None or size * n_kv + n_kv < best[1] + best[2]:
            best = (packed, size * n_kv, n_kv)
    assert best is not None
    return best


def _packed(
    counts: dict[int, plan.PlannedCount],
    heads: Iterable[plan.StockHeadPlan],
    head_dim: int,
    size: int,
) -> list[KeyGroup]:
    """Each head to the first group with room for its row of keys and its values."""
    groups: list[KeyGroup] = []
    for head in heads:
        kind = KINDS[head.kind]
        content = kind.content(head)
        values = values_of(counts, head)
        for at, group in enumerate(groups):
            rows = _with(group.contents, [] if content is None else [content])
            columns = _with(group.values, values)
            other = group.heads[0].kind
            own = kind.own_keys or KINDS[other].own_keys
            same = (other == head.kind or not own) and "Recall" not in (other, head.kind)
            if same and len(group.heads) < size and len(rows) <= 2 and len(columns) <= head_dim:
                groups[at] = KeyGroup((*group.heads, head), rows, columns)
                break
        else:
            rows = () if content is None else (content,)
            groups.append(KeyGroup((head,), rows, _with((), values)))
    return groups


def _with(forms: tuple[PairForm, ...], more: Sequence[PairForm]) -> tuple[PairForm, ...]:
    new = [form for at, form in enumerate(more) if form not in forms and form not in more[:at]]
    return (*forms, *new)
