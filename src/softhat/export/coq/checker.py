"""Asking Coq: where it and the built theorems are, and what it says of a file.

Coq is not a dependency: without it the file is written all the same, and anybody who has Coq can
check it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from softhat.io.errors import SofthatError

INSTALL = "apt install coq libcoq-flocq"
SAID = "machine-checked, in the reals, for every length"
"""What a model's certificate may say once Coq has accepted its theorem."""
AXIOMS = frozenset(
    (
        "ClassicalDedekindReals.sig_forall_dec",
        "ClassicalDedekindReals.sig_not_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
        "Classical_Prop.classic",
    )
)
"""Those of Coq's real numbers, and p or not p."""
_MODULE = re.compile(r"[A-Za-z][A-Za-z0-9_]*\.v")
_AXIOM = re.compile(r"^(?!Axioms:)([\w.']+)\s*:(?!=)", re.M)
"""A name that Print Assumptions lists; its heading comes once a theorem."""
_LENGTH = re.compile(r"^ *= (\d+)%N\s+: N$", re.M)
"""What Coq prints of `binary32_length`."""
_OTHER_BUILD = (
    "bound to logical path",
    "makes inconsistent assumptions",
    "bad version number",
)
"""What Coq says of a theorem's file that is missing, or not of one build with the others."""
_MINUTES = 30


@dataclass(frozen=True)
class CoqVerdict:
    """What Coq said. `accepted` is None where it could not be asked: then `text` says why and what
    to do first, and whoever shows it goes on with the command that asks Coq."""

    accepted: bool | None
    text: str
    binary32: int = 0
    """The length up to which it accepted `right_binary32`; 0 if there is no such theorem."""


def check_file_name(file: Path) -> None:
    """A file of Coq is a module, whose name is the file's."""
    if _MODULE.fullmatch(file.name) is None:
        raise SofthatError(
            f"{file.name} is no name for a Coq file: letters, digits and _, then .v, as in right.v"
        )


def proofs_folder() -> Path | None:
    """The built theorems: beside the sources of softhat, or in the folder `proofs` here."""
    sources = Path(__file__).resolve().parents[4] / "proofs"
    for folder in (sources, Path("proofs").resolve()):
        if (folder / "Kernel.vo").is_file():
            return folder
    return None


def ask(text: str, name: str = "Right.v", claim: str = SAID) -> CoqVerdict:
    """Compile the file in a folder of its own; accepted only if nothing but the axioms is used.
    The caller knows what acceptance proves: `claim` is the verdict's text then."""
    coqc = shutil.which("coqc")
    if coqc is None:
        return CoqVerdict(None, f"Coq is not installed: {INSTALL}; then make proofs, then")
    folder = proofs_folder()
    if folder is None:
        return CoqVerdict(
            None, "the theorems are not built: make proofs in softhat's sources; then"
        )
    with TemporaryDirectory() as place:
        file = Path(place) / name
        file.write_text(text, encoding="utf-8")
        command = [coqc, "-q", "-Q", str(folder), "Softhat", str(file)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=60 * _MINUTES
            )
        except subprocess.TimeoutExpired:
            return CoqVerdict(None, f"Coq had not finished after {_MINUTES} minutes; to go on,")
    if done.returncode and any(sign in done.stderr for sign in _OTHER_BUILD):
        return CoqVerdict(
            None, "the theorems were built from other sources: make proofs in softhat's; then"
        )
    if done.returncode:
        return CoqVerdict(False, _reason(done.stderr))
    used = set(_AXIOM.findall(done.stdout.partition("Axioms:")[2]))
    if not used <= AXIOMS:
        return CoqVerdict(False, f"it rests on {', '.join(sorted(used - AXIOMS))}")
    printed = _LENGTH.search(done.stdout)
    return CoqVerdict(True, claim, int(printed[1]) if printed else 0)


def _reason(error: str) -> str:
    """The last words of Coq, on one line."""
    if "Unable to unify" in error and "true" in error:
        return "the check of the weights against the formula says no"
    return " ".join(error.split())[-300:] or "coqc failed"
