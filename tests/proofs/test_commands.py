"""`certify --coq` and `simulate --coq`: the files, what is said of them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from softhat.cli import coq as commands
from softhat.export.coq import checker
from softhat.export.coq.checker import CoqVerdict
from tests.cli.run import softhat
from tests.proofs.coq import needs_coq
from tests.slices import every

AHAT = Path(__file__).parents[2] / "examples" / "ahat" / "majority.json"


def test_a_formula_is_machine_checked(tmp_path: Path) -> None:
    needs_coq()
    file = tmp_path / "right.v"
    done = softhat("certify", "!c S a", "--alphabet", "abc", "--coq", "-o", str(file))
    assert done.code == 0, done.err
    assert "machine-checked, in the reals, for every length" in done.out
    text = file.read_text()
    assert "Theorem right" in text
    assert "(Since (Not (Symbol 2)) (Symbol 0))" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["right.v"]


@pytest.mark.parametrize("name", every(2, ["rasp-majority", "rasp-previous-token"]))
def test_a_rasp_program_is_machine_checked(name: str, tmp_path: Path) -> None:
    """Each output bit has a formula: what it says is in the file."""
    needs_coq()
    file = tmp_path / "right.v"
    done = softhat("certify", f"zoo:{name}", "--coq", "-o", str(file))
    assert done.code == 0, done.err
    assert "machine-checked, in the reals, for every length" in done.out
    assert "(* outputs: 0: is " in file.read_text()


HARD = [(("Y a | #(b) > 1", "--alphabet", "ab"),), (("zoo:rasp-reverse",),)]


@pytest.mark.parametrize("model", every(2, HARD))
def test_hard_attention_is_machine_checked(model: tuple[str, ...], tmp_path: Path) -> None:
    needs_coq()
    file = tmp_path / "right.v"
    done = softhat("certify", *model, "--attention", "hard", "--coq", "-o", str(file))
    assert done.code == 0, done.err
    assert "machine-checked, in the reals" in done.out
    stated = file.read_text().partition("Theorem right")[2]
    assert "hard_logit weights n w q" in stated and " logit" not in stated


def test_theorems_of_another_build_are_no_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A theorem that was not built says nothing of the model."""
    needs_coq()
    monkeypatch.setattr(checker, "proofs_folder", lambda: tmp_path)
    verdict = checker.ask("From Softhat Require Import Kernel.\n")
    assert verdict.accepted is None and "make proofs" in verdict.text


@pytest.fixture
def without_coq(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        commands, "ask", lambda *_: CoqVerdict(None, "Coq is not installed: get it;")
    )


@pytest.mark.usefixtures("without_coq")
@pytest.mark.parametrize(
    "command",
    [
        ("certify", "--regex", "(ab)*"),
        ("certify", "zoo:majority"),
        ("certify", "Y p", "--props"),
        ("simulate", str(AHAT)),
    ],
    ids=["regex", "zoo", "propositions", "ahat"],
)
def test_without_coq_the_file_is_written(command: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "right.v"
    done = softhat(*command, "--coq", "-o", str(file), "--json")
    assert done.code == 0, done.err
    said = json.loads(done.out)["coq"]
    assert said["accepted"] is None and "not installed" in said["says"]
    assert file.read_text().count("Theorem right :") == 1


@pytest.mark.parametrize(
    "command, message",
    [
        (("certify", "a S b", "-o", "a-b.v"), "no name for a Coq file"),
        (("certify", "--regex", "(ab)*", "--depth", "log", "-o", "a.v"), "block is repeated"),
    ],
)
def test_what_is_not_covered_is_said(
    command: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = softhat(*command, "--coq")
    assert done.code == 2, done.err
    assert message in done.err
    assert list(tmp_path.iterdir()) == []
