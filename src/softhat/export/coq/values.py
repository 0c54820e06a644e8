"""The file of a program of values: the attention program, its weights, and the theorem `right`.

Heads that select by category or code, tables and decoded counts have no formula of a readable size.
So the file states the attention program itself, signal by signal with its labels; what it means is
in `proofs/Program.v`. The positions that a head reads must agree on the value. Where that can be
seen from the program (`proofs/Values.v`: `always`) the theorem is about every word up to the
program's length; elsewhere it is about the words on which they do (`fits`). Outputs that are
numbers are the numbers themselves in the reals, but for what a head that selects puts elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from fractions import Fraction
from itertools import combinations
from typing import TypeVar

from softhat.export.coq.attending import Attending, attending
from softhat.export.coq.inputs import inputs_of
from softhat.export.coq.programs import (
    Planned,
    check_kinds,
    layout_texts,
    literal_text,
    plan_texts,
    planned,
    result_texts,
    signal_text,
)
from softhat.export.coq.ranks import chooses_itself, never_both, own_rank
from softhat.export.coq.syntax import call, comment, lines, preamble, rational, record, sequence
from softhat.export.coq.theorem import names_text
from softhat.export.coq.weights import model_text
from softhat.models.value_model import ValueModel
from softhat.program.gates import Table
from softhat.program.heads import At, Match, MatchMean, Selector, Width
from softhat.program.inputs import FirstPosition, LastPosition, PositionBit, TokenIn
from softhat.program.literals import Literal
from softhat.program.signals import Number, Program, Signal
from softhat.transformer.lowering.heads.match import sharp

_T = TypeVar("_T")
_READ = """. To understand it read `Program.v` (what attention programs
    mean), `Values.v`, `Model.v` (what a model computes), and `Numbers.v` for outputs that are
    numbers; `found` need not be read, for wrong evidence proves nothing. *)
From Coq Require Import Reals Qreals QArith ZArith NArith List.
From Softhat Require Import Formula Surface Program Lowering Model Kernel Values Numbers.
"""
_CONCLUSION = """{about}Lemma checks : {checked}{always} = true.
Proof. vm_compute. reflexivity. Qed.

{checks}{on}Theorem right : forall {variables},
  {premise}over_alphabet weights w n -> {words} ->
  {claim}
Proof. exact ({theorem} checks{arguments}). Qed.

