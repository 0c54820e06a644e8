"""The audit of the theorems refuses every proof of 0 = 1 that somebody could smuggle in.

Each plant is a project of its own that coqc accepts (or would accept): a few lines of Coq and a
project file. `make` must fail on all of them, and pass on an honest one.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.proofs.coq import PROOFS, needs_coq
from tests.slices import every

PROJECT = "-R . Softhat\nPlanted.v\n"
HONEST = "(* Admitted in a comment is fine *)\nTheorem yes : 0 = 0.\nProof. reflexivity. Qed.\n"
NO = "Theorem no : 0 = 1."
STRINGS = "From Coq Require Import String."


@dataclass(frozen=True)
class Plant:
    """A source, and the project file and other files beside it."""

    source: str
    project: str = PROJECT
    others: tuple[tuple[str, str], ...] = ()
    environment: tuple[str, ...] = ()


LOOP = f"""Fixpoint loop (n : nat) : 0 = 1 := loop (S n).
{NO}
Proof. exact (loop 0). Qed."""
BAD = f"""Inductive bad := Bad (f : bad -> 0 = 1).
Definition self (b : bad) : 0 = 1 := match b with Bad f => f b end.
{NO}
Proof. exact (self (Bad self)). Qed."""
# Hurkens' paradox in the form of Coq's library, with Type in Type.
PARADOX = f"""From Coq Require Import Hurkens.
{NO}
Proof. destruct (TypeNeqSmallType.paradox Type eq_refl). Qed."""

PLANTS = {
    "Admitted": Plant(f"{NO}\nAdmitted.\n"),
    "admit in a proof": Plant(f"{NO}\nProof. admit. Admitted.\n"),
    "Admitted behind a tactic": Plant(
        f"Ltac easy_now := give_up.\n{NO}\nProof. easy_now. Admitted.\n"
    ),
    "Axiom": Plant(f"Axiom trust_me : 0 = 1.\n{NO}\nProof. exact trust_me. Qed.\n"),
    "Axiom in a section": Plant(
        f"Section S.\nAxiom trust_me : 0 = 1.\n{NO}\nProof. exact trust_me. Qed.\nEnd S.\n"
    ),
    "Parameter": Plant(f"Parameter x : 0 = 1.\n{NO}\nProof. exact x. Qed.\n"),
    "Variable with the name of an axiom": Plant(
        f"Variable classic : 0 = 1.\n{NO}\nProof. exact classic. Qed.\n"
    ),
    "Hypothesis in a module": Plant(
        "Module Classical_Prop.\nHypothesis classic : 0 = 1.\nEnd Classical_Prop.\n"
        f"{NO}\nProof. exact Classical_Prop.classic. Qed.\n"
    ),
    "Context outside a section": Plant(
        f"Context (classic : 0 = 1).\n{NO}\nProof. exact classic. Qed.\n"
    ),
    "Declare Module": Plant(
        "Module Type T.\nParameter classic : 0 = 1.\nEnd T.\nDeclare Module M : T.\n"
        f"{NO}\nProof. exact M.classic. Qed.\n"
    ),
    "Admit Obligations": Plant(
        "From Coq Require Import Program.\nProgram Definition no : 0 = 1 := _.\n"
        "Admit Obligations.\nTheorem no_ : 0 = 1.\nProof. exact no. Qed.\n"
    ),
    "an axiom of the library that is not among the four": Plant(
        "From Coq Require Import Eqdep.\nTheorem used : 0 = 0.\nProof. reflexivity. Qed.\n"
    ),
    "Unset Guard Checking": Plant(f"Unset Guard Checking.\n{LOOP}\n"),
    "Unset Guard Checking, elsewhere on the line": Plant(
        f"Definition a := 0. Local Unset Guard Checking.\n{LOOP}\n"
    ),
    "bypass_check(guard)": Plant(f"#[bypass_check(guard)]\n{LOOP}\n"),
    "Unset Positivity Checking": Plant(f"Unset Positivity Checking.\n{BAD}\n"),
    "bypass_check(positivity)": Plant(f"#[bypass_check(positivity)]\n{BAD}\n"),
    "Unset Universe Checking": Plant(f"Unset Universe Checking.\n{PARADOX}\n"),
    "bypass_check(universes)": Plant(
        f"#[bypass_check(universes)]\n{HONEST}"
    ),
    "hidden behind a string that looks like a comment": Plant(
        f'{STRINGS}\nDefinition opening := "(*"%string.\nUnset Guard Checking.\n{LOOP}\n'
        'Definition closing := "*)"%string.\n'
    ),
    "hidden behind a comment that looks like a string": Plant(
        f'(* " *)\nAxiom trust_me : 0 = 1.\n(* " *)\n{NO}\nProof. exact trust_me. Qed.\n'
    ),
    "a flag in the project file": Plant(PARADOX, "-R . Softhat\n-arg -type-in-type\nPlanted.v\n"),
    "a flag behind a file's name": Plant(PARADOX, "-R . Softhat\nPlanted.v -arg -type-in-type\n"),
    "a flag before everything": Plant(PARADOX, "-arg -type-in-type\n-R . Softhat\nPlanted.v\n"),
    "another set of axioms": Plant(HONEST, "-R . Softhat\n-arg -impredicative-set\nPlanted.v\n"),
    "another library under a known name": Plant(HONEST, "-R . Coq\nPlanted.v\n"),
    "a source that is not listed": Plant(HONEST, others=(("Other.v", f"{NO}\nAdmitted.\n"),)),
    "a source in a folder below": Plant(HONEST, others=(("below/Other.v", HONEST),)),
    "a compiled file without a source": Plant(HONEST, others=(("Other.vo", "anything"),)),
    "a compiled file in a folder below": Plant(HONEST, others=(("below/Other.vo", "anything"),)),
    "numbers of the processor": Plant(
        f"From Coq Require Import Uint63.\n{HONEST}Definition one := add 0%uint63 1%uint63.\n"
    ),
    "settings of the build": Plant(
        PARADOX, others=(("CoqMakefile.local", "COQEXTRAFLAGS += -type-in-type\n"),)
    ),
    "flags from the environment": Plant(PARADOX, environment=("COQEXTRAFLAGS=-type-in-type",)),
    "a library that nobody looks at": Plant(
        f"From Unseen Require Import Other.\n{NO}\nProof. exact no. Qed.\n",
    ),
    "a library by its whole name": Plant(f"Require Unseen.Other.\n{HONEST}"),
    "a plugin": Plant(f'Declare ML Module "plugin".\n{HONEST}'),
    "code of a plugin": Plant(HONEST, others=(("plugin.ml", "let () = ()\n"),)),
    "Local Axiom": Plant(f"Local Axiom trust_me : 0 = 1.\n{NO}\nProof. exact trust_me. Qed.\n"),
    "Conjecture": Plant(f"Conjecture trust_me : 0 = 1.\n{NO}\nProof. exact trust_me. Qed.\n"),
    "a functor that is applied to an axiom": Plant(
        "Module Type T.\nDefinition s := 0 = 1.\nParameter a : s.\nEnd T.\nModule F (X : T).\n"
        f"Definition b : 0 = 1 := X.a.\nEnd F.\nDeclare Module A : T.\nModule M := F A.\n{NO}\n"
        "Proof. exact M.b. Qed.\n"
    ),
    "a compiler from the environment": Plant(PARADOX, environment=("COQC=coqc -type-in-type",)),
    "an equation that means something else": Plant(
        f'Notation "a = b" := (a <= b).\n{NO}\nProof. repeat constructor. Qed.\n'
    ),
    "an Infix that means something else": Plant(
        f'Infix "=" := le.\n{NO}\nProof. repeat constructor. Qed.\n'
    ),
    "Primitive": Plant(
        "Primitive int := #int63_type.\nPrimitive add := #int63_add.\n" + HONEST
    ),
    "a variable in the type of a module, and a functor": Plant(
        "Module Type T.\nVariable trust_me : 0 = 1.\nEnd T.\nModule F (X : T).\n"
        f"{NO}\nProof. exact X.trust_me. Qed.\nEnd F.\n"
    ),
    "a theorem in the type of a module": Plant(
        "Module Type T.\nVariable a : 0 = 1.\nEnd T.\nModule Type U.\nInclude T.\n"
        f"{NO}\nProof. exact a. Qed.\nEnd U.\n"
    ),
    "a theorem that is given up": Plant(f"{NO}\nAbort.\n{HONEST}"),
    "a goal that is given up": Plant(f"Goal 0 = 1.\nAbort.\n{HONEST}"),
    "an equation that means something else, in a definition": Plant(
        'Inductive any : nat -> nat -> Prop := Any x y : x = y where "x = y" := (any x y).\n'
        f"{NO}\nProof. constructor. Qed.\n"
    ),
    "a number that means something else": Plant(
        f'Notation "1" := 0.\n{NO}\nProof. reflexivity. Qed.\n'
    ),
    "numbers that mean something else": Plant(
        "Inductive one := One.\nDefinition of (z : Number.int) : option one := Some One.\n"
        "Definition to (o : one) := Number.IntDecimal (Decimal.Pos Decimal.Nil).\n"
        "Declare Scope one_scope.\nNumber Notation one of to : one_scope.\n"
        f"Open Scope one_scope.\n{NO}\nProof. reflexivity. Qed.\n"
    ),
    "a word that means something else": Plant(f'Notation "\'nat\'" := bool.\n{HONEST}'),
    "a scope that means something else": Plant(f"Delimit Scope nat_scope with R.\n{HONEST}"),
    "arguments in another scope": Plant(f"Arguments eq {{A}} (x y)%bool_scope.\n{HONEST}"),
    "a coercion to what is true": Plant(
        "Definition true_of (n : nat) := True.\nCoercion true_of : nat >-> Sortclass.\n"
        "Theorem no : 0.\nProof. exact I. Qed.\n"
    ),
    "a coercion in a record": Plant(
        f"Record holds := Holds {{ it : nat; what :> Prop }}.\n{HONEST}"
    ),
    "a letter that looks like another": Plant(
        "Definition O\u0441 := 1.\nTheorem no : O\u0441 = 1.\nProof. reflexivity. Qed.\n"
    ),
    "an option behind Time": Plant(f"Time Set Definitional UIP.\n{HONEST}"),
    "a path of plugins behind Time": Plant(f'Time Add ML Path "/tmp".\n{HONEST}'),
    "a file that Coq would write": Plant(f'Time Redirect "audit" Print nat.\n{HONEST}'),
    "extraction": Plant(
        f"From Coq Require Import Extraction.\n{HONEST}Recursive Extraction yes.\n"
    ),
    "a build of one's own": Plant(
        f"{NO}\nProof. reflexivity. Qed.\n", others=(("CoqMakefile", "all:\n\ttouch a.vo\n"),)
    ),
    "a proof for native_compute": Plant(
        f"{NO}\nProof. native_cast_no_check (eq_refl 0). Qed.\n"
    ),
    "an attribute over two lines": Plant(f"#[ bypass_check ( guard\n) ]\n{LOOP}\n"),
    "a local attribute": Plant(f"#[local] Unset Guard Checking.\n{LOOP}\n"),
    "Local Unset": Plant(f"Local Unset Positivity Checking.\n{BAD}\n"),
    "Global Unset": Plant(f"Global Unset Universe Checking.\n{PARADOX}\n"),
    "an option behind a comment": Plant(f"(**) Unset Guard Checking. (* *)\n{LOOP}\n"),
    "an option between two strings that look like comments": Plant(
        f'{STRINGS}\nDefinition a := """(*"%string. Unset Guard Checking.\n{LOOP}\n'
        'Definition b := "*)"""%string.\n'
    ),
    "False that is true": Plant(
        "Inductive False := Fine.\nTheorem no : False.\nProof. exact Fine. Qed.\n"
    ),
    "False that is true, as another inductive's companion": Plant(
        "Inductive good := Good with False := Fine.\n"
        "Theorem no : False.\nProof. exact Fine. Qed.\n"
    ),
    "an absolute value of one's own": Plant(
        f"From Coq Require Import Reals.\nDefinition Rabs (x : R) := 0%R.\n{HONEST}"
    ),
    "a field with a known name": Plant(f"Record word := Word {{ length : nat }}.\n{HONEST}"),
    "a constructor with a known name": Plant(f"Inductive two := S | T.\n{HONEST}"),
    "a name without quotes with a known name": Plant(f"Notation le := ge.\n{HONEST}"),
    "floats of the processor": Plant(f"From Coq Require Import PrimFloat.\n{HONEST}"
        "Definition one := PrimFloat.add 0%float 1%float.\n"),
    "arrays of the processor": Plant(f"From Coq Require Import PArray.\n{HONEST}"
        "Definition one := PArray.make 1%uint63 0.\n"),
    "an axiom of the library for whatever is admitted": Plant(
        f"From Coq Require Import Compat.AdmitAxiom.\n{NO}\nProof. exact proof_admitted. Qed.\n"
    ),
    "another language of tactics": Plant(f"From Ltac2 Require Import Ltac2.\n{HONEST}"),
    "a canonical structure": Plant(
        "Record holds := Holds { it : nat }.\nCanonical one := Holds 1.\n" + HONEST
    ),
    "a notation for tactics": Plant(f'Tactic Notation "done" := idtac.\n{HONEST}'),
    "a flag to skip proofs": Plant(HONEST, "-R . Softhat\n-arg -vos\nPlanted.v\n"),
    "a flag to run proofs natively": Plant(
        HONEST, "-R . Softhat\n-arg \"-native-compiler yes\"\nPlanted.v\n"
    ),
    "a setting of the project file": Plant(
        PARADOX, "-R . Softhat\nCOQEXTRAFLAGS = -type-in-type\nPlanted.v\n"
    ),
    "flags of another name from the environment": Plant(
        PARADOX, environment=("OTHERFLAGS=-type-in-type", "COQFLAGS=-type-in-type")
    ),
    "flags for make from the environment": Plant(
        PARADOX, environment=("MAKEFLAGS=COQEXTRAFLAGS=-type-in-type",)
    ),
    "a module of Python beside the audit": Plant(
        f"{NO}\nAdmitted.\n", others=(("re.py", "import sys\nsys.exit(0)\n"),)
    ),
    "another makefile": Plant(HONEST, others=(("GNUmakefile", "all:\n\ttrue\n"),)),
    "rules among the dependencies": Plant(
        f"{NO}\nAdmitted.\n", others=((".CoqMakefile.d", "all: ;\n\ttouch Planted.vo\n"),)
    ),
    "Load": Plant("Load other.\n", others=(("other.v.txt", f"{NO}\nAdmitted.\n"),)),
}  # fmt: skip


