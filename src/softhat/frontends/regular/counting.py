"""Solvable groups by counting: constant depth, where no symbol does more than permute or reset.

**Theorem 40.** Let every symbol permute the states of an automaton, and let the permutations
generate a solvable group G = G₀ ▷ G₁ ▷ … ▷ 1 with cyclic quotients of orders m₁, m₂, …; let t₁, t₂,
… be elements whose powers represent them. Then the product of the permutations of a prefix is
t_D^(r_D) ··· t₂^(r₂) t₁^(r₁), where r_k is a sum over the positions modulo m_k: each adds a number
that depends on its symbol and on r₁, …, r_(k-1) at the position before.

*Proof.* Let P be the product of a prefix that ends before symbol s, P = h·t₁^r with h in G₁. If s
lies in G₁·t₁^e, then P·s = h·(t₁^r s t₁^-(r+e))·t₁^(r+e), and the factor in the middle lies in G₁.
So the exponents of t₁ add up, and h is a product of elements of G₁ that depend on s and r. Go on
with G₁.

A symbol that resets the automaton to one state needs the product since the last reset: that of now
after the inverse of that of then, which one head reads. States that are never left again are taken
out, and `O` says whether one was entered.

A number of positions is one `Width` head, whose binary digits modulo m `Steps` decode exactly: N
hidden units, and as many layers as the series needs, whatever the length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from softhat.frontends.regular.dfa import DFA
from softhat.frontends.regular.groups import (
    MOST_ELEMENTS,
    CyclicStep,
    Permutation,
    cyclic_series,
    generated,
    inverse,
    then,
)
from softhat.program.draft import Draft
from softhat.program.gates import Steps, Total
from softhat.program.heads import Latest, Previous, Selector, Width
from softhat.program.literals import FALSE, TRUE, Literal, possible, spelled
from softhat.program.signals import Program

MOST_COUNTED = 2_048
"""No longer count is certified in float32."""
MOST_ROWS = 20_000
"""Of the table that says the state from the product now, the product then, and the reset."""
Code = tuple[int, ...]
"""r₁, r₂, …"""


@dataclass(frozen=True, slots=True)
class PermutationReset:
    """An automaton whose symbols permute its states or reset it, apart from states never left."""

    states: tuple[int, ...]
    """Those that can be left, the first one first."""
    permutes: dict[int, Permutation]
    """Symbols and what they do, by places in `states`."""
    resets: dict[int, int]
    """Symbols and the place that they lead to."""
    series: tuple[CyclicStep, ...]

    @property
    def orders(self) -> tuple[int, ...]:
        return tuple(step.order for step in self.series)


def permutation_reset(dfa: DFA) -> PermutationReset | str:
    """The automaton, if its symbols permute or reset and generate a solvable group; else the
    reason why not."""
    moving = [q for q, row in enumerate(dfa.step) if any(to != q for to in row)]
    if dfa.start not in moving:
        return "its first state is never left"
    states = (dfa.start, *(q for q in moving if q != dfa.start))
    place = {q: at for at, q in enumerate(states)}
    permutes: dict[int, Permutation] = {}
    resets: dict[int, int] = {}
    for symbol in range(len(dfa.alphabet)):
        moves = {place[q]: place[to] for q in states if (to := dfa.step[q][symbol]) in place}
        if len(set(moves.values())) == len(moves):
            permutes[symbol] = _filled(moves, len(states))
        elif len(set(moves.values())) == 1:
            resets[symbol] = next(iter(moves.values()))
        else:
            shown = dfa.alphabet[symbol]
            return f"the symbol {shown} neither permutes the states nor leads to one of them"
    group = generated(permutes.values(), len(states))
    if group is None:
        return f"its symbols generate a group of over {MOST_ELEMENTS} permutations"
    series = cyclic_series(group)
    if series is None:
        return f"its symbols generate a group of {len(group)} permutations that is not solvable"
    if len(group) == 1:
        return "it counts nothing"
    if resets and len(set(resets.values())) * len(group) ** 2 > MOST_ROWS:
        return f"its table of states has over {MOST_ROWS:,} rows"
    return PermutationReset(states, permutes, resets, tuple(series))


def _filled(moves: dict[int, int], size: int) -> Permutation:
    """A permutation that does these moves, and leaves in place what it can."""
    free = set(range(size)) - set(moves.values())
    images = dict(moves)
    rest = [q for q in range(size) if q not in moves]
    for q in rest:
        if q in free:
            images[q] = q
            free.discard(q)
    for q in rest:
        if q not in images:
            images[q] = free.pop()
    return tuple(images[q] for q in range(size))


def counted_program(
    dfa: DFA, machine: PermutationReset, symbols: Sequence[str], longest: int, output: str
) -> Program:
    """The attention program of Theorem 40 for words up to `longest`."""
    counting = _Counting(Draft(symbols), dfa, machine, longest)
    return counting.draft.finish({output: counting.accepts()})


@dataclass(frozen=True, slots=True)
class _Counting:
    """The program of one automaton while it is written: counts, then the state, then the answer."""

    draft: Draft
    dfa: DFA
    machine: PermutationReset
    longest: int

    def accepts(self) -> Literal:
        """The state accepts, or a state that is never left was entered and accepts (`won`), unless
        one that rejects was entered before (`lost`)."""
        inside = {at for at, q in enumerate(self.machine.states) if q in self.dfa.accepting}
        rows = self._states(self._product())
        yes = self._table([row for row, state in rows if state in inside], "accepts")
        lost, won = self._enters_last(rows, False), self._enters_last(rows, True)
        alive = ~self._once(lost, "lost")
        won_first = self._once(self._and(won, alive), "won")
        return ~self._and(~won_first, ~self._and(yes, alive))

    # The product of all permutations so far

    def _product(self) -> list[tuple[Literal, ...]]:
        """For each step of the series the binary digits of r."""
        one = tuple(range(len(self.machine.states)))
        elements: dict[tuple[Code, int], Permutation] = {
            ((), symbol): self.machine.permutes.get(symbol, one)
            for symbol in range(len(self.dfa.alphabet))
        }
        now: list[tuple[Literal, ...]] = []
        before: list[tuple[Literal, ...]] = []
        for depth, step in enumerate(self.machine.series):
            count = self._count(step, elements, before, depth)
            digits = [
                self._residue(count, step.order, b) for b in range((step.order - 1).bit_length())
            ]
            now.append(tuple(digits))
            before.append(
                tuple(self.draft.add(Previous(d, "past"), f"before: r{depth + 1}") for d in digits)
            )
            elements = {
                ((*code, r), symbol): then(
                    then(step.chosen[r], element),
                    inverse(step.chosen[(r + step.power[element]) % step.order]),
                )
                for (code, symbol), element in elements.items()
                for r in range(step.order)
            }
        return now

    def _count(
        self,
        step: CyclicStep,
        elements: dict[tuple[Code, int], Permutation],
        before: list[tuple[Literal, ...]],
        depth: int,
    ) -> int:
        """The signal of the number that is added up."""
        terms: dict[int, list[tuple[Literal, ...]]] = {}
        for code in dict.fromkeys(code for code, _ in elements):
            by_power: dict[int, list[str]] = {}
            for symbol, name in enumerate(self.dfa.alphabet):
                by_power.setdefault(step.power[elements[code, symbol]], []).append(name)
            for power, names in by_power.items():
                if power:
                    row = (*_code(before, code), self.draft.token(names))
                    terms.setdefault(power, []).append(row)
        widths = []
        for power, rows in sorted(terms.items()):
            key = self._table(rows, f"adds {power} to r{depth + 1}")
            selector = Selector((TRUE,), (key,), ((0, 0),), "<=", self.longest)
            width = self.draft.add(Width(selector), f"how many add {power} to r{depth + 1}")
            widths.append((power, width.signal))
        if len(widths) == 1 and widths[0][0] == 1:
            return widths[0][1]
        total = Total(tuple(widths), self.longest)
        return self.draft.add(total, f"sum of what is added to r{depth + 1}").signal

    def _residue(self, count: int, order: int, bit: int) -> Literal:
        """A binary digit of the count modulo `order`."""
        most = self.longest
        gate = self.draft.signals[count]
        if isinstance(gate, Total):
            most *= max(power for power, _ in gate.terms)
        values = [(w % order) >> bit & 1 for w in range(most + 1)]
        turns = tuple(w for w in range(1, most + 1) if values[w] != values[w - 1])
        return self.draft.add(Steps(count, turns), f"digit {bit} of a count modulo {order}")

    # States

    def _states(self, now: list[tuple[Literal, ...]]) -> list[tuple[tuple[Literal, ...], int]]:
        """Conjunctions, of which one holds at every position, and the state that each means."""
        codes = list(product(*(range(order) for order in self.machine.orders)))
        acts = {code: self._element(code) for code in codes}
        if not self.machine.resets:
            return [(_code(now, code), acts[code][0]) for code in codes]
        names = {s: self.dfa.alphabet[s] for s in self.machine.resets}
        reset = self.draft.token(names.values())
        at_reset = [tuple(self._at_reset(d, reset) for d in digits) for digits in now]
        targets = sorted(set(self.machine.resets.values()))
        size = len(targets).bit_length()
        # Number 0 is "no reset yet": the first state, and the product of no symbol.
        chosen = [
            self._at_reset(
                self.draft.token(
                    name for s, name in names.items()
                    if (targets.index(self.machine.resets[s]) + 1) >> b & 1
                ),
                reset,
            )
            for b in range(size)
        ]  # fmt: skip
        rows = []
        for number, start in enumerate([0, *targets]):
            literals = spelled(chosen, number)
            for old in codes if number else [tuple(0 for _ in now)]:
                back = inverse(acts[old])
                for code in codes:
                    state = acts[code][back[start]]
                    rows.append(((*literals, *_code(at_reset, old), *_code(now, code)), state))
        return rows

    def _element(self, code: Code) -> Permutation:
        """The permutation t_D^(r_D) ··· t₁^(r₁)."""
        whole: Permutation = tuple(range(len(self.machine.states)))
        for step, r in zip(self.machine.series, code, strict=True):
            whole = then(step.chosen[r], whole)
        return whole

    def _at_reset(self, bit: Literal, reset: Literal) -> Literal:
        """What the bit was at the last reset; false if there was none."""
        value = self._and(bit, reset)
        if value == FALSE:
            return FALSE
        return self.draft.add(Latest(~reset, value, "past"), "at the last reset")

    def _enters_last(self, rows: list[tuple[tuple[Literal, ...], int]], accepting: bool) -> Literal:
        """A state that is never left is entered here, from the state before."""
        edges: dict[int, list[str]] = {}
        for at, q in enumerate(self.machine.states):
            for symbol, to in enumerate(self.dfa.step[q]):
                if to not in self.machine.states and (to in self.dfa.accepting) == accepting:
                    edges.setdefault(at, []).append(self.dfa.alphabet[symbol])
        if not edges:
            return FALSE
        size = (len(self.machine.states) - 1).bit_length()
        before = []
        for b in range(size):
            digit = self._table([row for row, state in rows if state >> b & 1], f"state bit {b}")
            before.append(
                FALSE if digit == FALSE else self.draft.add(Previous(digit, "past"), "state before")
            )
        terms = [(*spelled(before, at), self.draft.token(names)) for at, names in edges.items()]
        return self._table(terms, "never left again")

    # Gates

    def _once(self, bit: Literal, label: str) -> Literal:
        """The bit held here or before."""
        if bit.signal < 0:
            return bit
        return self.draft.add(Latest(~bit, bit, "past"), label)

    def _and(self, *literals: Literal) -> Literal:
        return self.draft.conjunction(literals, "and")

    def _table(self, rows: list[tuple[Literal, ...]], label: str) -> Literal:
        """One of these conjunctions holds; digits tell them apart."""
        return self.draft.table(sorted(possible(rows)), label)


def _code(digits: list[tuple[Literal, ...]], code: Code) -> tuple[Literal, ...]:
    """r₁, r₂, … are these numbers."""
    return tuple(
        literal for row, r in zip(digits, code, strict=True) for literal in spelled(row, r)
    )
