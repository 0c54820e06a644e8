"""What only programs of values have is passed in: the checker of formulas neither loads it nor
believes it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import softhat
from softhat import rasp
from softhat.logic.syntax.parse import parse
from softhat.proof.check import certify

ROOT = Path(__file__).resolve().parents[2]


def test_the_checker_of_formulas_loads_none_of_it() -> None:
    code = (
        "import sys, softhat.proof.check\n"
        "parts = 'heads.match heads.width heads.selection steps values'.split()\n"
        "print([p for p in parts if f'softhat.proof.{p}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_weights_of_a_program_prove_no_formula() -> None:
    same = rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.EQ)
    first = rasp.Select(rasp.indices, rasp.indices, lambda key, query: key == 0)
    for program in (
        rasp.SelectorWidth(same),
        rasp.Map(lambda h: h % 2 == 1, rasp.SelectorWidth(same)),
        rasp.Aggregate(first, rasp.tokens),
    ):
        model = softhat.compile(program, alphabet="ab", max_length=8)
        assert model.certificate.max_length["float32"] == 8
        formulas = {name: parse("a", alphabet="ab") for name in model.transformer.outputs}
        void = certify(model.transformer, formulas)
        assert void.void and not any(void.max_length.values())


def test_the_trusted_base_of_formulas_is_small() -> None:
    counted = _script("trusted_base")
    lines = counted.closure(counted.CHECKERS["native"])
    assert sum(lines.values()) <= 8000
    assert sum(counted.closure(counted.CHECKERS["simulations"]).values()) <= 6000


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
