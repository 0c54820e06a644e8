"""Python and Coq see the same of a program: whether its heads read one position on every word."""

from __future__ import annotations

from pathlib import Path

import pytest

from softhat.export.coq.inputs import Inputs
from softhat.export.coq.programs import signal_text
from softhat.export.coq.syntax import lines, sequence
from softhat.export.coq.values import always_fits
from softhat.program.signals import Program
from tests.export.coq.test_ranks import RANKED, program_of, variants
from tests.proofs.coq import booleans, needs_coq
from tests.slices import every

IMPORTS = """From Coq Require Import ZArith NArith List.
From Softhat Require Import Formula Surface Program Values.
Import ListNotations.
Open Scope nat_scope.
"""
LONGEST = 4


def _definitions(program: Program, number: int) -> str:
    inputs = Inputs({symbol: at for at, symbol in enumerate(program.symbols)}, False)
    signals = [signal_text(signal, inputs) for signal in program.signals]
    return (
        f"Definition program{number} : Program.program := {lines(signals)}.\n"
        f"Definition inputs{number} : list Surface.input := {sequence(inputs.known)}.\n"
    )


@pytest.mark.parametrize("name", every(2, RANKED))
def test_both_say_the_same(name: str, tmp_path: Path) -> None:
    needs_coq()
    program = program_of(name, LONGEST)
    programs = [program, *variants(program)]
    asked = [
        f"forallb (always {len(program.symbols)} inputs{at} program{at} {LONGEST}%N) program{at}"
        for at in range(len(programs))
    ]
    definitions = "".join(_definitions(p, at) for at, p in enumerate(programs))
    answers = booleans(IMPORTS, definitions, asked, tmp_path)
    assert answers == [always_fits(p, LONGEST) for p in programs]
    assert len(set(answers)) == 2
