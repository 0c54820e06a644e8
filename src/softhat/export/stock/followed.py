"""A checkpoint is made of a program that its checker can follow.

The compiler simplifies formulas, and the checker believes nobody: it proves for itself that what
the weights compute is the formula as written. In a stock checkpoint positions are tables, and some
comparisons of counts that were simplified are out of its reach. Such formulas are built as they are
written. Their models may be larger, and they are certified.
"""

from __future__ import annotations

from collections.abc import Mapping

from softhat.logic.syntax.nodes import Formula
from softhat.program.build import build_as_written
from softhat.program.read_back import read_back
from softhat.program.signals import Program
from softhat.proof.boolean import Space
from softhat.proof.claims import Claims, claimed
from softhat.proof.stock.bounded import BoundedAtoms


def followed(program: Program, formulas: Mapping[str, Formula], context: int) -> Program:
    """The program, or that of its formulas as they are written, for words of a context."""
    read = read_back(program)
    if read is None or read.keys() != formulas.keys():
        return program
    symbols, propositional = program.symbols, program.propositional
    atoms = BoundedAtoms(Space(symbols, propositional), max(1, context - 1))
    claims, functions = Claims(atoms, formulas), claimed(atoms, read)
    if all(claims.met(name, function) for name, function in functions.items()):
        return program
    return build_as_written(formulas, symbols, propositional)
