"""Program to layers: which head and which gate stands where.

A layer is attention, then a feed-forward layer. A head reads bits stored by earlier layers; its
raw output can be read by the feed-forward layer of the same layer and by later ones. So a
temporal operator costs one layer and a comparison two, and Boolean structure is free as long as
it fits one feed-forward layer.

It fits often, because a gate may be any *disjoint* sum of conjunctions: the feed-forward layer
computes each conjunction with a clip, at most one is 1, and their sum is the bit. So a Boolean
function of heads with a small disjoint cover (or whose complement has one) needs no layer of its
own. Layers are minimised first; where a part can be stored earlier without costing a layer, it
is, which saves hidden units.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from softhat.program.gates import And, Steps, Table, Total, Xor
from softhat.program.heads import Head, Recall
from softhat.program.literals import Literal
from softhat.program.signals import Number, Program, is_number

Term = tuple[Literal, ...]
Terms = list[Term] | None
"""A disjoint cover, or None where it is too large."""

MOST_TERMS = 16
MOST_LITERALS = 96
"""A cover larger than this is not worth the layer it saves."""
NARROW = 6
"""Raw head outputs a conjunction may read at the usual sharpness: 6·0.0187 < 1/8."""
WIDE = 256
"""The same at twice the sharpness: 256·0.00034 < 1/8."""


UNLIMITED = 2**62
READ_OUT = 64
"""Literals a read-out may add up: its bias 1/2 - k is then exact in every format."""
AT_THE_END = 2**62
"""The read-out comes after every layer."""


@dataclass(frozen=True, slots=True)
class Cover:
    """A bit as a sum of conjunctions of which at most one holds, or one minus that sum."""

    terms: tuple[Term, ...]
    complement: bool


@dataclass(frozen=True, slots=True)
class GateStep(Cover):
    """Store `signal`, which is that sum, as a bit."""

    signal: int


@dataclass(frozen=True, slots=True)
class HeadGroup:
    """Signals that one head computes together: equal scores, one value coordinate each."""

    signals: tuple[int, ...]
    wide: bool
    """Twice the sharpness, because a gate reads many raw outputs."""


@dataclass(frozen=True, slots=True)
class ScheduledLayer:
    heads: tuple[HeadGroup, ...]
    gates: tuple[GateStep, ...]
    steps: tuple[int, ...] = ()
    """`Steps` and `Total` that the feed-forward decodes; as raw as what it reads."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Layers 1, 2, …; each output is the And (or its negation) of literals at the end."""

    layers: tuple[ScheduledLayer, ...]
    outputs: tuple[tuple[str, Cover], ...]
    numbers: tuple[tuple[str, Number], ...] = ()


@dataclass(slots=True)
class _Boolean:
    """A gate that may be inlined: its covers over leaves (None: too large) and its layer."""

    on: Terms
    off: Terms
    layer: int


def schedule(
    program: Program, store_outputs: bool = False, widest: int = UNLIMITED, clean_keys: bool = True
) -> Schedule:
    """As few layers as the dependencies allow, then as few heads and hidden units.

    With `store_outputs` every output is a stored bit in the end, as a read-out needs that cannot
    add up raw head outputs. Gates of at most `widest` literals stay so: none is inlined into a
    wider one. With `clean_keys` gates that are keys of a recall read no raw outputs.
    """
    clean = keys_of_recalls(program) if clean_keys else set()
    return _Scheduler(program, store_outputs, widest, clean).run()


def keys_of_recalls(program: Program) -> set[int]:
    """What errs in a recall's keys counts many times over, so gates that are keys read stored bits,
    which are exact but for rounding, and no raw outputs."""
    return {
        literal.signal
        for signal in program.signals
        if isinstance(signal, Recall)
        for literal in signal.keys
    }


