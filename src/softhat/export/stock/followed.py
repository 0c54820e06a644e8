"""A checkpoint is made of a program that its checker can follow.

The compiler simplifies formulas, and the checker believes nobody: it proves for itself that what
the weights compute is the formula as written. In a stock checkpoint positions are tables, and some
comparisons of counts that were simplified are out of its reach. Such formulas are built as they are
written. Their models may be larger, and they are certified.
"""

from __future__ import annotations

from softhat.models.model import Model
from softhat.program.build import build_as_written
from softhat.program.read_back import read_back
from softhat.proof.boolean import Space
from softhat.proof.claims import Claims, claimed
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.transformer.lowering.lower import lower


def followed(model: Model, context: int) -> Model:
    """The model, or that of its formulas as they are written, for words of a context."""
    read = read_back(model.program)
    if model.machine is not None or read is None or read.keys() != model.formulas.keys():
        return model
    t = model.transformer
    atoms = BoundedAtoms(Space(t.symbols, t.propositional), max(1, context - 1))
    claims, functions = Claims(atoms, model.formulas), claimed(atoms, read)
    if all(claims.met(name, function) for name, function in functions.items()):
        return model
    program = build_as_written(model.formulas, t.symbols, t.propositional)
    return Model(lower(program, t.attention), model.formulas, program, at=model.at)
