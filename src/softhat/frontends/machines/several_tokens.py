"""A Turing machine's step as several tokens: what is done, then for each head that moves the one
digit of its address that the move flips.

    q/aR/bS    go to state q; write a on the first tape and go right, write b on the second and stay
    @1.3+o     the first tape's head now has digit 3 set, and stands on an odd cell

The input is written in the same way, `=aR` and a digit for each symbol; `go` starts the machine at
cell 0 of every tape. A halting step's digits are left out. So the vocabulary grows with the actions
and with the digits, not with their product, and a token that writes stands where the digits are
those of the cell that it writes: they are the keys of what is recalled.

On one-sided tapes a head on cell 0, whose digits are all 0, has no digit to flip when it
is told to go left.

What the last action was (the next state, which heads move and where to) are bits of the last token
that acts. Every history has exactly one next token, whatever these bits are: states and symbols are
read by `TapeReading`, and each turn is somebody's.

A step is right: on a history that is a prompt and the tokens of the first t steps, none of which
left the window, the formulas give the tokens of step t + 1 one after the other, `full` where a head
would leave the window, and `<eos>` if the machine has halted. The argument is that of `one_token`,
for each tape. Machine-checked: `tapes_step` and `tapes_run` of proofs/StepTapes.v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from softhat.frontends.machines.gray import far_flips, far_leaves, flip
from softhat.frontends.machines.machine import EOS, GO
from softhat.frontends.machines.tapes import TapeReading, symbol_bits
from softhat.frontends.machines.tokens import NOTHING_YET, TokenSets, all_of, any_of
from softhat.frontends.machines.turing import (
    ANY,
    FULL,
    INPUT,
    MOVES,
    Action,
    TuringMachine,
    written,
)
from softhat.logic.syntax.nodes import FALSE, TRUE, And, Formula, Not, Or, Since, recall

Flip = tuple[int, int, int, int]
"""The tape, the digit that is flipped, its new value, and whether the new cell is odd."""


def _flips(machine: TuringMachine) -> dict[str, Flip]:
    return {
        f"@{tape + 1}.{b}{'-+'[value]}{'eo'[odd]}": (tape, b, value, odd)
        for tape in range(machine.tapes)
        if tape == 0 or any(action.move[tape] != "S" for action in machine.actions)
        for b in range(machine.bits)
        for value in (0, 1)
        for odd in (0, 1)
    }


def actions(machine: TuringMachine) -> dict[str, Action]:
    """What each token does that writes."""
    inputs = [written(symbol) for symbol in machine.symbols]
    return {action.name: action for action in (*inputs, *machine.actions)}


def tokens(machine: TuringMachine) -> list[str]:
    return [*actions(machine), GO, *_flips(machine), FULL]


def spelled(machine: TuringMachine, action: Action, heads: Sequence[int]) -> list[str]:
    """The tokens of a step from these cells."""
    names = [action.name]
    if action.next in machine.halting:
        return names
    for tape, move in enumerate(action.move):
        if move == "S" or (machine.one_sided and move == "L" and heads[tape] == 0):
            continue
        flipped = flip(heads[tape], MOVES[move], machine.bits)
        if flipped is None:
            return [*names, FULL]
        odd = (heads[tape] + MOVES[move]) % 2
        names.append(f"@{tape + 1}.{flipped[0]}{'-+'[flipped[1]]}{'eo'[odd]}")
    return names


class _History:
    """What formulas say about a history."""

    def __init__(self, machine: TuringMachine) -> None:
        self.machine = machine
        self.named = actions(machine)
        self.flips = _flips(machine)
        self.told = TokenSets(machine.tokens).one_of
        self.acting = self.told(list(self.named))
        self.going_on = self.told(
            [n for n, a in self.named.items() if a.next not in machine.halting]
        )
        self._before = Not(Or(self.acting, self.told([GO])))
        self.digits = [self._digits(tape) for tape in range(machine.tapes)]
        self.odd = [self._odd(tape) for tape in range(machine.tapes)]
        self.reads = [self._reads(tape) for tape in range(machine.tapes)]
        self.running = self._running()
        self.writing_input = self.last(lambda action: action.next == INPUT)
        self.right = [self.last(lambda a, t=t: self._goes(a, t, "R")) for t in self._tapes]
        self.moves = [self._moves(tape) for tape in self._tapes]

    @property
    def _tapes(self) -> range:
        return range(self.machine.tapes)

    def last(self, holds: Callable[..., bool]) -> Formula:
        """Did this hold of the last token that acted?"""
        names = [name for name, action in self.named.items() if holds(action)]
        return Since(self._before, self.told(names))

    def _moves(self, tape: int) -> Formula:
        """Does the last action move this tape's head? Asked only until the head has moved."""
        asked = self.last(lambda action: self._goes(action, tape, "LR"))
        if not self.machine.one_sided:
            return asked
        at_0 = all_of([Not(digit) for digit in self.digits[tape]])
        return And(asked, Or(self.right[tape], Not(at_0)))

    def _goes(self, action: Action, tape: int, moves: str) -> bool:
        if action.next in self.machine.halting or tape >= len(action.move):
            return False
        return action.move[tape] in moves

    def _digits(self, tape: int) -> list[Formula]:
        digits: list[Formula] = []
        for b in range(self.machine.bits):
            touch = self.told([GO, *(n for n, f in self.flips.items() if f[:2] == (tape, b))])
            sets = self.told([n for n, f in self.flips.items() if f[:3] == (tape, b, 1)])
            digits.append(Since(Not(touch), sets))
        return digits

    def _odd(self, tape: int) -> Formula:
        moved = self.told([GO, *(n for n, f in self.flips.items() if f[0] == tape)])
        odd = self.told([n for n, f in self.flips.items() if (f[0], f[3]) == (tape, 1)])
        return Since(Not(moved), odd)

    def _reads(self, tape: int) -> TapeReading:
        writes = {
            n: a.write[tape]
            for n, a in self.named.items()
            if tape < len(a.write) and a.write[tape] != ANY
        }
        digits = self.digits[tape]
        code = [(self.told(list(writes)), TRUE), *zip(digits, digits, strict=True)]
        bits = [
            recall(self.told([n for n, symbol in writes.items() if symbol in chosen]), *code)
            for chosen in symbol_bits(self.machine.symbols)
        ]
        return TapeReading(self.machine.symbols, bits)

    def _running(self) -> TapeReading:
        """The digits of the state's number; the start state has number 0."""
        m = self.machine
        states = [m.start, *(s for s in m.states if s != m.start and s not in m.halting)]
        bits = []
        for chosen in symbol_bits(states):
            bits.append(self.last(lambda action, chosen=chosen: action.next in chosen))
        return TapeReading(states, bits)

    def due(self, tape: int) -> Formula:
        """The next token says where this tape's head went."""
        places = [self.going_on, *(self.flipped(before) for before in range(tape))]
        after = []
        for at, place in enumerate(places):
            after.append(all_of([place, *(Not(self.moves[t]) for t in range(at, tape))]))
        return And(self.moves[tape], any_of(after))

    def flipped(self, tape: int) -> Formula:
        return self.told([n for n, f in self.flips.items() if f[0] == tape])

    def turn(self) -> Formula:
        """The next token acts."""
        places = [self.going_on, *(self.flipped(tape) for tape in self._tapes)]
        cases = [
            all_of([place, *(Not(self.moves[t]) for t in range(at, self.machine.tapes))])
            for at, place in enumerate(places)
        ]
        return any_of([self.told([GO]), *cases])


