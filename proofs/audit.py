"""What the built theorems rest on. Fails on anything that is not proved by Coq's kernel.

Four looks, each of which must be clean; `make` takes the first two before Coq runs, too:

1. The project file is `-R . Softhat` and the list of all sources, nothing else: no flag of coqc.
2. The sources have no command but those of `COMMANDS`: none that takes something for granted,
   leaves a theorem unproved, sets an option, loads a plugin or writes a file. What a theorem
   assumes stands in its statement or in its section. No sign, number or coercion gets another
   meaning: statements mean what they say.
3. The compiled files were compiled from these sources, by the digests that coqc leaves.
4. `coqchk`, a checker of its own, reads the compiled files and checks every proof again. What it
   says they rest on, by full names, must be the four axioms below, and nothing may rely on a check
   that was switched off. This look decides: it does not read the sources at all.

The third look trusts the digests: whoever is given compiled files runs `make clean` first.

`audit.py --sources` is the first two looks. `audit.py --whole` makes coqchk check Coq's own library
and Flocq too (a minute more). Needs Python 3 and Coq only.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOGICAL = "-R . Softhat"
"""The one line of _CoqProject that is not the name of a file."""
AXIOMS = {
    "Coq.Reals.ClassicalDedekindReals.sig_forall_dec",
    "Coq.Reals.ClassicalDedekindReals.sig_not_dec",
    "Coq.Logic.FunctionalExtensionality.functional_extensionality_dep",
    "Coq.Logic.Classical_Prop.classic",
}
"""Coq's real numbers are built from the first three; `classic` is p or not p."""
SEALED = (
    "Coq.Reals.Rdefinitions.RbaseSymbolsImpl.",
    "Coq.Reals.Rdefinitions.RinvImpl.",
    "Coq.ssr.ssrunder.Under_rel.",
)
"""Modules of Coq's own library with an opaque interface. Where coqchk does not check that library
again it lists their contents as axioms; `--whole` shows that they are none."""
COMMANDS = {
    "Theorem", "Corollary", "Lemma", "Definition", "Fixpoint", "Inductive", "Record", "Let",
    "Proof", "Qed", "Defined",
    "From", "Import", "Open Scope", "Module", "Section", "End",
    "Variable", "Variables", "Hypothesis", "Hypotheses", "Context",
    "Notation", "Ltac", "Arguments", "Instance", "Scheme", "Combined Scheme",
}  # fmt: skip
"""All that a source may say to Coq. None of them can be believed without a proof, but those of
`_ASSUMING`, outside a section."""
_ASSUMING = {"Variable", "Variables", "Hypothesis", "Hypotheses", "Context"}
"""In a section they become premises of its theorems. In a module they are axioms, and in the type
of a module premises that no statement shows."""

_STATEMENT = re.compile(r"^\s*(?:Theorem|Corollary)\s+(\w+)", re.MULTILINE)
_GRANTED = re.compile(r"\b(admit|give_up|bypass_check|native_\w+)\b")
"""Tactics that leave a proof to somebody else."""
_LAYOUT = re.compile(r"(?:[-+*{}\s]|(?:\d[\d\s,-]*|all|par|\[\w+\])\s*:)*")
"""Bullets, braces and the goals that a tactic is for."""
_SENTENCE = re.compile(r".*?(?:\.(?=\s|$)|\Z)", re.DOTALL)
_OPENING_WORDS = re.compile(r"(?:Local\s+)?(Open\s+Scope\b|Combined\s+Scheme\b|#|\w+)")
LIBRARIES = {"Coq", "Flocq", "Softhat"}
"""Where a source may take its theorems from: coqchk believes any other library, too."""
_REQUIRED = re.compile(r"From\s+(\w+)\s+Require\s+(?:Import\s+)?[\w.\s]+")
_MODULE = re.compile(r"Module\s+\w+")
_ARGUMENTS = re.compile(r"Arguments\s+\w+\s*:\s*clear\s+implicits")
_NOTATION = re.compile(r'Notation\s+"([^"]*)"')
SIGNS = {"<-", ";;"}
"""What a notation may use. Readers take all other signs for what they are elsewhere."""