@dataclass(slots=True)
class _Scheduler:
    """The layers so far, while signals are placed in their order."""

    program: Program
    store_outputs: bool
    widest: int
    clean: set[int]
    """Gates that read stored bits only."""
    head_layer: dict[int, int] = field(default_factory=dict)
    step_layer: dict[int, int] = field(default_factory=dict)
    """The layer whose feed-forward decodes a count."""
    stored: dict[int, int] = field(default_factory=dict)
    """The layer whose feed-forward stores a signal's bit."""
    booleans: dict[int, _Boolean] = field(default_factory=dict)
    gates: dict[int, list[GateStep]] = field(default_factory=dict)
    wide: set[int] = field(default_factory=set)
    """Heads of twice the sharpness."""

    def run(self) -> Schedule:
        for at, signal in enumerate(self.program.signals):
            match signal:
                case And(literals) if at in self.clean:
                    leaves, layer = self._stored_leaves(literals)
                    self.booleans[at] = _Boolean(*self._and_covers(leaves), layer)
                case Xor(left, right) if at in self.clean:
                    sides = Literal(left, True), Literal(right, True)
                    (one, other), layer = self._stored_leaves(sides)
                    self.booleans[at] = _Boolean(*_xor_covers(one, other), layer)
                case And(literals):
                    self.booleans[at] = self._conjunction(list(literals))
                case Xor(left, right):
                    self.booleans[at] = self._xor(left, right)
                case Table(terms):
                    self.booleans[at] = self._table(terms)
                case Steps() | Total():
                    self.step_layer[at] = max(map(self._decodable, signal.reads))
                case _ if isinstance(signal, Head):
                    self.head_layer[at] = 1 + max(map(self._available, signal.reads), default=0)
                case _:
                    self.stored[at] = 0
        outputs = tuple([(name, self._output(lit)) for name, lit in self.program.outputs])
        for _, number in self.program.numbers:
            for read in number.reads:
                self._number(read)
        depth = max([0, *self.head_layer.values(), *self.step_layer.values(), *self.gates])
        steps: dict[int, list[int]] = {}
        for at, layer in self.step_layer.items():
            steps.setdefault(layer, []).append(at)
        groups = self._groups()
        layers = [
            ScheduledLayer(
                tuple(groups.get(k, ())), tuple(self.gates.get(k, ())), tuple(steps.get(k, ()))
            )
            for k in range(1, depth + 1)
        ]
        return Schedule(tuple(layers), outputs, self.program.numbers)

    def _decodable(self, count: int) -> int:
        """The first layer whose feed-forward can decode a count."""
        return self.step_layer[count] + 1 if count in self.step_layer else self.head_layer[count]

    def _number(self, signal: int) -> None:
        """A numeric output reads numbers as they are and bits as stored."""
        if not is_number(self.program.signals[signal]):
            self._store(signal)

    def _available(self, signal: int) -> int:
        """The layer after which a head can read `signal`: numeric heads as they are, else bits."""
        if is_number(self.program.signals[signal]):
            return self.head_layer[signal]
        return self._store(signal)

    # Gates

    def _stored_leaves(self, literals: Iterable[Literal]) -> tuple[list[tuple[Terms, Terms]], int]:
        """Literals as stored bits, none of them raw, and the layer that can read them."""
        read = list(literals)
        layer = 1 + max(self._store(x.signal) for x in read)
        return [([(x,)], [(~x,)]) for x in read], layer

    def _ready(self, leaf: int) -> int:
        """The first layer whose feed-forward can read this leaf."""
        if leaf in self.head_layer:  # its bit is there a layer later
            return self.head_layer[leaf]
        if leaf in self.step_layer:
            return self.step_layer[leaf] + 1
        return self.stored[leaf] + 1

    def _earliest(self, signal: int) -> int:
        """The first layer whose feed-forward can read this, or compute it."""
        gate = self.booleans.get(signal)
        return self._ready(signal) if gate is None else gate.layer

    def _is_leaf(self, signal: int) -> bool:
        return signal not in self.booleans

    def _is_raw(self, signal: int, layer: int) -> bool:
        """Whether the feed-forward of `layer` reads this as a raw head output, not as a bit."""
        raw = signal in self.head_layer or signal in self.step_layer
        return raw and self.stored.get(signal, layer) >= layer

    def _conjunction(self, literals: list[Literal]) -> _Boolean:
        layer = max([self._earliest(x.signal) for x in literals])
        inlined = [self._unless_early(x, layer) for x in literals]
        on, off = self._and_covers(inlined)
        if on is None and off is None:
            stored = [self._as_leaf(x) for x in literals]
            on, off = self._and_covers(stored)  # a conjunction of leaves is one term
            layer = max([self._ready(x.signal) for x in literals])
        return _Boolean(on, off, layer)

    def _table(self, terms: tuple[Term, ...]) -> _Boolean:
        """Its rows are a disjoint cover already, whatever their number; they read leaves."""
        literals = [literal for term in terms for literal in term]
        for literal in literals:
            self._as_leaf(literal)
        layer = max(self._ready(literal.signal) for literal in literals)
        return _Boolean(list(terms), None, layer)

    def _xor(self, left: int, right: int) -> _Boolean:
        both = [Literal(left, True), Literal(right, True)]
        layer = max(self._earliest(left), self._earliest(right))
        sides = [self._unless_early(x, layer) for x in both]
        on, off = map(self._narrow, _xor_covers(*sides))
        if on is None and off is None:
            sides = [self._as_leaf(x) for x in both]
            on, off = _xor_covers(*sides)
            layer = max(self._ready(left), self._ready(right))
        return _Boolean(on, off, layer)

    def _unless_early(self, literal: Literal, layer: int) -> tuple[Terms, Terms]:
        """Covers of a literal; a gate that can be stored in time is read as a bit instead."""
        if self._is_leaf(literal.signal):
            return [(literal,)], [(~literal,)]
        gate = self.booleans[literal.signal]
        on, off = (gate.on, gate.off) if literal.positive else (gate.off, gate.on)
        if gate.layer < layer and (on is None or len(on) > 1):
            return self._as_leaf(literal)
        return on, off

    def _as_leaf(self, literal: Literal) -> tuple[Terms, Terms]:
        if not self._is_leaf(literal.signal):
            self._store(literal.signal)
        return [(literal,)], [(~literal,)]

    def _and_covers(self, children: list[tuple[Terms, Terms]]) -> tuple[Terms, Terms]:
        """on = product of the on-covers; off = ∪ (those before hold) × (this one fails)."""
        single = [on[0] for on, _ in children if on is not None and len(on) == 1]
        rest = [child for child in children if child[0] is None or len(child[0]) != 1]
        merged = _consistent(tuple(literal for term in single for literal in term))
        on: Terms = [] if merged is None else [merged]
        for child, _ in rest:
            on = _product(on, child)
        off: Terms = []
        before: Terms = [()]
        for child_on, child_off in children:
            off = _union(off, _product(before, child_off))
            if off is None:
                break
            before = _product(before, child_on)
        return self._narrow(on), self._narrow(off)

    def _narrow(self, terms: Terms) -> Terms:
        if terms is None or self.widest == UNLIMITED:
            return terms
        return None if any(len(term) > self.widest for term in terms) else terms

    def _store(self, signal: int) -> int:
        """Make `signal` a stored bit; the layer after which it can be read."""
        if signal in self.stored:
            return self.stored[signal]
        if self._is_leaf(signal):  # a raw head output is rounded in its own layer
            layer = self._ready(signal)
            cover = Cover(((Literal(signal, True),),), False)
        else:
            gate = self.booleans[signal]
            layer = gate.layer
            sizes = [
                (sum(map(len, terms)), complement, terms)
                for terms, complement in ((gate.on, False), (gate.off, True))
                if terms is not None
            ]
            _, complement, terms = min(sizes)
            if max((self._raw_count(term, layer) for term in terms), default=0) > WIDE:
                for term in terms:
                    self._round(term)
                layer += 1
            for term in terms:
                self._sharpen(term, layer)
            cover = Cover(tuple(terms), complement)
        self.stored[signal] = layer
        self.gates.setdefault(layer, []).append(GateStep(cover.terms, cover.complement, signal))
        return layer

    def _round(self, term: Term) -> None:
        for literal in term:
            self._store(literal.signal)

    def _raw_count(self, term: Term, layer: int) -> int:
        return sum(self._is_raw(x.signal, layer) for x in term)

    def _sharpen(self, term: Term, layer: int) -> None:
        raw = [x.signal for x in term if self._is_raw(x.signal, layer)]
        if len(raw) > NARROW:
            self.wide.update(raw)

    def _output(self, literal: Literal) -> Cover:
        """The read-out is a threshold, so the last And of an output needs no gate."""
        if literal.signal < 0:
            return Cover(((),), not literal.positive)
        if self.store_outputs:
            self._store(literal.signal)
        signal = self.program.signals[literal.signal]
        narrow = isinstance(signal, And) and len(signal.literals) <= READ_OUT
        if isinstance(signal, And) and narrow and literal.signal not in self.stored:
            term = signal.literals
            for x in term:
                self._as_leaf(x)
        else:
            self._as_leaf(literal)
            term = (Literal(literal.signal, True),)
        self._sharpen(term, AT_THE_END)
        return Cover((term,), not literal.positive)

    # Heads

    def _groups(self) -> dict[int, list[HeadGroup]]:
        """Heads of one layer with equal scores become one head with several values."""
        together: dict[tuple[int, Hashable], list[int]] = {}
        for at, layer in self.head_layer.items():
            signal = self.program.signals[at]
            assert isinstance(signal, Head)
            together.setdefault((layer, signal.scores), []).append(at)
        groups: dict[int, list[HeadGroup]] = {}
        for (layer, _), signals in together.items():
            wide = not self.wide.isdisjoint(signals)
            groups.setdefault(layer, []).append(HeadGroup(tuple(signals), wide))
        return groups


def _consistent(literals: Term) -> Term | None:
    """The conjunction without duplicates, or None if it can never hold."""
    term = tuple(sorted(set(literals)))
    if any(a.signal == b.signal for a, b in pairwise(term)):
        return None
    return term


def _product(left: Terms, right: Terms) -> Terms:
    if left is None or right is None:
        return None
    if len(left) * len(right) > 4 * MOST_TERMS:
        return None
    terms = [t for x in left for y in right if (t := _consistent(x + y)) is not None]
    return _capped(terms)


def _union(left: Terms, right: Terms) -> Terms:
    if left is None or right is None:
        return None
    return _capped(left + right)


def _capped(terms: list[Term]) -> Terms:
    if len(terms) <= 1:
        return terms
    if len(terms) > MOST_TERMS or sum(map(len, terms)) > MOST_LITERALS:
        return None
    return terms


def _xor_covers(
    left: tuple[Terms, Terms],
    right: tuple[Terms, Terms],
) -> tuple[Terms, Terms]:
    on = _union(_product(left[0], right[1]), _product(left[1], right[0]))
    off = _union(_product(left[0], right[0]), _product(left[1], right[1]))
    return on, off
