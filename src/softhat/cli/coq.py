"""A theorem as a Coq file: written, read by Coq where it is installed, and reported."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from softhat.cli.output import say
from softhat.export.coq.checker import SAID, CoqVerdict, ask
from softhat.io.files import write_file
from softhat.io.work.progress import Show


@dataclass(frozen=True, slots=True)
class AskedCoq:
    """A file with the theorem `right`, and what Coq says of it."""

    file: Path
    digest: str
    verdict: CoqVerdict

    def to_json(self) -> dict[str, object]:
        length = self.verdict.binary32
        return {
            "file": str(self.file),
            "theorem": "right",
            "accepted": self.verdict.accepted,
            "sha256": self.digest,
            **({"binary32": f"right_binary32, up to {length}"} if length else {}),
            "says": self.verdict.text,
        }

    def report(self, about: str = "", floats: str = "") -> None:
        """Say how anyone can check the file, what it is about, and what Coq said; `floats` is
        what else has checked the rounding of floats."""
        again = f"coqc -Q proofs Softhat {self.file}"
        say(f"{self.file}: theorem right, to be checked by anyone: {again}")
        if about:
            say(about)
        match self.verdict.accepted:
            case True:
                say(f"{self.verdict.text} (Coq accepts {self.file}{floats})")
                if self.verdict.binary32:
                    say(
                        "machine-checked, in float32, whatever the order of sums, for words up to "
                        f"{self.verdict.binary32:,} symbols (right_binary32)"
                    )
            case False:
                say(f"NOT proved: Coq refuses {self.file}: {self.verdict.text}")
            case None:
                say(f"not checked here: {self.verdict.text} {again}")


def ask_coq(text: str, file: Path, show: Show, claim: str = SAID) -> AskedCoq:
    """Write the file and ask Coq, whose acceptance proves `claim`."""
    write_file(file, text.encode())
    show("checking", 0, None, "Coq reads the file")
    return AskedCoq(file, hashlib.sha256(text.encode()).hexdigest(), ask(text, file.name, claim))
