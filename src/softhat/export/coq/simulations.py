"""The file of a hard-attention transformer: its exact weights, and the theorem `right` about it.

Softmax attention with the same weights, each layer's scores multiplied by a β that
`proofs/Simulated.v` computes from the weights, the length and ε, is within ε of hard attention at
every position of every word. The law is Coq's own: it is proved, and less sharp than those that
`softhat simulate` finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import lcm

from softhat.ahat.model import AHAT, Head, Layer, Matrix
from softhat.export.coq.programs import MASKS
from softhat.export.coq.syntax import (
    boolean,
    call,
    comment,
    form,
    lines,
    preamble,
    rational,
    record,
    sequence,
)
from softhat.io.errors import SofthatError
from softhat.numbers.positions import PLACES, SHARES, Feature, Holds, Mod, Named, Table
from softhat.numbers.predicates import Predicate

_NAMED = {
    "1": "One_",
    "ordinary": "Inside",
    "i": "Place_",
    "r": "FromEnd",
    "n": "Length_",
    "i/n": "(Share 1)",
    "1/i": "Inverse",
    "i^2": "Square",
    "(-1)^i": "Alternate",
    "first": "IsFirst",
    "last": "IsLast",
    **{name: f"(Share {k})" for name, k in SHARES.items()},
    **{name: f"(PlaceShare {k})" for name, k in PLACES.items()},
}

_TIES = {"average": (), "leftmost": ("([], [])",), "rightmost": ("([], [])",) * 2}
"""Rows that score nothing: how a head breaks ties (`ties_of` of `proofs/Ahat.v`)."""

_TITLE = "Hard attention, and the theorem that softmax attention simulates it."
_READ = """: read `Simulated.v`, which says what the values are and what
    the law is, a list of inverse temperatures, one a layer, for every length and every error. *)
From Coq Require Import Reals QArith ZArith NArith List Lra.
From Softhat Require Import Program Lowering Simulated.
"""
_CONCLUSION = """
Lemma checks : checked_ahat model denominator = true.
Proof. vm_compute. reflexivity. Qed.

Theorem right : forall n w q, 1 <= n -> forall i, 1 <= i <= n ->
  (Rabs (soft_value model n w q (laws model denominator n epsilon) i - hard_value model n w q i)
   <= epsilon)%R.
Proof.
  intros n w q Hn. apply (checked_ahat_right _ _ checks n w q epsilon Hn). unfold epsilon. lra.
Qed.

Print Assumptions right.
"""


def simulation_theorem(model: AHAT, epsilon: float) -> str:
    """The file, as text; ε is taken as the decimal number that it is written as."""
    exact = Fraction(str(epsilon))
    if exact <= 0:
        raise SofthatError(f"ε must be greater than 0, not {epsilon}")
    predicates: dict[Predicate, int] = {}
    parts = (
        ("letters", str(len(model.alphabet))),
        ("starts", boolean(model.bos)),
        ("stops", boolean(model.eos)),
        ("vectors", lines(map(form, model.embedding), 5)),
        ("start_vector", form(model.bos_embedding or ())),
        ("stop_vector", form(model.eos_embedding or ())),
        ("columns", lines(_columns(model, predicates), 5)),
        ("hard_layers", lines(map(_layer, model.layers), 5)),
        ("output_row", form(model.output_weights)),
        ("output_bias", rational(model.output_bias)),
    )
    listed = ", ".join(f"{at}: {comment(name)}" for at, name in enumerate(model.alphabet))
    text = f"{preamble(_TITLE, _READ)}\n(* symbols: {listed} *)\n"
    for predicate, at in predicates.items():
        text += f"(* numerical predicate {at}: {comment(predicate.name)} *)\n"
    text += f"Definition model : ahat := {record('Simulated', parts)}.\n\n"
    text += "(* a common denominator of all weights *)\n"
    text += f"Definition denominator : Z := {_denominator(model)}%Z.\n"
    text += f"Definition epsilon : R := ({exact.numerator} / {exact.denominator})%R.\n"
    return text + _CONCLUSION


def _columns(model: AHAT, predicates: dict[Predicate, int]) -> Iterator[str]:
    for at, feature in enumerate(model.positions):
        column = [row[at] for row in model.position_embedding]
        yield f"({_feature(feature, predicates)}, {form(column)})"


def _feature(feature: Feature, predicates: dict[Predicate, int]) -> str:
    match feature:
        case Named(name, False) if name in _NAMED:
            return _NAMED[name]
        case Mod(modulus, remainder, sinks):
            return f"(Modulo {modulus} {remainder} {boolean(sinks)})"
        case Table(entries):
            return f"(Table {sequence(map(rational, entries))})"
        case Holds(predicate):
            return f"(Numerical {predicates.setdefault(predicate, len(predicates))})"
    raise SofthatError(
        f"the Coq theorem about simulations does not cover the position feature {feature!r}: "
        "no file is written"
    )


def _layer(layer: Layer) -> str:
    heads = lines(map(_head, layer.heads), 7)
    forward = layer.feed_forward
    if forward is None:
        return call("Layer", heads, "[]", "[]")
    units = (
        call("Unit", form(row), rational(bias), form([out[u] for out in forward.out_weights]))
        for u, (row, bias) in enumerate(zip(forward.in_weights, forward.in_bias, strict=True))
    )
    return call("Layer", heads, "\n      " + lines(units, 7), form(forward.out_bias))


def _head(head: Head) -> str:
    pairs = zip(head.query, head.key, strict=True)
    scored = [f"({form(q)}, {form(k)})" for q, k in pairs if any(q) and any(k)]
    rows = sequence([*scored, *_TIES[head.ties]])
    values = sequence(f"({form(row)}, {target})" for row, target in _values(head))
    return call("Head", rows, MASKS[head.mask], values, "(r 1 1)", "false")


def _values(head: Head) -> Iterator[tuple[list[Fraction], int]]:
    """A head is linear in what it reads: the output's entries can stand in the value's rows."""
    for target, outputs in enumerate(head.output):
        for row, factor in zip(head.value, outputs, strict=True):
            if factor:
                yield [factor * entry for entry in row], target


def _denominator(model: AHAT) -> int:
    """A common denominator of everything that the file states."""
    return lcm(*(entry.denominator for entry in _entries(model)))


def _entries(model: AHAT) -> Iterator[Fraction]:
    def all_of(*matrices: Matrix) -> Iterable[Fraction]:
        return (entry for matrix in matrices for row in matrix for entry in row)

    yield from all_of(model.vectors, model.position_embedding)
    for feature in model.positions:
        if isinstance(feature, Table):
            yield from feature.entries
    for layer in model.layers:
        for head in layer.heads:
            yield from all_of(head.query, head.key)
            for row, _ in _values(head):
                yield from row
        if (forward := layer.feed_forward) is not None:
            yield from all_of(forward.in_weights, forward.out_weights)
            yield from (*forward.in_bias, *forward.out_bias)
