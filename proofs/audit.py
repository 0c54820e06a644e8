"""What the built theorems rest on. Fails on anything that is not proved by Coq's kernel.

Four looks, each of which must be clean; `make` takes the first two before Coq runs, too:

1. The project file is `-R . Softhat` and the list of all sources, nothing else: no flag of coqc.
   Beside them stand only files that this folder is known to have.
2. The sources have no command but those of `COMMANDS`: none that takes something for granted,
   leaves a theorem unproved, sets an option, loads a plugin or writes a file. What a theorem
   assumes stands in its statement or in its section. No sign, number, coercion or well-known name
   gets another meaning: statements mean what they say.
3. The compiled files were compiled here, from these sources. A build records each of them in the
   user's cache, outside this folder (`records`), and makes anew what has no record: nobody can send
   a compiled file along that does not come from the source beside it.
4. `coqchk`, a checker of its own, reads the compiled files and checks every proof again. What it
   says they rest on, by full names, must be the four axioms below, and nothing may rely on a check
   that was switched off. This look decides: it does not read the sources at all.

`audit.py --sources` is the first two looks; `--forget` removes compiled files without a record, and
`--record` records those that are there. `audit.py --whole` makes coqchk check Coq's own library and
Flocq too (a minute more). Needs Python 3 and Coq only.
"""

from __future__ import annotations

import hashlib
import os
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
NAMES = frozenset(
    re.findall(
        r"\w+",
        """True False not and or iff eq ex all nat bool list option prod true false O S Some None
        pair fst snd nil cons length app R Q Z N INR IZR Q2R Rle Rlt Rge Rgt Rabs Rplus Rmult Rminus
        Rdiv Rinv Ropp Rmax Rmin pow exp ln le lt ge gt nth nth_error rev firstn skipn flat_map map
        filter seq repeat In Forall existsb forallb andb orb negb xorb fold_left fold_right Qle Qlt
        Qeq Nat Coq""",
    )
)
"""Names of Coq's library in statements that people read: no source may declare one of them."""
_DECLARED = re.compile(r"\w+\s+(?:Scheme\s+)?(\w+)")
_MEMBER = re.compile(r"(?::=\s*|[{;|]\s*|\bwith\s+)(\w+)")
"""What a Record or an Inductive declares besides itself."""
_BESIDE = re.compile(r"\bwith\s+(\w+)\s*\(\s*\w+(?:\s+\w+)*\s*:")
"""What a Fixpoint declares besides itself."""
_FILES = re.compile(
    r"_CoqProject|Makefile|README\.md|audit\.py|locked\.py|\w+\.(?:v|vo|vos|vok|glob)|\.\w+\.aux"
    r"|\.[ln][ir]a\.cache|CoqMakefile(?:\.conf)?|\.CoqMakefile\.d"
)
"""All that may stand in this folder: sources, and what a build leaves."""
_BUILD = ("CoqMakefile", "CoqMakefile.conf", ".CoqMakefile.d")
"""How the build goes on: made anew each time, so that nobody else says it."""


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
        f"{path.name} has no place here, where only sources stand and what a build leaves of them"
        for path in sorted(HERE.iterdir())
        if not _FILES.fullmatch(path.name) or not path.is_file() or path.is_symlink()
    ]
    # coqchk believes what a dependency's compiled file says: each is built here, from a source.
    wrong += [
        f"{path.name} is compiled from no source that is listed"
        for path in sorted(HERE.glob("*.vo"))
        if f"{path.stem}.v" not in listed
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
        for name in sorted(NAMES & _declared(command, said)):
            yield f"{place(start)}: {name} is a name of Coq's library"
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


def _declared(command: str, said: str) -> set[str]:
    """The names that a command declares."""
    if command in ("Proof", "From", "Import", "Ltac") or command in _ASSUMING:
        return set()
    own = _DECLARED.match(said.removeprefix("Local").lstrip())
    names = set(own.groups()) if own else set()
    match command:
        case "Inductive" | "Record":
            names |= set(_MEMBER.findall(said))
        case "Fixpoint":
            names |= set(_BESIDE.findall(said))
    return names


def records() -> Path:
    """The folder in which this user's builds say what they have compiled from what."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "softhat" / "proofs"


def _record(source: Path) -> Path:
    """The record of a source and its compiled file, by the contents of both."""
    contents = (source.read_bytes(), source.with_suffix(".vo").read_bytes())
    both = "".join(hashlib.sha256(content).hexdigest() for content in contents)
    return records() / hashlib.sha256(both.encode()).hexdigest()


def strangers(sources: list[Path]) -> list[Path]:
    """Sources with a compiled file that no build of this user has compiled from them."""
    compiled = (path for path in sources if path.with_suffix(".vo").is_file())
    return [path for path in compiled if not _record(path).is_file()]


def forget(sources: list[Path]) -> None:
    """Remove what was not built here, and how it would be built."""
    for name in _BUILD:
        (HERE / name).unlink(missing_ok=True)
    for path in strangers(sources):
        path.with_suffix(".vo").unlink()


def record(sources: list[Path]) -> None:
    """Say of each compiled file that it was compiled from its source. Where nothing can be said
    the next build compiles it again."""
    try:
        records().mkdir(parents=True, exist_ok=True)
        for path in strangers(sources):
            _record(path).touch()
    except OSError as error:
        print(f"proofs: compiled files cannot be recorded: {error}", file=sys.stderr)


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
    if "--forget" in arguments:
        forget(sources)
        return
    if "--record" in arguments:
        record(sources)
        return
    for path in sources:
        wrong += suspects(path)
    if "--sources" in arguments:
        _refuse(wrong)
        return
    _refuse(wrong + [f"{path.name} was not compiled here: make" for path in strangers(sources)])
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
