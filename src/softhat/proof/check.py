"""The checker: what a transformer's weights compute, and how far number formats follow.

It reads the weights and the claimed formulas and shares nothing with the passes that make
weights. Layer by layer it derives what every residual coordinate holds: features and symbols
first, then what each head returns (by matching its scores with the known forms and checking the
conditions of their theorems), then which Boolean function each gate stores. The read-out's
function must be the same canonical function as the formula's. What does not fit voids the
certificate, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from softhat.io.errors import VoidError
from softhat.logic.predicates import predicates_of
from softhat.logic.syntax.nodes import Formula
from softhat.numbers.positions import longest
from softhat.numbers.predicates import longest as table_length
from softhat.numerics.formats import CAP, FORMATS, Format
from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Space
from softhat.proof.certificate import Certificate
from softhat.proof.claims import Claims
from softhat.proof.derivation import Derivation
from softhat.proof.gates import Threshold, read_out
from softhat.proof.lengths import Proof, Report
from softhat.proof.void import UNPROVED, reading, reason_of
from softhat.transformer.weights import Transformer


def certify(
    transformer: Transformer,
    formulas: Mapping[str, Formula],
    formats: Mapping[str, Format] = FORMATS,
    proof: Proof | None = None,
) -> Certificate:
    """The certificate of a transformer whose outputs are claimed to compute `formulas`.

    Other runtimes give other `formats`: arithmetic that is off by more has fewer digits. What is
    derived goes to `proof`, an empty one, for whoever goes on from there.
    """
    proof = Proof() if proof is None else proof
    reasons: list[str] = []
    try:
        _derive(transformer, formulas, proof)
    except UNPROVED as error:
        reasons.append(reason_of(error))
    reasons += proof.unmet("its formula")
    try:
        return Report(transformer, formulas, proof, reasons, formats).run()
    except ArithmeticError as error:
        reasons.append(f"the bounds lead to numbers that float64 does not hold ({error})")
        return Report(transformer, formulas, Proof(), reasons, formats).run()


def _derive(t: Transformer, formulas: Mapping[str, Formula], proof: Proof) -> None:
    if set(t.outputs) != set(formulas):
        raise VoidError("the outputs and the claimed formulas have different names")
    atoms = Atoms(Space(t.symbols, t.propositional))
    claims = Claims(atoms, formulas)
    for output, (threshold, function) in derived(t, atoms, proof).items():
        proof.outputs.append((output, threshold, claims.met(output, function)))
    proof.longest = min(CAP, atoms.longest or CAP)
    # Beyond a table there is nothing to run, or to compute.
    tables = [(longest(t.positions, t.has_bos), "a position table ends")]
    for predicate in predicates_of(*formulas.values()).values():
        ends = f"the table of at({predicate.name}) ends"
        tables.insert(0, (table_length(predicate), ends))
    for length, why in tables:
        if length is not None and length < proof.longest:
            proof.longest, proof.end = length, why


def derived(t: Transformer, atoms: Atoms, proof: Proof) -> dict[str, tuple[Threshold, int]]:
    """The function that each output decides, and its threshold; heads and gates go to `proof`."""
    derivation = Derivation(t, atoms, proof)
    cells = derivation.stream()
    decided = {}
    for output, (form, bias) in derivation.margins(cells).items():
        with reading(f"the read-out of {output!r}"):
            decided[output] = read_out(form, bias, cells, atoms)
    return decided
