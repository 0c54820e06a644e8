"""A Turing machine's step as one token: the next state, what is written, the move, and the one
digit of the head's address that the move flips.

    B/1R3+   go to B, having written 1 and moved right, which set digit 3 of the address
    =1R3+    the same while the input is written: no state
    go       back to cell 0, and start

Digit b of the head's cell is what the last token that touched it set: `!touch S set`. The cell that
a token wrote is the cell before its move: its digits are those of the address, but for the one
that the token flipped. What the head reads is the symbol that the last token with that cell wrote:
`last[symbol | …]`, a Recall.

A step is right: on a history that is a prompt and the tokens of the first t steps, none of which
left the window, the one token whose formula holds is that of step t + 1, `full` if that step leaves
the window, and `<eos>` if the machine has halted. By induction on t the digits are those of the
head's cell; two cells of the window have different codes, so the last token with the head's code is
the last one that wrote there, and without one the cell is blank. Machine-checked: `turing_step` and
`turing_run` of proofs/StepTuring.v.
"""

from __future__ import annotations

from collections.abc import Sequence

from softhat.frontends.machines.gray import far_flips, far_leaves, flip, is_near
from softhat.frontends.machines.machine import EOS, GO
from softhat.frontends.machines.tapes import TapeReading, symbol_bits
from softhat.frontends.machines.tokens import NOTHING_YET, TokenSets, all_of, any_of
from softhat.frontends.machines.turing import FULL, MOVES, Action, TuringMachine, written
from softhat.logic.syntax.nodes import FALSE, TRUE, And, Formula, Not, Or, Since, Xor, recall

Step = tuple[Action, int, int]
"""What is done, the digit that the move flips, and its new value (-1 for a move that stays)."""


def _spelled(action: Action, bits: int) -> dict[str, Step]:
    """The tokens of an action, one for each digit that its move may flip."""
    if action.move == ("S",):
        return {action.name: (action, -1, -1)}
    return {
        f"{action.name}{b}{'-+'[value]}": (action, b, value)
        for b in range(bits)
        for value in (0, 1)
    }


def _steps(machine: TuringMachine) -> dict[str, Step]:
    named: dict[str, Step] = {}
    for action in machine.actions:
        named |= _spelled(action, machine.bits)
    return named


def _writes(machine: TuringMachine) -> dict[str, Step]:
    """The tokens that write an input."""
    named: dict[str, Step] = {}
    for symbol in machine.symbols:
        named |= _spelled(written(symbol), machine.bits)
    return named


def tokens(machine: TuringMachine) -> list[str]:
    return [*_writes(machine), GO, *_steps(machine), FULL]


def actions(machine: TuringMachine) -> dict[str, Action]:
    """What each token does."""
    steps = _writes(machine) | _steps(machine)
    return {name: action for name, (action, _, _) in steps.items()}


def spelled(machine: TuringMachine, action: Action, heads: Sequence[int]) -> list[str]:
    """The tokens of a step from these cells."""
    if action.move == ("S",):
        return [action.name]
    flipped = flip(heads[0], MOVES[action.move[0]], machine.bits)
    return [FULL] if flipped is None else [f"{action.name}{flipped[0]}{'-+'[flipped[1]]}"]


def formulas(machine: TuringMachine) -> dict[str, Formula]:
    """This token comes next, for each of them."""
    steps, inputs = _steps(machine), _writes(machine)
    acting = inputs | steps
    words = TokenSets(machine.tokens)
    told = words.one_of
    digits: list[Formula] = []
    keys: list[Formula] = []
    for b in range(machine.bits):
        touch = told([n for n, (_, digit, _) in acting.items() if digit == b])
        sets = told([n for n, (_, digit, value) in acting.items() if (digit, value) == (b, 1)])
        digits.append(Since(Not(Or(touch, told([GO]))), sets))
        keys.append(Xor(digits[b], touch))  # the flip undone
    moves = {n: (a.move[0], d) for n, (a, d, _) in steps.items() if a.move != ("S",)}
    odd_after = told([n for n, (move, d) in moves.items() if (move == "R") == (d == 0)])
    stays = len(moves) < len(steps)
    odd = Since(Not(told([*moves, GO])), odd_after) if stays else odd_after
    wrote = {
        symbol: told([n for n, (a, _, _) in acting.items() if a.write == (symbol,)])
        for symbol in machine.symbols
    }
    code = [(told(list(acting)), TRUE), *zip(keys, digits, strict=True)]
    reads = TapeReading(
        machine.symbols,
        [
            recall(any_of([wrote[s] for s in chosen]), *code)
            for chosen in symbol_bits(machine.symbols)
        ],
    )
    running = {
        state: told(
            [n for n, (a, _, _) in steps.items() if a.next == state]
            + ([GO] if state == machine.start else [])
        )
        for state in machine.states
    }
    does: dict[Action, Formula] = {}
    for action in machine.actions:
        sources = [(state, read) for state, read, then in machine.table if then == action]
        does[action] = any_of([And(running[q], reads[s]) for q, (s,) in sources])
    rules: dict[str, Formula] = dict.fromkeys([*inputs, GO], FALSE)
    for name, (action, b, value) in steps.items():
        if b < 0:
            rules[name] = does[action]
            continue
        near = is_near(action.move[0], odd)
        flips = near if b == 0 else And(Not(near), far_flips(digits, b))
        now = digits[b] if value == 0 else Not(digits[b])
        rules[name] = all_of([does[action], flips, now])
    leaving = []
    for move in "LR":
        acts = any_of([does[action] for action in machine.actions if action.move == (move,)])
        leaving.append(all_of([acts, Not(is_near(move, odd)), far_leaves(digits)]))
    rules[FULL] = any_of(leaving)
    ends = [running[state] for state in machine.halting]
    missing = [
        And(running[state], reads[symbol])
        for state in machine.states
        for symbol in machine.symbols
        if state not in machine.halting and (state, (symbol,)) not in machine.step_of
    ]
    rules[EOS] = any_of([*ends, *missing, told([*inputs, FULL]), NOTHING_YET])
    return {name: rules[name] for name in (*machine.tokens, EOS)}
