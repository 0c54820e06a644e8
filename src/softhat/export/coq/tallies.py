"""How comparisons of counts follow from each other, as `proofs/Tallies.v` checks it.

Of two comparisons at one position one may imply the other. And a sum over the positions so far is
what it was one position before, and what is added here: so a comparison follows from *thresholds*
of that sum, helper signals that say whether it was k or more. Only thresholds near those that
matter are looked at. A sum that comes back from beyond them may have any of the values that one
step leads to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from softhat.export.coq.cones import Cone, ConeOpenError, Fact, Values, cases_text
from softhat.export.coq.shares import CountShare, LocalShare, Shares, guard_text, shares_of
from softhat.export.coq.syntax import boolean, integer
from softhat.program.counting import CountingTerm
from softhat.program.heads import Average, Range, Sign
from softhat.program.inputs import LastPosition

MOST_THRESHOLDS = 24
MOST_VALUATIONS = 16
MOST_SIGNS = 12

Value = tuple[int, bool]
"""A comparison, and what it is."""


@dataclass(frozen=True)
class Clause:
    """Where the guard holds, and the assumed comparison at this position or one before, there the
    concluded one has its value."""

    assumed: Value | None
    before: bool
    concluded: Value
    guard: Mapping[int, bool]
    at_first: bool = False
    at_last: bool = False


class Tallies:
    """The clauses of a cone's comparisons at one position.

    With `between_positions` also those from one position to the next.
    """

    def __init__(self, cone: Cone, between_positions: bool) -> None:
        self.cone, self.matcher, self.way = cone, cone.matcher, cone.way
        self.rungs: set[int] = set()
        """All thresholds."""
        self.clauses: list[Clause] = []
        if between_positions:
            cone.include([cone.matcher.add(LastPosition())])
            self._keep()
        self.clauses += self._beside_each_other()

    def _signs(self) -> list[int]:
        signals = self.matcher.signals
        return [at for at in self.cone.leaves if isinstance(signals[at], Sign)]

    def _half(self, value: Value) -> Shares:
        """The shares of a form that is at least 0 exactly where the comparison has that value."""
        at, positive = value
        sign = self.matcher.signals[at]
        assert isinstance(sign, Sign)
        form = self.matcher.sum_of(sign)
        if positive:
            return shares_of(form.plus(CountingTerm(constant=-sign.threshold)))
        return shares_of(CountingTerm(constant=sign.threshold - 1).plus(form, -1))

    def _beside_each_other(self) -> Iterator[Clause]:
        """What single comparisons say, and one of another at the same position."""
        signs = [at for at in self._signs() if at not in self.rungs]
        if len(signs) > MOST_SIGNS:
            return
        for at, value in product(signs, (True, False)):
            yield Clause(None, False, (at, value), {})
        for one, other in product(signs, signs):
            if one != other:
                for x, y in product((True, False), repeat=2):
                    yield Clause((one, x), False, (other, y), {})

    # Sums that are kept along the word

    def _keep(self) -> None:
        done: set[int] = set()
        while todo := [at for at in self._signs() if at not in done | self.rungs]:
            for at in todo:
                done.add(at)
                if len(done) > MOST_SIGNS:
                    raise ConeOpenError
                sign = self.matcher.signals[at]
                assert isinstance(sign, Sign)
                self._keep_one(at, sign)

    def _keep_one(self, at: int, sign: Sign) -> None:
        """The thresholds that a comparison needs; all clauses of it and them."""
        form = self.matcher.sum_of(sign)
        whole = shares_of(form)
        back = whole.behind if self.way == "past" else whole.ahead
        least = sign.threshold - form.constant
        self.cone.include([*whole.here.used, *back.used])
        local = LocalShare(self.matcher, [*whole.here.parts, *back.parts])
        if whole.behind == whole.here == whole.ahead:
            self.cone.pair(at, self.way)
            for value in (True, False):
                self.clauses.append(Clause((at, value), True, (at, value), {}))
        here = local.valuations(whole.here.used)
        steps = local.valuations(back.used)
        if max(len(here), len(steps)) > MOST_VALUATIONS:
            raise ConeOpenError
        needed = {least - whole.here.amount(where) for where in here}
        levels = self._levels(needed, {back.amount(where) for where in steps})
        rungs = {k: self._threshold(back, k) for k in levels}
        for k, rung in rungs.items():
            self._steps((rung, k), back, steps, rungs)
        for lower, upper in pairwise(levels):
            self.clauses.append(Clause((rungs[upper], True), False, (rungs[lower], True), {}))
        self._steps((at, least), whole.here, here, rungs)
        self.rungs |= set(rungs.values()) - {at}

    def _levels(self, needed: set[int], amounts: set[int]) -> list[int]:
        """The thresholds, closed under what a position may add, as far as that matters."""
        far = max(map(abs, needed), default=0) + max(map(abs, amounts), default=0)
        levels: set[int] = set()
        todo = list(needed)
        while todo:
            k = todo.pop()
            certain = k <= 0 <= min(amounts) or (k > 0 and max(amounts) <= 0)
            if k not in levels and not certain and abs(k) <= far:
                levels.add(k)
                todo += (k - amount for amount in amounts)
        if len(levels) > MOST_THRESHOLDS:
            raise ConeOpenError
        return sorted(levels)

    def _threshold(self, back: CountShare, k: int) -> int:
        """The signal that says whether what positions up to here add is k or more."""
        over: Range = self.way
        terms = tuple((back.parts[s], s) for s in back.used)
        mean = self.matcher.add(Average(terms, over)) if terms else None
        if self.way == "past":
            sign = Sign(mean, None, None, back.each, 0, k)
        else:
            sign = Sign(None, mean, None, -back.each, back.each, k - back.each)
        rung = self.matcher.add(sign)
        self.cone.include([rung])
        self.cone.pair(rung, self.way)
        return rung

    def _steps(
        self,
        target: tuple[int, int],
        adds: CountShare,
        valuations: Sequence[Mapping[int, bool]],
        rungs: Mapping[int, int],
    ) -> None:
        """A comparison with k, from the thresholds one position before and what is added here."""
        at, k = target
        for where in valuations:
            rest = k - adds.amount(where)
            above = min((level for level in rungs if level >= rest), default=None)
            below = max((level for level in rungs if level <= rest), default=None)
            for level, value in ((above, True), (below, False)):
                if level is not None:
                    self._variants((rungs[level], value), (at, value), where)
                self._variants(None, (at, value), where)

    def _variants(self, assumed: Value | None, concluded: Value, where: Mapping[int, bool]) -> None:
        """The clause inside a word, and at its ends, where there is no position on one side."""
        edges = [(False, False)]
        if "future" in self.cone.edges:
            edges.append((False, True))
        if assumed is None:
            edges += [(True, last) for _, last in edges]
        elif self.way == "future":
            edges = [(last, first) for first, last in edges]
        before = assumed is not None
        self.clauses += (Clause(assumed, before, concluded, where, *edge) for edge in edges)

    # Facts

    def facts(self, earlier: Sequence[Fact]) -> Iterator[Fact]:
        """All clauses that are true, as facts; `earlier` are those that are known before them."""
        listed = list(earlier)
        proved: set[tuple[object, ...]] = set()
        for clause in self.clauses:
            where = tuple(sorted(clause.guard.items()))
            key = (clause.assumed, clause.before, clause.concluded, where)
            if key in proved:
                continue  # as such, so at an edge
            facts = list(self._fact(clause, listed))
            listed += facts
            yield from facts
            if facts and not (clause.at_first or clause.at_last):
                proved.add(key)

    def _fact(self, clause: Clause, earlier: Sequence[Fact]) -> Iterator[Fact]:
        target = self._half(clause.concluded)
        nothing = CountShare({}, 0)
        source = Shares(nothing, nothing, nothing, 0)
        if clause.assumed is not None:
            source = self._half(clause.assumed)
        near, there = None, source.here
        if clause.before and self.way == "past":
            near, there = target.behind.less(source.here), source.ahead
        elif clause.before:
            near, there = target.ahead.less(source.here), source.behind
        here = target.here.less(there)
        far_behind, far_ahead = (
            target.behind.less(source.behind),
            target.ahead.less(source.ahead),
        )
        local = self._local([far_behind, far_ahead, here, *([near] if near else [])], clause.guard)
        if local is None:
            return
        for far, skipped in ((far_behind, clause.at_first), (far_ahead, clause.at_last)):
            bound = local.least(far, {})
            if not skipped and (bound is None or bound < 0):
                return
        near_adds = 0 if near is None else local.least(near, {})
        here_adds = local.least(here, clause.guard)
        if near_adds is None or here_adds is None:
            return
        if target.constant - source.constant + near_adds + here_adds < 0:
            return
        # What sets of symbols and gates say must be known first.
        texts = {fact.text for fact in earlier}
        missing = [fact for fact in self._defined(local) if fact.text not in texts]
        yield from missing
        yield self._clause_fact(clause, local, [*earlier, *missing], near_adds, here_adds)

    def _local(self, shares: Iterable[CountShare], guard: Mapping[int, bool]) -> LocalShare | None:
        signals = {signal for share in shares for signal in share.parts} | guard.keys()
        try:
            return LocalShare(self.matcher, sorted(signals))
        except ConeOpenError:
            return None

    def _defined(self, local: LocalShare) -> Iterator[Fact]:
        for at in local.order:
            for text in local.definition(at):
                yield Fact(text, frozenset(), local=True)

    def _clause_fact(
        self, clause: Clause, local: LocalShare, earlier: Sequence[Fact], near: int, here: int
    ) -> Fact:
        far = self._order(local, earlier)
        cases = (far, far, far, self._order(local, earlier, clause.guard))
        way = "Past" if self.way == "past" else "Future"
        distance = f"(OneBefore {way})" if clause.before else "Together"
        at, value = clause.concluded
        assumed, beside = "None", 0
        about = {at, *clause.guard}
        edge = self.cone.edges[self.way]
        if clause.assumed is not None:
            source, held = clause.assumed
            assumed = f"(Some ({source}, {boolean(held)}))"
            beside = self.cone.beside(source, self.way) if clause.before else source
            about |= {beside, edge} if clause.before else {beside}
        first, last = self.cone.edges["past"], self.cone.edges.get("future", 0)
        about |= {first} if clause.at_first else set()
        about |= {last} if clause.at_last else set()
        text = (
            f"Weighs (Tally {assumed} {distance} ({at}, {boolean(value)}) "
            f"{guard_text(clause.guard)} {boolean(clause.at_first)} {boolean(clause.at_last)} "
            f"{integer(near)} {integer(here)} {' '.join(cases)}) {beside} {edge} {first} {last}"
        )

        def holds(v: Values) -> object:
            wrong = v[at] != value
            for signal, x in clause.guard.items():
                wrong = wrong & (v[signal] == x)
            if clause.assumed is not None:
                wrong = wrong & (v[beside] == clause.assumed[1])
                if clause.before:
                    wrong = wrong & ~v[edge]
            if clause.at_first:
                wrong = wrong & v[first]
            if clause.at_last:
                wrong = wrong & v[last]
            return ~wrong

        return Fact(text, frozenset(about), holds)

    def _order(
        self, local: LocalShare, earlier: Sequence[Fact], guard: Mapping[int, bool] | None = None
    ) -> str:
        """Cases over the signals of one position. The guard, where there is one, is the newest
        fact."""
        shift = 0 if guard is None else 1
        place = {fact.text: k + shift for k, fact in enumerate(reversed(earlier))}
        decided: set[int] = set()
        watched = []
        for at in local.order:
            decided.add(at)
            watch = [place[text] for text in local.definition(at)]
            watched.append((at, [*watch, 0] if guard and guard.keys() <= decided else watch))
        return cases_text(watched)
