"""Asking Coq: a file of definitions in, Booleans out."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import pytest

from softhat.export.coq.syntax import preamble
from softhat.export.coq.theorem import READ, statement
from softhat.models.model import Model

PROOFS = Path(__file__).parents[2] / "proofs"


@lru_cache(maxsize=1)
def _missing() -> str:
    """Why Coq cannot be asked; empty if it can."""
    if shutil.which("coqc") is None:
        return "Coq is not installed (apt install coq libcoq-flocq)"
    if not (PROOFS / "CoqMakefile").exists():
        return "the theorems are not built: run make proofs"
    made = subprocess.run(
        ["make", "-C", str(PROOFS), "build"], capture_output=True, text=True, check=False
    )
    return "" if made.returncode == 0 else f"the theorems do not build: {made.stderr[-500:]}"


def needs_coq() -> None:
    """Skip the test where Coq cannot be asked."""
    reason = _missing()
    if reason.startswith("the theorems do not build"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)


def booleans(imports: str, definitions: str, questions: Sequence[str], folder: Path) -> list[bool]:
    """What each of the Boolean terms `questions` computes to."""
    asked = "\n".join(f"  {question} ::" for question in questions)
    file = folder / "Question.v"
    file.write_text(
        f"{imports}\n{definitions}\nDefinition answers : list bool := (\n{asked}\n  nil)%list.\n"
        "Eval vm_compute in answers.\n"
    )
    done = subprocess.run(
        ["coqc", "-q", "-R", str(PROOFS), "Softhat", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = re.findall(r"\b(true|false)\b", done.stdout.split("=", 1)[1].rsplit(":", 1)[0])
    assert len(found) == len(questions)
    return [answer == "true" for answer in found]


def certified(models: Sequence[Model], folder: Path) -> list[bool]:
    """What `Kernel.certified` says of each model, whatever softhat thinks of it."""
    modules = [
        f"Module M{k}.\n{statement(model).definitions}\nEnd M{k}.\n"
        for k, model in enumerate(models)
    ]
    asked = [
        f"(certified M{k}.formulas M{k}.weights M{k}.found"
        f"{f' && uniform M{k}.weights' if model.transformer.attention == 'hard' else ''})%bool"
        for k, model in enumerate(models)
    ]
    imports = preamble("many models", READ) + "From Softhat Require Import Hard.\n"
    return booleans(imports, "".join(modules), asked, folder)
