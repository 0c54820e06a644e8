"""Why two signals of a program are equal on every word, as reasons that `proofs/Facts.v` checks.

An optimiser may have used laws of temporal logic, so that the formula's own signals (helpers) and
the program's differ. The situations that words lead to are enumerated; the cuts between them are an
invariant, which Coq checks by induction along the word. Nothing here is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from softhat.export.coq.cones import LETTER, OPPOSITE, Cone, ConeOpenError, Fact, cases_text
from softhat.export.coq.matcher import Matcher
from softhat.export.coq.situations import Codes, Walk
from softhat.export.coq.syntax import numbers, sequence
from softhat.export.coq.tallies import Tallies
from softhat.program.gates import And, Xor
from softhat.program.heads import Direction, Latest, Previous, Shift, StrictLatest
from softhat.program.literals import Literal
from softhat.program.signals import reads


class Reasons:
    """The facts that are needed of one matcher's signals, as Coq's reasons for them."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self.texts: list[str] = []
        self._proved: dict[tuple[Literal, Literal], bool] = {}

    def equal(self, left: Literal, right: Literal) -> bool:
        """Prove that two literals agree everywhere, if that can be done; note why."""
        if left == right:
            return True
        if (left, right) not in self._proved:
            self._proved[left, right] = self._prove(left, right)
        return self._proved[left, right]

    def _prove(self, left: Literal, right: Literal) -> bool:
        facts_before = sum(self._proved.values())
        for free, sums in product(self._free(left, right), (False, True)):
            try:
                proof = _Proof(Cone(self.matcher, (left, right), free), sums, facts_before)
            except ConeOpenError:
                continue
            if proof.complete:
                self.texts += proof.texts
                return True
        return False

    def _free(self, left: Literal, right: Literal) -> Iterator[frozenset[int]]:
        """None first; then heads that both read: what is true whatever they compute is true."""
        yield frozenset()
        common = self._below(left) & self._below(right)
        if common:
            yield frozenset(common)

    def _below(self, literal: Literal) -> set[int]:
        """The heads that a literal rests on, straight or through gates and other heads."""
        todo, seen = [literal.signal], {-1}
        heads = set()
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                signal = self.matcher.signals[at]
                if isinstance(signal, Latest | StrictLatest | Previous | Shift):
                    heads.add(at)
                if isinstance(signal, And | Xor | Latest | StrictLatest | Previous | Shift):
                    todo += reads(signal)
        return heads


class _Proof:
    """The reasons for one equation. It may use `facts_before` facts, those proved before it."""

    def __init__(self, cone: Cone, sums: bool, facts_before: int) -> None:
        self.cone = cone
        self.tallies = Tallies(cone, sums)
        cone.finish()
        self.facts = [Fact("", frozenset())] * facts_before
        self.complete = self._prove()
        # The newest fact is the equation; those from before stand at the end of the list.
        older = range(len(self.facts) - facts_before, len(self.facts))
        self.texts = [fact.text for fact in self.facts[facts_before:]] + [
            f"Only {numbers([0, *older])}"
        ]

    def _prove(self) -> bool:
        """Fill `facts` with a proof that the goal's two literals agree, if there is one.

        The cuts that words lead to are an invariant. If the literals agree in all situations after
        those cuts, one induction along the word proves it. Where they differ in a situation from
        which no word can end, the cuts that lead to an end are a second invariant, by induction
        from the other end.
        """
        cone, way = self.cone, self.cone.way
        back = [cone.returned(pair) for pair in cone.pairs if pair.direction != way]
        self.facts += [*cone.facts(), *back]
        self.facts += list(self.tallies.facts(self.facts))
        walk = Walk(cone, self.facts)
        cuts = walk.reached()
        every = [walk.situations(None), walk.situations(cuts)]
        backwards = any(s.differ.any() for s in every)
        if backwards and walk.last is None:
            return False
        ending = walk.ending(every) if backwards else cuts
        for s in every:
            if (s.differ & (s.last | np.isin(s.after, ending))).any():
                return False
        self._along(way, cuts, walk)
        if backwards:
            along = [pair for pair in cone.pairs if pair.direction == way]
            self.facts += [cone.returned(pair) for pair in along]
            self._along(OPPOSITE[way], ending, walk)
        left, right = map(_literal, cone.goal)
        order = self._order(self.facts, walk)
        self.facts.append(Fact(f"Follows (same_as {left} {right}) {order}", frozenset()))
        return True

    def _along(self, direction: Direction, cuts: Codes, walk: Walk) -> None:
        """The cuts by induction along a direction; and that it holds at the position before."""
        cone = self.cone
        edge = cone.edges[direction]
        here = [pair.signal if pair.direction == direction else pair.beside for pair in cone.pairs]
        moved = [(at, cone.beside(at, direction)) for at in here]
        before = frozenset(beside for _, beside in moved)
        start = [*self.facts, Fact("", frozenset((edge,)))]
        step = [*start, Fact("", before, eager=True)]
        way = "Past" if direction == "past" else "Future"
        pairs = sequence(f"({s}, {y})" for s, y in moved)
        orders = f"{self._order(start, walk)} {self._order(step, walk)}"
        text = f"Induction {way} {_tree(cuts, here)} {edge} {pairs} {orders}"
        self.facts.append(Fact(text, frozenset(here)))
        earlier = f"Earlier {way} 0 {edge} {pairs}"
        self.facts.append(Fact(earlier, before | {edge}, eager=True))

    def _order(self, facts: Sequence[Fact], walk: Walk) -> str:
        """Which signals to decide after each other, and which facts to look at then. The last of
        the facts has number 0."""
        cone = self.cone
        spoken = frozenset[int]().union(*(fact.about for fact in facts if not fact.local))
        known = [walk.first, *walk.moved, *walk.order]
        order = [at for at in dict.fromkeys([*known, *sorted(spoken)]) if at in spoken]
        place = {at: k for k, at in enumerate(order)}
        watch: list[list[int]] = [[] for _ in order]
        for number, fact in enumerate(reversed(facts)):
            places = [] if fact.local else sorted(place[at] for at in fact.about)
            for k in places if fact.eager else places[-1:]:
                watch[k].append(number)
        every = zip(order, watch, strict=True)
        return cases_text((at, read) for at, read in every if at != LETTER or cone.tokens)


def _tree(cuts: Codes, bits: Sequence[int]) -> str:
    """Cuts as a decision tree over the signals at one position."""

    def tree(codes: Codes, k: int) -> str:
        if not len(codes):
            return "(Neg Yes)"
        if len(codes) == 1 << (len(bits) - k):
            return "Yes"
        chosen = (codes >> k & 1).astype(np.bool_)
        yes, no = tree(codes[chosen], k + 1), tree(codes[~chosen], k + 1)
        return yes if yes == no else f"(pick {bits[k]} {yes} {no})"

    return tree(cuts, 0)


def _literal(literal: Literal) -> str:
    if literal.signal < 0:
        return "Yes" if literal.positive else "(Neg Yes)"
    return f"(Sig {literal.signal})" if literal.positive else f"(Neg (Sig {literal.signal}))"