def _planted(plant: Plant, folder: Path) -> None:
    for name in ("audit.py", "locked.py", "Makefile"):
        shutil.copy(PROOFS / name, folder / name)
    (folder / "_CoqProject").write_text(plant.project)
    (folder / "Planted.v").write_text(plant.source)
    for name, text in plant.others:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def _made(plant: Plant, folder: Path) -> subprocess.CompletedProcess[str]:
    _planted(plant, folder)
    command = ["env", *plant.environment, "make", "-C", str(folder), "-f", "Makefile"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_honest_proof_passes(tmp_path: Path) -> None:
    needs_coq()
    done = _made(Plant(HONEST), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 theorems in 1 files, 0 admitted" in done.stdout


def test_two_builds_at_once_do_the_work_once(tmp_path: Path) -> None:
    needs_coq()
    _planted(Plant(HONEST), tmp_path)
    command = ["make", "-C", str(tmp_path), "build"]
    builds = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [build.communicate()[0] for build in builds]
    assert [build.returncode for build in builds] == [0, 0]
    assert "".join(said).count("COQC Planted.v") == 1


@pytest.mark.parametrize("name", every(4, PLANTS))
def test_a_planted_proof_fails(name: str, tmp_path: Path) -> None:
    needs_coq()
    done = _made(PLANTS[name], tmp_path)
    assert done.returncode != 0, done.stdout


def test_nothing_compiled_is_handed_out() -> None:
    """The digests that tie a compiled file to its source could be forged by whoever sends both."""
    if not (PROOFS.parent / ".git").exists():
        pytest.skip("not a clone")
    listed = subprocess.run(
        ["git", "-C", str(PROOFS), "ls-files"], capture_output=True, text=True, check=True
    )
    others = {name for name in listed.stdout.split() if not name.endswith(".v")}
    assert others == {"Makefile", "README.md", "_CoqProject", "audit.py", "locked.py"}


def test_the_page_of_claims_hides_nothing() -> None:
    """Each theorem of `Main.v` is a whole statement: no section, no notation, no definition."""
    text = re.sub(r"\(\*.*?\*\)", "", (PROOFS / "Main.v").read_text(), flags=re.DOTALL)
    sentences = re.findall(r"\S.*?\.(?=\s)", text, re.DOTALL)
    opening = {sentence.split()[0] for sentence in sentences if sentence[0].isupper()}
    assert opening == {"From", "Import", "Open", "Theorem", "Proof.", "Qed."}
    assert "ltac:" not in text


@pytest.mark.parametrize("forge", [False, True], ids=["older source", "forged digest"])
def test_compiled_from_another_source(forge: bool, tmp_path: Path) -> None:
    """coqchk reads no source: a compiled file that looks newer would speak for any. It is made
    anew, whatever digests stand beside it."""
    needs_coq()
    assert _made(Plant(HONEST), tmp_path).returncode == 0
    other, digests = tmp_path / "Planted.v", tmp_path / "Planted.glob"
    other.write_text(f"{NO}\nProof. reflexivity. Qed.\n")
    os.utime(other, (0, 0))
    if forge:
        digest = hashlib.md5(other.read_bytes(), usedforsecurity=False).hexdigest()
        digests.write_text(f"DIGEST {digest}\n" + digests.read_text().partition("\n")[2])
    done = subprocess.run(
        ["make", "-C", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "COQC Planted.v" in done.stdout


def test_a_compiled_file_from_elsewhere_is_made_anew(tmp_path: Path) -> None:
    """Only what this user's builds have compiled from these very sources is used again."""
    needs_coq()
    folder, theirs = tmp_path / "here", Plant(HONEST, environment=(f"XDG_CACHE_HOME={tmp_path}",))
    folder.mkdir()
    assert "COQC Planted.v" in _made(theirs, folder).stdout
    assert "COQC Planted.v" in _made(Plant(HONEST), folder).stdout
    again = subprocess.run(["make", "-C", str(folder)], capture_output=True, text=True, check=True)
    assert "COQC Planted.v" not in again.stdout


LIBRARY_SEEN = "From Coq Require Import Arith.\nTheorem yes : 0 = 0.\nProof. reflexivity. Qed.\n"


@pytest.mark.parametrize("require", ["From Unseen Require Import Other", "Require Import Other"])
def test_a_library_of_the_environment_fails(require: str, tmp_path: Path) -> None:
    """coqchk believes libraries that it is not told to check: a build sees none but Coq's own."""
    needs_coq()
    library, project = tmp_path / "libraries" / "Unseen", tmp_path / "project"
    library.mkdir(parents=True)
    project.mkdir()
    (library / "Other.v").write_text(f"Unset Guard Checking.\n{LOOP}\n")
    subprocess.run(["coqc", "-q", "-R", ".", "Unseen", "Other.v"], cwd=library, check=True)
    plant = f"{require}.\n{NO}\nProof. exact no. Qed.\n"
    path = f"COQPATH={library.parent}"
    assert _made(Plant(plant, environment=(path,)), project).returncode != 0
    assert _made(Plant(LIBRARY_SEEN, environment=(path,)), project).returncode == 0


SWITCHED = ("Unset Guard Checking", "Unset Positivity Checking", "Unset Universe Checking",
            "Variable with the name of an axiom", "Axiom in a section",
            "Admit Obligations", "Declare Module", "Hypothesis in a module")  # fmt: skip


@pytest.mark.parametrize("name", SWITCHED)
def test_coqchk_alone_refuses_it(name: str, tmp_path: Path) -> None:
    """The look at the compiled file decides, whatever the sources look like."""
    needs_coq()
    (tmp_path / "Planted.v").write_text(PLANTS[name].source)
    built = subprocess.run(
        ["coqc", "-q", "-R", str(tmp_path), "Softhat", str(tmp_path / "Planted.v")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    audit = tmp_path / "audit.py"
    shutil.copy(PROOFS / "audit.py", audit)
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import audit; "
        "print(audit.recheck([audit.HERE / 'Planted.v'], False)[1])"
    )
    done = subprocess.run(["python3", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() != "[]"
