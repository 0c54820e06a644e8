"""Can the checker follow what a formula was simplified to?

The compiler simplifies formulas, and the checker believes nobody: it proves for itself that what
the weights compute is the formula as written. Some comparisons of counts that were simplified are
out of its reach. A program that it cannot follow is not used: formulas are then built as they are
written, which may take more heads, and is certified.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from softhat.logic.syntax.nodes import Formula
from softhat.program.read_back import read_back
from softhat.program.signals import Program

if TYPE_CHECKING:
    from softhat.proof.atoms import Atoms


def is_provable(
    program: Program, formulas: Mapping[str, Formula], atoms: Atoms | None = None
) -> bool:
    """Is it proved that a program computes its formulas, as far as formulas say what it does?

    `atoms` are those of a model whose words are bounded; otherwise words have any length.
    """
    from softhat.proof.atoms import Atoms  # compiling starts faster without
    from softhat.proof.boolean import Space, TooLargeError
    from softhat.proof.claims import Claims, claimed

    read = read_back(program)
    if read is None or read.keys() != formulas.keys():
        return True
    if atoms is None:
        atoms = Atoms(Space(program.symbols, program.propositional))
    try:
        claims, functions = Claims(atoms, formulas), claimed(atoms, read)
        return all(claims.met(name, function) for name, function in functions.items())
    except TooLargeError:
        return False