Print Assumptions right.
"""
_EVERY_WORD = """
  && forallb (always (program_symbols weights) inputs program longest) program"""
_FITS = """(* On every word that `fits`: not too long, and the positions that a head reads agree. *)
"""
_BITS = """forall k o, nth_error outputs k = Some o -> forall i, 1 <= i <= n ->
  (if truth inputs program weights n w q o i then 1 / 4 <= {logit} k i
   else {logit} k i <= - 1 / 4)%R."""
_BITS_AND_NUMBERS = """(forall k o, nth_error outputs k = Some o -> forall i, 1 <= i <= n ->
    (if truth inputs program weights n w q o i then 1 / 4 <= {logit} k i
     else {logit} k i <= - 1 / 4)%R) /\\
  (forall k x, nth_error numbers k = Some x -> forall i, 1 <= i <= n ->
    (Rabs ({logit} (length outputs + k) i
           - number_value program n (meaning inputs program weights n w q) x i) <= Q2R error)%R)."""


def value_theorem(model: ValueModel) -> str:
    """The file, as text. The claim is the program, its outputs and the weights as they are."""
    program, weights = model.compiled.program, model.transformer
    check_kinds(program)
    plan = planned(program, weights.attention)
    inputs = inputs_of(weights, program, ())
    signals = [
        f"(* {at}: {comment(label)} *) {signal_text(signal, inputs)}"
        for at, (signal, label) in enumerate(zip(program.signals, program.labels, strict=True))
    ]
    listed = ", ".join(f"{k}: {comment(name)}" for k, (name, _) in enumerate(program.outputs))
    outputs = sequence(literal_text(literal) for _, literal in program.outputs)
    attends = attending(weights.attention)
    title = f"A {attends.kind} that computes the attention program {comment(model.name)}."
    text = preamble(title, _READ) + "\n" + names_text(weights, inputs)
    text += f"Definition inputs : list Surface.input :=\n  {sequence(inputs.known)}.\n"
    text += f"Definition program : program :=\n  {lines(signals)}.\n"
    text += f"(* outputs: {listed} *)\n"
    text += f"Definition outputs : list literal :=\n  {outputs}.\n\n"
    text += f"Definition weights : model := {model_text(weights, inputs)}.\n\n"
    text += _plan_text(plan)
    always = always_fits(program, model.max_length)
    if always:
        text += f"Definition longest : N := {model.max_length}%N.\n"
    text += _numbers_text(program, plan) if program.numbers else "\n"
    return text + _conclusion(bool(program.numbers), always, attends)


def _numbers_text(program: Program, plan: Planned) -> str:
    """The outputs that are numbers, and how far they may be off."""
    listed = ", ".join(f"{k}: {comment(name)}" for k, (name, _) in enumerate(program.numbers))
    terms = (
        call(
            "Number",
            sequence(f"({rational(float(a))}, {at})" for a, at in number.terms),
            rational(float(number.constant)),
        )
        for _, number in program.numbers
    )
    error = max(_error(program, number, plan) for _, number in program.numbers)
    return (
        f"(* outputs that are numbers, after the others: {listed} *)\n"
        f"Definition numbers : list number :=\n  {lines(terms)}.\n"
        f"Definition error : Q := {rational(_rounded_up(error))}.\n\n"
    )


def _conclusion(numbers: bool, always: bool, attends: Attending) -> str:
    """The theorem, with outputs that are numbers or without; of every word up to the length, or of
    words that fit."""
    name, blanks = ("numbers", 7) if numbers else ("makes", 5)
    checked = "makes_numbers outputs numbers error" if numbers else "makes outputs"
    ending, more = ("always", 1) if always else ("fitting", 0)
    return _CONCLUSION.format(
        about="(* Each output that is a number is off by at most `error`. *)\n" * numbers,
        checked=f"{checked} inputs program weights found",
        always=_EVERY_WORD * always,
        on="" if numbers or always else _FITS,
        words="(N.of_nat n <= longest)%N" if always else "fits inputs program weights n w q = true",
        claim=(_BITS_AND_NUMBERS if numbers else _BITS).format(logit=attends.logit),
        theorem=f"{name}{attends.mark}_{ending}" + " _" * (blanks + more),
        **asdict(attends),
    )


def _error(program: Program, number: Number, plan: Planned) -> Fraction:
    """As `lower_number` of `proofs/Numbers.v` computes it: what heads that select put elsewhere."""
    total = Fraction(0)
    for a, at in number.terms:
        if isinstance(signal := program.signals[at], MatchMean):
            wide = any(
                group.wide
                for layer in plan.schedule.layers
                for group in layer.heads
                if at in group.signals
            )
            longest = signal.selector.longest
            u = Fraction(10, 27) ** sharp(longest, wide)
            spread = sum(abs(factor) for factor, _ in signal.terms)
            total += abs(Fraction(float(a))) * 2 * spread * (longest * u * u + 2 * u)
    return total


def _rounded_up(error: Fraction) -> Fraction:
    """A number that is read at a glance: a power of ten, or 0."""
    if not error:
        return Fraction(0)
    power = Fraction(1)
    while power < error:
        power *= 10
    while power / 10 >= error:
        power /= 10
    return power


def said_of(model: ValueModel) -> str:
    """What may be said once Coq has accepted the theorem."""
    claim = f"machine-checked, in the reals, to length {model.max_length:,}"
    if always_fits(model.compiled.program, model.max_length):
        return claim
    return f"{claim}, on words on which the positions that its heads read agree"


def _plan_text(plan: Planned) -> str:
    parts = (
        ("layout_of", sequence(layout_texts(plan))),
        ("plans_of", lines(plan_texts(plan), 5)),
        ("results_of", lines(result_texts(plan), 5)),
    )
    return f"Definition found : making := {record('Values', parts)}.\n\n"


# Does every word up to the length give the program what it asks for? As `Values.always` asks.


def always_fits(program: Program, longest: int) -> bool:
    return all(_fits(signal, program, longest) for signal in program.signals)


def _fits(signal: Signal, program: Program, longest: int) -> bool:
    match signal:
        case Table(terms):
            return _apart(terms, lambda a, b: any(_clash(x, y, program) for x in a for y in b))
        case Match(selector, _):
            return _once(selector, program, longest) and _one_key(selector, program)
        case Width(selector):
            return _once(selector, program, longest)
        case MatchMean(selector, _):
            return _once(selector, program, longest) and chooses_itself(selector, program)
        case At(keys=keys, longest=made_for):
            own = _own_code(keys, program, longest) or own_rank(signal, program, longest)
            return longest <= made_for and own
    return True


def _apart(items: Sequence[_T], clash: Callable[[_T, _T], bool]) -> bool:
    return all(clash(a, b) for a, b in combinations(items, 2))


def _clash(a: Literal, b: Literal, program: Program) -> bool:
    """Two literals that never hold together."""
    if a.signal < 0 or b.signal < 0:
        return not (a if a.signal < 0 else b).positive
    if a.signal == b.signal:
        return a.positive != b.positive
    one, other = program.signals[a.signal], program.signals[b.signal]
    if program.propositional or not (isinstance(one, TokenIn) and isinstance(other, TokenIn)):
        return False
    return a.positive and b.positive and not set(one.symbols) & set(other.symbols)


def _once(selector: Selector, program: Program, longest: int) -> bool:
    """No two pairs match at once."""
    pairs = [(selector.queries[q], selector.keys[k]) for q, k in selector.table]
    return longest <= selector.longest and _apart(
        pairs,
        lambda a, b: any(
            _clash(x, y, program) or never_both(x, y, program) for x, y in zip(a, b, strict=True)
        ),
    )


def _one_key(selector: Selector, program: Program) -> bool:
    """All keys are one literal, which holds at one position only."""
    keys = {selector.keys[k] for _, k in selector.table}
    if not keys:
        return True
    key, *others = keys
    if others or key.signal < 0 or not key.positive:
        return False
    return isinstance(program.signals[key.signal], FirstPosition | LastPosition)


def _own_code(keys: tuple[Literal, ...], program: Program, longest: int) -> bool:
    """The keys are all binary digits of ±j + c: no two positions have the same."""
    digits: set[tuple[int, int, int]] = set()
    for key in keys:
        signal = program.signals[key.signal] if key.signal >= 0 and key.positive else None
        if isinstance(signal, PositionBit) and signal.length == 0:
            digits.add((signal.bit, signal.position, signal.constant))
    first = program.signals[keys[0].signal] if keys and keys[0].signal >= 0 else None
    if not isinstance(first, PositionBit) or abs(first.position) != 1:
        return False
    numbers = [first.position * j + first.constant for j in (1, longest)]
    return all((b, first.position, first.constant) in digits for b in range(len(keys))) and all(
        0 <= number < 1 << len(keys) for number in numbers
    )
