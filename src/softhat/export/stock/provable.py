"""A checkpoint is made of a program that its checker can follow (`softhat.models.provable`).

In a stock checkpoint positions are tables, so its checker follows less than one of words of any
length. Formulas whose simplification it cannot follow are built as they are written. Their models
may be larger, and they are certified.
"""

from __future__ import annotations

from collections.abc import Mapping

from softhat.logic.syntax.nodes import Formula
from softhat.models.provable import is_provable
from softhat.program.build import build_as_written
from softhat.program.signals import Program
from softhat.proof.boolean import Space
from softhat.proof.stock.bounded import BoundedAtoms


def provable_program(program: Program, formulas: Mapping[str, Formula], context: int) -> Program:
    """The program, or that of its formulas as they are written, for words of a context."""
    symbols, propositional = program.symbols, program.propositional
    atoms = BoundedAtoms(Space(symbols, propositional), max(1, context - 1))
    if is_provable(program, formulas, atoms):
        return program
    return build_as_written(formulas, symbols, propositional)
