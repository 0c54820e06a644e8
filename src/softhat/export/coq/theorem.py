"""The file of a compiled model: its formulas, its weights, evidence, and the theorem `right`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from softhat.export.coq.attending import Attending, attending
from softhat.export.coq.formulas import check_formula, surface
from softhat.export.coq.hints import hints_of
from softhat.export.coq.inputs import Inputs, inputs_of
from softhat.export.coq.matcher import Matcher
from softhat.export.coq.programs import (
    Planned,
    check_kinds,
    is_of_formulas,
    is_without_counts,
    layout_texts,
    plan_texts,
    planned,
    result_texts,
    signal_text,
)
from softhat.export.coq.reasons import Reasons
from softhat.export.coq.sweeping import Sweep
from softhat.export.coq.syntax import comment, lines, preamble, record, sequence
from softhat.export.coq.weights import model_text
from softhat.io.errors import SofthatError
from softhat.logic.recalls import without_recalls as formulas_without_recalls
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.print import to_short
from softhat.logic.windows import without_windows
from softhat.models.model import Model
from softhat.models.value_model import ValueModel
from softhat.numbers.predicates import longest
from softhat.program.read_back import read_back
from softhat.program.recalls import without_recalls
from softhat.transformer.weights import Transformer

READ = """. To understand it read `Surface.v` (what formulas mean) and
    `Model.v` (what a model computes); the evidence need not be read, for wrong evidence proves
    nothing. *)
From Coq Require Import Reals QArith ZArith NArith List.
From Softhat Require Import Formula Program Lowering Matching Search Tallies Facts Model Kernel
  Surface.
"""

_CHECKS = """Lemma checks : certified formulas weights found = true.
Proof. vm_compute. reflexivity. Qed.

"""
_ONE = """Theorem right : forall {variables},
  {premise}over_alphabet weights w n -> forall i, 1 <= i <= n ->
  (if sat n w q formula i then 1 / 4 <= {logit} 0 i
   else {logit} 0 i <= - 1 / 4)%R.
Proof.
{proof}
Qed.
"""
_SEVERAL = """Theorem right : forall {variables},
  {premise}over_alphabet weights w n ->
  forall k f, nth_error formulas k = Some f -> forall i, 1 <= i <= n ->
  (if sat n w q f i then 1 / 4 <= {logit} k i
   else {logit} k i <= - 1 / 4)%R.
Proof. exact ({theorem} _ _ _ checks{arguments}). Qed.
"""
MOST_SIGNALS = 256
"""Of programs with a theorem in floats: of 150 signals Coq finds the length in two seconds."""
_FLOATS = """
(* The same in binary32, in whatever order a runtime adds up, with products fused or not:
   `FloatRun.v` says what it may compute. Coq computes the length, and prints it. *)
From Softhat Require Import FloatRun FloatCheck FloatModel.
Open Scope nat_scope.

"""
_ONE_IN_FLOATS = """Theorem right_binary32 : forall n w q,
  (N.of_nat n <= binary32_length weights found)%N -> over_alphabet weights w n ->
  forall i, 1 <= i <= n -> forall z, float_logit weights n w q 0 i z ->
  (if sat n w q formula i then 1 / 8 <= z else z <= - 1 / 8)%R.
Proof.
  intros n w q Hn Hw. exact (binary32_right _ _ _ checks n w q Hn Hw 0 formula eq_refl).
Qed.
"""
_SEVERAL_IN_FLOATS = """Theorem right_binary32 : forall n w q,
  (N.of_nat n <= binary32_length weights found)%N -> over_alphabet weights w n ->
  forall k f, nth_error formulas k = Some f -> forall i, 1 <= i <= n ->
  forall z, float_logit weights n w q k i z ->
  (if sat n w q f i then 1 / 8 <= z else z <= - 1 / 8)%R.
