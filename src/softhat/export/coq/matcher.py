"""A program's signals by what they compute, and helpers where it has none.

Two Boolean functions of signals are compared in canonical form. Where the program has no signal
for an operator, because the compiler joined several operators into one head, a *helper* signal is
added, which no weight computes: it stands for the operator in the proof alone. Nothing here is
trusted: Coq checks every hint.
"""

from __future__ import annotations

from collections.abc import Sequence

from softhat.export.coq.inputs import Inputs, is_given
from softhat.export.coq.linear import at_one, direction_of, extreme
from softhat.export.coq.syntax import boolean
from softhat.program import heads
from softhat.program.counting import SIZES, CountingTerm, counted
from softhat.program.gates import And, Xor
from softhat.program.inputs import FirstPosition, LastPosition, TokenIn
from softhat.program.literals import FALSE, TRUE, Literal
from softhat.program.signals import Program, Signal
from softhat.proof.boolean import Space


class Matcher:
    """A program with helper signals, and what each signal computes."""

    def __init__(self, program: Program, inputs: Inputs) -> None:
        self.inputs = inputs
        self.space = Space(program.symbols, program.propositional)
        self.signals: list[Signal] = []
        self.own = len(program.signals)
        self._functions: list[int] = []
        self._same: dict[Signal, int] = {}
        self._literals: dict[int, Literal] = {self.space.true: TRUE, self.space.false: FALSE}
        self._conjunctions: dict[int, tuple[int, int]] = {}
        """Conjunctions by their function: what they join."""
        self._latest: dict[tuple[heads.Direction, int, int], int] = {}
        self._strict: dict[tuple[heads.Direction, int, int], heads.StrictLatest] = {}
        self._shifted: dict[tuple[heads.Direction, int], Literal] = {}
        self._previous: dict[tuple[heads.Direction, int], int] = {}
        self._heads: dict[int, int] = {}
        """The signal of an atom."""
        self._signs: dict[tuple[object, ...], list[int]] = {}
        self._counted = {
            read
            for signal in program.signals
            if isinstance(signal, heads.Average)
            for read in signal.reads
        }
        for signal in program.signals:
            self.add(signal)

    @property
    def helpers(self) -> Sequence[Signal]:
        return self.signals[self.own :]

    # Signals

    def add(self, signal: Signal) -> int:
        """A signal, new or found again."""
        if signal in self._same:
            return self._same[signal]
        at = len(self.signals)
        self._same[signal] = at
        self.signals.append(signal)
        function = self._function(signal, at)
        self._functions.append(function)
        if not isinstance(signal, heads.Average):
            self._heads.setdefault(function, at)
            preferred = at in self._counted and at < self.own
            if preferred or function not in self._literals:
                self._literals[function] = Literal(at, True)
                self._literals[self.space.negation(function)] = Literal(at, False)
        self._remember(signal, at)
        return at

    def of(self, literal: Literal) -> int:
        """The function of a literal."""
        if literal.signal < 0:
            return self.space.true if literal.positive else self.space.false
        function = self._functions[literal.signal]
        return function if literal.positive else self.space.negation(function)

    def _function(self, signal: Signal, at: int) -> int:
        space = self.space
        match signal:
            case TokenIn(symbols) if not space.propositional:
                return space.symbols(sum(1 << space.rank[s] for s in symbols))
            case And(literals):
                return space.every(map(self.of, literals))
            case Xor(left, right):
                return space.differ(self._functions[left], self._functions[right])
        if is_given(signal, space.propositional):
            return space.atom(("input", self.inputs.text(signal)), at << 8)
        return space.atom(("signal", at), at << 8)

    def _remember(self, signal: Signal, at: int) -> None:
        match signal:
            case heads.Latest(bad, value, direction):
                self._latest.setdefault((direction, self.of(bad), self.of(value)), at)
            case heads.StrictLatest(bad, value, direction):
                self._strict.setdefault((direction, self.of(bad), self.of(value)), signal)
            case heads.Previous(value, direction):
                self._previous.setdefault((direction, self.of(value)), at)
            case heads.Shift(value, _, direction):
                self._shifted.setdefault((direction, self.of(value)), value)
            case heads.Sign():
                self._signs.setdefault(direction_of(self.sum_of(signal))[0], []).append(at)

    def sum_of(self, sign: heads.Sign) -> CountingTerm:
        """What a Sign compares with its threshold."""
        form = CountingTerm({}, sign.position, sign.length)
        for average in sign.averages:
            mean = self.signals[average]
            assert isinstance(mean, heads.Average)
            for a, read in mean.terms:
                form = form.plus(counted(Literal(read, True), mean.range), a)
        return form

    # Functions

    def both(self, f: int, g: int) -> int:
        function = self.space.both(f, g)
        if function not in (f, g) and self.space.negation(function) not in self._conjunctions:
            self._conjunctions.setdefault(function, (f, g))  # the first way: its parts are older
        return function

    def differ(self, f: int, g: int) -> int:
        no = self.space.negation
        return no(self.both(no(self.both(f, no(g))), no(self.both(no(f), g))))

    def literal(self, function: int) -> Literal:
        """A literal that computes it; helper gates where the program has none."""
        stack = [function]
        while stack:
            now = stack[-1]
            if now in self._literals:
                stack.pop()
                continue
            parts = self._conjunctions.get(now)
            symbols = self.space.mask_of(now)
            if symbols is not None:
                names = [name for name, at in self.space.rank.items() if symbols >> at & 1]
                self.add(TokenIn(tuple(names)))
            elif parts is None:
                stack[-1] = self.space.negation(now)
            elif missing := [part for part in parts if part not in self._literals]:
                stack += missing
            else:
                self.add(And(tuple(self._literals[part] for part in parts)))
        return self._literals[function]

    # Operators

    def since(self, direction: heads.Direction, f: int, g: int) -> tuple[str, int]:
        """The hint of `f S g` (`f U g`), and its function."""
        no = self.space.negation
        bad = self.both(f, no(g))
        if g == self.space.false:
            return "Never", g
        if bad == self.space.false:
            return "Here", g
        at = self._latest.get((direction, bad, g))
        if at is None:
            strict = self._strict.get((direction, bad, g))
            literals = (
                (strict.bad, strict.value)
                if strict is not None
                else (self.literal(bad), self.literal(g))
            )
            at = self.add(heads.Latest(*literals, direction))
        return f"Through {at}", self._functions[at]

    def step(self, direction: heads.Direction, f: int) -> tuple[str, int]:
        """The hint of `Y f` (`X f`), and its function."""
        space = self.space
        edge_signal = FirstPosition() if direction == "past" else LastPosition()
        if f == space.false:
            return "Never", f
        if f == space.true:
            edge = self.add(edge_signal)
            return f"Edge {edge}", space.negation(self._functions[edge])
        at = self._previous.get((direction, f))
        if at is not None:
            return f"Through {at}", self._functions[at]
        for positive in (True, False):
            inner = self._heads.get(f if positive else space.negation(f))
            beyond = None if inner is None else self._beyond(inner, direction)
            if beyond is None:
                continue
            if positive:
                return f"Beyond {beyond} {inner} true 0", self._functions[beyond]
            edge = self.add(edge_signal)
            no = space.negation
            function = self.both(no(self._functions[edge]), no(self._functions[beyond]))
            return f"Beyond {beyond} {inner} false {edge}", function
        value = self._shifted.get((direction, f)) or self.literal(f)
        at = self.add(heads.Previous(value, direction))
        return f"Through {at}", self._functions[at]

    def _beyond(self, inner: int, direction: heads.Direction) -> int | None:
        """The signal that is `inner`, seen from the next position; a helper if that is a shift."""
        match self.signals[inner]:
            case heads.Latest(bad, value, same) if same == direction:
                return self._same.get(heads.StrictLatest(bad, value, direction))
            case heads.Previous(value, same) if same == direction:
                return self.add(heads.Shift(value, 2, direction))
            case heads.Shift(value, distance, same) if same == direction:
                return self.add(heads.Shift(value, distance + 1, direction))
        return None

    def at_least(self, form: CountingTerm, bound: int) -> tuple[str, int]:
        """The hint of `form >= bound`, and its function.

        A signal of the program comes first, even for what is always true: where the compiler built
        a comparison as written, others count that very signal."""
        space = self.space
        direction, factor = direction_of(form)
        for at in self._signs.get(direction, ()) if factor else ():
            sign = self.signals[at]
            assert isinstance(sign, heads.Sign)
            other = self.sum_of(sign)
            d, rest = divmod(factor, direction_of(other)[1])
            if rest:
                continue
            turned = d < 0
            floor = (form.constant - bound) // abs(d)
            if sign.threshold - other.constant == (floor + 1 if turned else -floor):
                function = self._functions[at]
                hint = f"Compared {at} {abs(d)} {boolean(turned)}"
                return hint, space.negation(function) if turned else function
        low, high = extreme(form, -1), extreme(form, 1)
        if low.length >= 0 and low.position + low.length >= 0 and bound <= at_one(low):
            return "Decided true", space.true
        if high.length <= 0 and high.position + high.length <= 0 and bound > at_one(high):
            return "Decided false", space.false
        return self._new_sign(form, bound, abs(factor))

    def _new_sign(self, form: CountingTerm, bound: int, divisor: int) -> tuple[str, int]:
        """A helper for `form >= bound`, with coprime coefficients."""
        averages: dict[heads.Range, int] = {}
        for over in SIZES:
            terms = [
                (a // divisor, signal)
                for (r, signal), a in sorted(form.counts.items())
                if r == over
            ]
            if terms:
                averages[over] = self.add(heads.Average(tuple(terms), over))
        past, future, total = (averages.get(over) for over in SIZES)
        position, length = form.position // divisor, form.length // divisor
        threshold = -((form.constant - bound) // divisor)
        at = self.add(heads.Sign(past, future, total, position, length, threshold))
        return f"Compared {at} {divisor} false", self._functions[at]