def formulas(machine: TuringMachine) -> dict[str, Formula]:
    """This token comes next, for each of them."""
    h = _History(machine)
    rules: dict[str, Formula] = dict.fromkeys(machine.tokens, FALSE)
    turn = And(h.turn(), Not(h.writing_input))
    sources: dict[Action, list[Formula]] = {}
    for state, read, action in machine.table:
        looks = [h.reads[t][symbol] for t, symbol in enumerate(read) if symbol != ANY]
        here = [h.running[state], *looks]
        sources.setdefault(action, []).append(all_of(here))
    for action, cases in sources.items():
        rules[action.name] = And(turn, any_of(cases))
    leaving = []
    for tape in sorted({where for where, _, _, _ in h.flips.values()}):
        due, right, odd = h.due(tape), h.right[tape], h.odd[tape]
        digits = h.digits[tape]
        for name, (where, b, value, to_odd) in h.flips.items():
            if where != tape:
                continue
            from_odd = odd if not to_odd else Not(odd)
            goes_right = (b == 0) == bool(to_odd)
            parts = [due, right if goes_right else Not(right), from_odd]
            if b:
                parts.append(far_flips(digits, b))
            rules[name] = all_of([*parts, digits[b] if value == 0 else Not(digits[b])])
        far = Or(And(right, odd), And(Not(right), Not(odd)))
        leaving.append(all_of([due, far, far_leaves(digits)]))
    rules[FULL] = any_of(leaving)
    acts = any_of([rules[action.name] for action in sources])
    halts = h.told([n for n, a in h.named.items() if a.next in machine.halting])
    stuck = And(turn, Not(acts))
    unfinished = And(h.turn(), h.writing_input)
    rules[EOS] = any_of([halts, stuck, unfinished, h.told([FULL]), NOTHING_YET])
    return {name: rules[name] for name in (*machine.tokens, EOS)}