def project() -> tuple[list[Path], list[str]]:
    """The files that _CoqProject lists, and what is wrong with it."""
    lines = [line.strip() for line in (HERE / "_CoqProject").read_text().splitlines()]
    lines = [line for line in lines if line]
    wrong = [f"_CoqProject must begin with {LOGICAL!r}"] if lines[:1] != [LOGICAL] else []
    named = lines[1:] if not wrong else [line for line in lines if line.endswith(".v")]
    wrong += [
        f"_CoqProject: {line!r} is not the name of a source: flags are not allowed"
        for line in named
        if not re.fullmatch(r"\w+\.v", line)
    ]
    listed = [line for line in named if re.fullmatch(r"\w+\.v", line)]
    wrong += [f"_CoqProject: there is no {line}" for line in listed if not (HERE / line).is_file()]
    wrong += [
        f"{path.name} is not listed in _CoqProject"
        for path in sorted(HERE.glob("*.v"))
        if path.name not in listed
    ]
    wrong += [
        f"{path.name}: code that Coq would run, or settings of the build, have no place here"
        for pattern in ("*.ml*", "*.cm*", "CoqMakefile.local*", "*.so", "coqrc*")
        for path in sorted(HERE.glob(pattern))
    ]
    # coqchk believes what a dependency's compiled file says: each is built here, from a source.
    wrong += [
        f"{path.relative_to(HERE)} is compiled from no source that is listed"
        for path in sorted(HERE.rglob("*.vo"))
        if path.parent != HERE or f"{path.stem}.v" not in listed
    ]
    wrong += [
        f"{path.relative_to(HERE)} stands in a folder of its own, where nothing is looked at"
        for path in sorted(HERE.rglob("*.v"))
        if path.parent != HERE
    ]
    return [HERE / line for line in listed if (HERE / line).is_file()], wrong


def without_comments(text: str, strings: bool = False) -> str:
    """The source with its comments (which nest) and, unless `strings`, its strings blanked out."""
    kept: list[str] = []
    depth, quoted, at = 0, False, 0
    while at < len(text):
        pair = text[at : at + 2]
        if quoted:
            quoted = text[at] != '"'
            kept.append(text[at] if text[at] == "\n" or (strings and depth == 0) else " ")
            at += 1
        elif text[at] == '"':
            quoted = True
            kept.append('"' if strings and depth == 0 else " ")
            at += 1
        elif pair == "(*":
            depth, at = depth + 1, at + 2
            kept.append("  ")
        elif pair == "*)" and depth:
            depth, at = depth - 1, at + 2
            kept.append("  ")
        else:
            kept.append(text[at] if depth == 0 or text[at] == "\n" else " ")
            at += 1
    return "".join(kept)


def suspects(path: Path) -> Iterator[str]:
    """Every place of a source where it says something else to Coq than `COMMANDS`."""
    source = path.read_text()
    text, quoted = without_comments(source), without_comments(source, strings=True)

    def place(at: int) -> str:
        return f"{path.name}:{text.count(chr(10), 0, at) + 1}"

    for sign in re.finditer(r"[^\n -~]", text):
        yield f"{place(sign.start())}: {sign.group()!r}: letters of other alphabets look like Latin"
    for coercion in re.finditer(":>", text):
        yield f"{place(coercion.start())}: a coercion changes how a statement is read"
    for word in _GRANTED.finditer(text):
        yield f"{place(word.start())}: {word.group()}"
    open_now: list[str] = []
    for sentence in _SENTENCE.finditer(text):
        laid_out = _LAYOUT.match(text, sentence.start(), sentence.end())
        start = laid_out.end() if laid_out else sentence.start()
        said = text[start : sentence.end()].removesuffix(".")
        opening = _OPENING_WORDS.match(said)
        if opening is None or opening[1][0].islower():
            continue  # a tactic: what it makes is checked
        command = " ".join(opening[1].split())
        if command not in COMMANDS:
            yield f"{place(start)}: {' '.join(said.split()[:4])}: not a command of these theorems"
        elif command in _ASSUMING and open_now[-1:] != ["Section"]:
            yield f"{place(start)}: {command} outside a section is an axiom"
        elif command == "From":
            required = _REQUIRED.fullmatch(said)
            if required is None or required[1] not in LIBRARIES:
                known = ", ".join(sorted(LIBRARIES))
                yield f"{place(start)}: Require from a library other than {known}"
        elif command == "Module" and not _MODULE.fullmatch(said):
            yield f"{place(start)}: a module with parameters or a type: what it assumes is not seen"
        elif command == "Arguments" and not _ARGUMENTS.fullmatch(said):
            yield f"{place(start)}: Arguments may change how a statement is read"
        elif command == "Notation":
            yield from _changed_signs(quoted[start : sentence.end()], place(start))
        elif re.search(r'\bwhere\s*"', quoted[start : sentence.end()]):
            yield f"{place(start)}: a notation in the definition of what it stands for"
        if command in ("Section", "Module"):
            open_now.append(command)
        elif command == "End" and open_now:
            open_now.pop()