Proof. exact (binary32_right _ _ _ checks). Qed.
"""
_PRINTED = """
Eval vm_compute in binary32_length weights found.
Print Assumptions right_binary32.
"""


@dataclass(frozen=True)
class TheoremText:
    """What a file says after its preamble."""

    title: str
    definitions: str
    """`formulas`, `weights` and the evidence `found`."""
    conclusion: str
    """`right`, and what it rests on."""
    unmatched: tuple[str, ...]
    """Outputs whose formulas were not found again in the program: Coq will say no."""


def of_values(model: ValueModel) -> Model | None:
    """A RASP program's model with a formula for each of its output bits: what the attention program
    says, read from its meaning. The theorem is about these formulas, which its file states. None
    if the program is more than formulas."""
    program = model.compiled.program
    check_kinds(program)
    if program.numbers or not is_of_formulas(program):
        return None
    formulas = read_back(program)
    assert formulas is not None, "signals that formulas become are formulas"
    return Model(model.transformer, formulas, program)


def theorem(model: Model) -> str:
    """The file, as text. The claim is the formulas as written and the weights as they are."""
    stated = statement(model)
    for name in stated.unmatched:
        raise SofthatError(
            "the Coq kernel cannot follow what the optimiser made of "
            f"{to_short(model.formulas[name], 60)}: no file is written"
        )
    opening = preamble(stated.title, READ)
    return f"{opening}\n{stated.definitions}\n{stated.conclusion}\nPrint Assumptions right.\n"


def statement(model: Model) -> TheoremText:
    """The claim about a model, with the evidence for it, whether it will convince or not."""
    weights = model.transformer
    # Operators with bounds and recalls are their definitions in operators without.
    defined = map(formulas_without_recalls, without_windows(*model.formulas.values()))
    formulas = dict(zip(model.formulas, defined, strict=True))
    program = without_recalls(model.program)
    for formula in formulas.values():
        check_formula(formula)
    check_kinds(program)
    plan = planned(program, weights.attention)
    inputs = inputs_of(weights, program, formulas.values())
    matcher = Matcher(program, inputs)
    outputs = dict(program.outputs)
    reasons = Reasons(matcher)
    hints, unmatched = [], []
    for name, formula in formulas.items():
        path, function = hints_of(matcher, formula)
        meant = outputs[name]
        if function != matcher.of(meant) and not reasons.equal(matcher.literal(function), meant):
            sweep = Sweep(matcher, reasons, program)
            path, function = hints_of(matcher, formula, sweep)
            if not reasons.equal(matcher.literal(function), meant):
                unmatched.append(name)
        hints.append(path)
    text = names_text(weights, inputs)
    terms = [surface(f, inputs.symbols, inputs.predicates) for f in formulas.values()]
    if len(terms) == 1:
        text += f"Definition formula : surface :=\n  {terms[0]}.\n"
        text += "Definition formulas : list surface := [formula].\n\n"
    else:
        listed = ", ".join(f"{k}: {comment(name)}" for k, name in enumerate(formulas))
        text += f"(* outputs: {listed} *)\n"
        text += f"Definition formulas : list surface :=\n  {lines(terms)}.\n\n"
    text += f"Definition weights : model := {model_text(weights, inputs)}.\n\n"
    text += _evidence(plan, inputs, matcher, reasons, hints)
    one = len(terms) == 1
    conclusion = _CHECKS + _right(attending(weights.attention), one)
    small = len(program.signals) <= MOST_SIGNALS
    if weights.attention == "unbounded" and is_without_counts(program) and small:
        conclusion += _FLOATS + (_ONE_IN_FLOATS if one else _SEVERAL_IN_FLOATS) + _PRINTED
    title = _title(formulas, attending(weights.attention))
    return TheoremText(title, text, conclusion, tuple(unmatched))


def _right(attends: Attending, one: bool) -> str:
    """The theorem, of one formula or of several."""
    hard = attends.mark
    theorem = f"certified{hard or '_right'}"
    premises = "Hw" if hard else "Hs Hw"
    given = f"{attends.variables} {premises}"
    proved = f"{theorem} _ _ _ checks{attends.arguments} {given} 0 formula eq_refl"
    return attends.checks + (_ONE if one else _SEVERAL).format(
        variables=attends.variables,
        premise=attends.premise,
        logit=attends.logit,
        theorem=theorem,
        arguments=attends.arguments,
        proof=f"  intros {given}. exact ({proved}).",
    )


def _title(formulas: Mapping[str, Formula], attends: Attending) -> str:
    texts = [comment(str(formula)) for formula in formulas.values()]
    short = [text if len(text) <= 400 else text[:400] + "..." for text in texts]
    what = short[0] if len(short) == 1 else f"{len(short)} formulas"
    return f"A {attends.kind} that computes, for words of every length: {what}"


def names_text(weights: Transformer, inputs: Inputs) -> str:
    """What the numbers of symbols and predicates stand for."""
    kind = "proposition" if weights.propositional else "symbol"
    listed = ", ".join(f"{at}: {comment(name)}" for name, at in inputs.symbols.items())
    text = f"(* {kind}s: {listed} *)\n"
    for predicate, at in inputs.predicates.items():
        length = longest(predicate)
        limit = "" if length is None else f", a table of {length} positions, any beyond it"
        text += f"(* numerical predicate {at}: {comment(predicate.name)}{limit} *)\n"
    return text


def _evidence(
    plan: Planned,
    inputs: Inputs,
    matcher: Matcher,
    reasons: Reasons,
    hints: list[tuple[str, ...]],
) -> str:
    own = [signal_text(signal, inputs) for signal in plan.program.signals]
    helpers = [signal_text(signal, inputs) for signal in matcher.helpers]
    parts = (
        ("inputs", sequence(inputs.known)),
        ("signals", lines(own, 5)),
        ("helpers", lines(helpers, 5)),
        ("start", sequence(layout_texts(plan))),
        ("plans", lines(plan_texts(plan), 5)),
        ("results", lines(result_texts(plan), 5)),
        ("reasons", lines(reasons.texts, 5)),
        ("hints", lines(map(sequence, hints), 5)),
    )
    return f"Definition found : evidence := {record('Kernel', parts)}.\n\n"
