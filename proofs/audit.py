"""What the built theorems rest on: fails on anything admitted and on any unexpected axiom.

Reads the names of all theorems from the sources, asks Coq for the assumptions of each, and
prints them. Needs Python 3 and coqc only.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ALLOWED = {"sig_forall_dec", "sig_not_dec", "functional_extensionality_dep", "classic"}
"""The reals of Coq's standard library are built from the first three; `classic` is p or not p."""
HOLES = re.compile(r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjecture)\b")
STATEMENT = re.compile(r"^\s*(?:Theorem|Corollary)\s+(\w+)", re.MULTILINE)


def sources() -> list[Path]:
    """The files that _CoqProject lists."""
    lines = (HERE / "_CoqProject").read_text().split()
    return [HERE / name for name in lines if name.endswith(".v")]


def without_comments(text: str) -> str:
    """Coq's comments nest."""
    kept, depth = [], 0
    for piece in re.split(r"(\(\*|\*\))", text):
        if piece == "(*":
            depth += 1
        elif piece == "*)":
            depth -= 1
        elif depth == 0:
            kept.append(piece)
        else:
            kept.append("\n" * piece.count("\n"))
    return "".join(kept)


def holes() -> Iterator[str]:
    """Every place where something is taken for granted."""
    for path in sources():
        for number, line in enumerate(without_comments(path.read_text()).splitlines(), 1):
            for found in HOLES.finditer(line):
                yield f"{path.name}:{number}: {found.group()}"


def theorems() -> list[str]:
    """File.name of every theorem and corollary."""
    return [
        f"{path.stem}.{name}"
        for path in sources()
        for name in STATEMENT.findall(without_comments(path.read_text()))
    ]


def assumptions(names: list[str]) -> set[str]:
    """The axioms that these theorems depend on, by `Print Assumptions` of all of them at once."""
    modules = " ".join(path.stem for path in sources())
    together = ", ".join(f"@Softhat.{name}" for name in names)
    file = HERE / "Audit.v"
    file.write_text(
        f"From Softhat Require {modules}.\nDefinition everything := ({together}).\n"
        "Print Assumptions everything.\n"
    )
    done = subprocess.run(
        ["coqc", "-q", "-R", str(HERE), "Softhat", str(file)], capture_output=True, text=True
    )
    for built in (*HERE.glob("Audit.*"), *HERE.glob(".Audit.*")):
        built.unlink()
    if done.returncode:
        sys.exit(f"proofs: coqc could not read the theorems:\n{done.stderr}")
    listed = done.stdout.removeprefix("Axioms:")
    return {name.rsplit(".", 1)[-1] for name in re.findall(r"^([\w.']+)\s*:", listed, re.M)}


def main() -> None:
    left = list(holes())
    if left:
        sys.exit("proofs: not proved:\n  " + "\n  ".join(left))
    names = theorems()
    axioms = assumptions(names)
    if axioms - ALLOWED:
        for name in names:  # slower: whose they are
            extra = assumptions([name]) - ALLOWED
            if extra:
                print(f"proofs: {name} depends on {', '.join(sorted(extra))}")
        sys.exit(1)
    print(f"{len(names)} theorems, 0 admitted; axioms: {', '.join(sorted(axioms)) or 'none'}")


if __name__ == "__main__":
    main()
