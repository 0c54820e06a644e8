"""Theorems are cited by name: "`latest_leak` of proofs/Latest.v". Each name must be there."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.proofs.coq import PROOFS, needs_coq

ROOT = PROOFS.parent
NAME = r"`\w+`"
CITED = re.compile(rf"((?:{NAME}(?:,\s+|\s+and\s+)?)+)\s+of\s+`?proofs/(\w+)\.v`?")
MENTIONED = re.compile(r"proofs/(\w+)\.v")
DECLARED = re.compile(
    r"^\s*(?:Theorem|Corollary|Lemma|Definition|Fixpoint|Record|Inductive)\s+(\w+)", re.M
)
PROVED = re.compile(
    r"(?:Theorem|Corollary|Lemma|Definition|Fixpoint)\s+(\w+)(.*?)\bProof\b(.*?)\b(?:Qed|Defined)\.",
    re.S,
)
GENERATED = re.compile(r"H\d*|IH\w*|Heq\w*|[a-z]\d+")
"""What Coq calls things that a script has not named."""
NAMING = re.compile(
    r"\b(?:intros?|as|fix|set|pose|remember|assert|enough|fun|forall|exists|let|match|with|in)\b"
    r"([^.;]*)|eqn:\s*([\w']+)|\(([\w']+)\s*:|\b(?:Variables?|Hypothes[ei]s)\b([^:]*):"
    r"|\bstep\s+[\w']+\s+([\w']+\s+[\w']+)"  # H, what it finds, and the name of the equation
)
WORD = re.compile(r"[A-Za-z_][\w']*")
UNCHECKED = "not machine-checked"
HEAD = re.compile(r"^NAMES = \{|^def \w+_scores\(", re.M)
"""A module of a kind of head: how its weights are written, or recognised."""


def _texts() -> dict[str, str]:
    files = [*ROOT.glob("src/softhat/**/*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    return {str(file.relative_to(ROOT)): file.read_text() for file in files}


def _citations(text: str) -> list[tuple[str, str]]:
    """(file, name) of every theorem that is cited."""
    found = CITED.findall(text)
    return [(file, name.strip("`")) for names, file in found for name in re.findall(NAME, names)]


def test_every_cited_theorem_exists() -> None:
    declared = {path.stem: set(DECLARED.findall(path.read_text())) for path in PROOFS.glob("*.v")}
    cited = 0
    for where, text in _texts().items():
        for file in MENTIONED.findall(text):
            assert file in declared, f"{where} names proofs/{file}.v, which is not there"
        for file, name in _citations(text):
            assert name in declared[file], f"{where} cites {name} of proofs/{file}.v: not there"
            cited += 1
    assert cited > 15


@pytest.mark.parametrize(
    "path",
    sorted(
        path.relative_to(ROOT)
        for folder in ("transformer/lowering", "proof")
        for path in ROOT.glob(f"src/softhat/{folder}/heads/*.py")
        if HEAD.search(path.read_text())
    ),
    ids=str,
)
def test_every_head_cites_its_theorem(path: Path) -> None:
    text = (ROOT / path).read_text()
    assert _citations(text) or UNCHECKED in text, f"{path}: cite a theorem, or say {UNCHECKED!r}"


def test_every_bound_in_the_docs_cites_its_theorem() -> None:
    text = (ROOT / "docs" / "compiler.md").read_text()
    rows = re.search(r"^\| kind \|.*\n\|[- |]*\n((?:\|.*\n)+)", text, re.M)
    assert rows is not None
    for row in rows[1].splitlines():
        assert _citations(row) or UNCHECKED in row, row


def test_lines_have_the_projects_width() -> None:
    width = tomllib.loads((PROOFS.parent / "pyproject.toml").read_text())["tool"]["ruff"][
        "line-length"
    ]
    for file in sorted(PROOFS.glob("*.v")):
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            assert len(line) <= width, f"{file.name}:{number}"


@pytest.mark.parametrize("path", sorted(PROOFS.glob("*.v")), ids=lambda path: path.stem)
def test_scripts_name_what_they_refer_to(path: Path) -> None:
    """Of what looks generated, each word that a proof uses is named in it, in its statement, by
    its section or by the file."""
    text = re.sub(r"\(\*.*?\*\)", "", path.read_text(), flags=re.S)
    of_the_file = {*DECLARED.findall(text)}
    of_the_file.update(WORD.findall(" ".join(groups[3] for groups in NAMING.findall(text))))
    for name, statement, script in PROVED.findall(text):
        named = {*of_the_file, *WORD.findall(statement)}
        for groups in NAMING.findall(script):
            named.update(WORD.findall(" ".join(groups)))
        used = {word for word in WORD.findall(script) if GENERATED.fullmatch(word)}
        assert used <= named, f"{name}: {sorted(used - named)}"


@pytest.mark.full  # `make proofs` ends with this audit
def test_the_axioms_are_those_of_the_reals() -> None:
    needs_coq()
    audit = subprocess.run(
        [sys.executable, PROOFS / "audit.py"], capture_output=True, text=True, check=False
    )
    assert audit.returncode == 0, audit.stdout + audit.stderr
    assert "0 admitted" in audit.stdout
