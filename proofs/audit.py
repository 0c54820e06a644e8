"""What the built theorems rest on. Fails on anything that is not proved by Coq's kernel.

Four looks, each of which must be clean:

1. The project file is `-R . Softhat` and the list of all sources, nothing else: no flag of coqc.
2. The sources have no command that takes something for granted, switches a check of the kernel
   off, sets an option or loads a plugin. This look is for a clear message with file and line.
   Nor do they give a sign of logic or arithmetic another meaning: statements mean what they say.
3. The compiled files were compiled from these sources, by the digests that coqc leaves.
4. `coqchk`, a checker of its own, reads the compiled files and checks every proof again. What it
   says they rest on, by full names, must be the four axioms below, and nothing may rely on a check
   that was switched off. This look decides: it does not read the sources at all.

`audit.py --whole` makes coqchk check Coq's own library and Flocq too (a minute more). Needs
Python 3 and Coq only.
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
INNOCENT = {"Printing", "Bullet"}
"""Options that change how proofs are shown or laid out, never what is accepted."""

_STATEMENT = re.compile(r"^\s*(?:Theorem|Corollary)\s+(\w+)", re.MULTILINE)
_GRANTED = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Admit\s+Obligations|bypass_check"
    r"|native_compute)\b"
)
_COMMAND = re.compile(
    r"(?:^|(?<=\.)\s)\s*(?:(?:Local|Global|Export|Polymorphic)\s+|#\[[^\]]*\]\s*)*"
    r"(Set|Unset|Test|Declare\s+ML|Load|Cd|Add\s+(?:Rec\s+)?(?:LoadPath|ML)|Drop|Redirect|Extraction"
    r"|Primitive|Register|Inductive|CoInductive)\b([^.]*)",
    re.MULTILINE,
)
_REQUIRED = re.compile(r"(?:\bFrom\s+([\w.]+)\s+)?\bRequire\b")
LIBRARIES = {"Coq", "Flocq", "Softhat"}
"""Where a source may take its theorems from: coqchk believes any other library, too."""
_NOTATION = re.compile(r'\b(?:Notation|Infix)\s+"([^"]*)"')
SIGNS = {
    "=", "<>", "<", "<=", ">", ">=", "==", "/\\", "\\/", "~", "->", "<->", "+", "-", "*", "/", "^",
    "&&", "||", "forall", "exists", "fun", "if", "let", "match",
}  # fmt: skip
"""What no notation may begin to mean: a reader takes them for what they are elsewhere."""
_OPENING = re.compile(r"^\s*(?:Section|Module)\s+(\w+)|^\s*End\s+(\w+)", re.MULTILINE)
_ASSUMED = re.compile(r"^\s*(?:Variables?|Hypothes[ie]s|Context)\b", re.MULTILINE)


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
    """Every place of a source where something is taken for granted or switched."""
    text = without_comments(path.read_text())

    def place(at: int) -> str:
        return f"{path.name}:{text.count(chr(10), 0, at) + 1}"

    for word in _GRANTED.finditer(text):
        yield f"{place(word.start())}: {word.group()}"
    for command in _COMMAND.finditer(text):
        name, rest = command.group(1), command.group(2).split()
        where = place(command.start(1))
        if name in ("Inductive", "CoInductive"):
            continue
        if name in ("Set", "Unset") and rest[:1] and rest[0] in INNOCENT:
            continue
        yield f"{where}: {name} {' '.join(rest[:3])}".rstrip()
    for notation in _NOTATION.finditer(without_comments(path.read_text(), strings=True)):
        changed = sorted(SIGNS & set(notation[1].replace("'", " ").split()))
        if changed:
            yield f"{path.name}: a notation gives {' '.join(changed)} another meaning"
    for required in _REQUIRED.finditer(text):
        if required.group(1) not in LIBRARIES:
            known = ", ".join(sorted(LIBRARIES))
            yield f"{place(required.start())}: Require from a library other than {known}"
    open_sections: list[str] = []
    events = [(m.start(), m) for m in _OPENING.finditer(text)]
    events += [(m.start(), m) for m in _ASSUMED.finditer(text)]
    for at, event in sorted(events, key=lambda pair: pair[0]):
        if event.re is _ASSUMED:
            if not open_sections:
                where = at + len(event.group()) - len(event.group().lstrip())
                yield f"{place(where)}: {event.group().strip()} outside a section is an axiom"
        elif event.group(1):
            open_sections.append(event.group(1))
        elif open_sections:
            open_sections.pop()


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


def main(arguments: list[str]) -> None:
    sources, wrong = project()
    for path in sources:
        wrong += suspects(path)
    wrong += stale(sources)
    if wrong:
        sys.exit("proofs: not proved:\n  " + "\n  ".join(wrong))
    axioms, wrong = recheck(sources, "--whole" in arguments)
    if wrong:
        sys.exit("proofs: not proved:\n  " + "\n  ".join(wrong))
    theorems = sum(len(_STATEMENT.findall(without_comments(p.read_text()))) for p in sources)
    short = sorted(name.rsplit(".", 1)[-1] for name in axioms)
    print(
        f"{theorems} theorems in {len(sources)} files, 0 admitted, checked again by coqchk; "
        f"axioms: {', '.join(short) or 'none'}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