def _changed_signs(notation: str, where: str) -> Iterator[str]:
    """What a notation gives another meaning; one without quotes is a name like any other."""
    if (found := _NOTATION.match(notation)) is None:
        return
    changed = [
        part for part in found[1].split() if part not in SIGNS and not re.fullmatch("'|[a-z]", part)
    ]
    if changed:
        yield f"{where}: a notation gives {' '.join(changed)} another meaning"


def stale(sources: list[Path]) -> list[str]:
    """Sources that the compiled files are not compiled from."""
    wrong = []
    for path in sources:
        said = path.with_suffix(".glob")
        digest = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
        if not said.is_file() or said.read_text().partition("\n")[0] != f"DIGEST {digest}":
            wrong.append(f"{path.name} is not what {path.stem}.vo was compiled from: make clean")
    return wrong


def recheck(sources: list[Path], whole: bool) -> tuple[set[str], list[str]]:
    """The axioms that coqchk finds by full name, and what it objects to."""
    names = [f"Softhat.{path.stem}" for path in sources]
    modules = names if whole else [word for name in names for word in ("-norec", name)]
    try:
        done = subprocess.run(
            ["coqchk", "-o", "-silent", "-Q", str(HERE), "Softhat", *modules],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return set(), ["coqchk is missing: it comes with Coq"]
    if done.returncode:
        return set(), [f"coqchk refuses: {(done.stderr or done.stdout).strip()[-600:]}"]
    summary = done.stdout + done.stderr  # it goes to standard error
    parts = dict(re.findall(r"^\* ([^:\n]+):(.*?)(?=^\* |\Z)", summary, re.M | re.S))
    wrong = [
        f"coqchk: {title}: {' '.join(body.split())}"
        for title, body in parts.items()
        if title not in ("Axioms", "Theory") and body.split() != ["<none>"]
    ]
    if parts.get("Theory", "").strip() != "Set is predicative":
        wrong.append(f"coqchk: the theory is not Coq's own: {parts.get('Theory', '').strip()}")
    if len(parts) != 5:
        wrong.append("coqchk: its summary is not what this audit knows (Coq 8.16)")
    axioms = set(parts.get("Axioms", "").split()) - {"<none>"}
    if not whole:
        axioms = {name for name in axioms if not name.startswith(SEALED)}
    wrong += [f"not proved: {name}" for name in sorted(axioms - AXIOMS)]
    return axioms, wrong


def _refuse(wrong: list[str]) -> None:
    if wrong:
        sys.exit("proofs: not proved:\n  " + "\n  ".join(wrong))


def main(arguments: list[str]) -> None:
    sources, wrong = project()
    for path in sources:
        wrong += suspects(path)
    if "--sources" in arguments:
        _refuse(wrong)
        return
    _refuse(wrong + stale(sources))
    axioms, wrong = recheck(sources, "--whole" in arguments)
    _refuse(wrong)
    theorems = sum(len(_STATEMENT.findall(without_comments(p.read_text()))) for p in sources)
    short = sorted(name.rsplit(".", 1)[-1] for name in axioms)
    print(
        f"{theorems} theorems in {len(sources)} files, 0 admitted, checked again by coqchk; "
        f"axioms: {', '.join(short) or 'none'}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
