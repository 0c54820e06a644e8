"""Is the attention program the formula? Decided for every length, where that is cheap."""

from __future__ import annotations

from collections.abc import Mapping

from softhat.io.errors import SofthatError
from softhat.logic.decide.questions import Effort, find_word
from softhat.logic.syntax.nodes import Formula, Xor
from softhat.logic.syntax.walk import distinct
from softhat.program.read_back import read_back
from softhat.program.signals import Program
from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Space
from softhat.proof.claims import claimed

_CHEAP = Effort(steps=200_000, words=0)
_LARGEST = 2_000  # distinct subformulas


def is_proved(program: Program, formulas: Mapping[str, Formula]) -> bool:
    """Whether every output of the program is decided to be its formula, on every word."""
    read = read_back(program)
    if read is None or read.keys() != formulas.keys():
        return False
    symbols = program.symbols
    atoms = Atoms(Space(symbols, program.propositional))
    if claimed(atoms, formulas) == claimed(atoms, read):
        return True
    alphabet, propositions = (None, symbols) if program.propositional else (symbols, None)
    for name, formula in formulas.items():
        if len(distinct(formula, read[name])[0]) > _LARGEST:
            return False
        differ = Xor(formula, read[name])
        try:
            word = find_word(differ, "anywhere", [differ], alphabet, propositions, None, _CHEAP)
        except SofthatError:
            return False
        if word is not None:
            return False
    return True
