"""Formulas as sentences of the monadic second-order logic of one successor, decided by MONA.

An independent translation: each operator by its definition with quantifiers over positions
0..n, each `mod` by sets of positions that follow each other round. MONA (Debian's `mona`) builds
the minimal automaton and gives a satisfying word of least length.
"""

from __future__ import annotations

import itertools
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula

needs_mona = pytest.mark.skipif(
    shutil.which("mona") is None, reason="MONA is not installed (Debian: apt install mona)"
)


def least_length(
    formula: Formula, where: str, names: Sequence[str], propositional: bool, seconds: int = 60
) -> int | str | None:
    """The length of the shortest word where the formula holds there; "timeout" if MONA would take
    more processor seconds (or ten times as long, where other programs run), "memory" if it would
    take more than 8 GB."""
    script = sentence(formula, where, names, propositional)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "question.mona"
        path.write_text(script)
        limit = f"ulimit -v {1 << 23}; ulimit -t {seconds}; exec mona -q question.mona"
        try:
            done = subprocess.run(
                ["sh", "-c", limit],
                cwd=folder, capture_output=True, text=True, timeout=10 * seconds,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "timeout"
    if -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
        return "timeout"
    if done.returncode < 0 or "out of memory" in done.stdout:  # it does not always look
        return "memory"
    if "Formula is unsatisfiable" in done.stdout:
        return None
    found = re.search(r"A satisfying example of least length \((\d+)\)", done.stdout)
    if found is None:
        raise AssertionError(done.stdout + done.stderr + script)
    return int(found[1])


def sentence(formula: Formula, where: str, names: Sequence[str], propositional: bool) -> str:
    """n is the last position; the set P<k> holds where the k-th name does."""
    translate = _Translation(names)
    if where == "anywhere":
        asked = f"(ex1 x: x <= n & {translate(formula, 'x')})"
    else:
        asked = translate(formula, "0" if where == "first" else "n")
    sets = [f"P{k}" for k in range(len(names))] + translate.moduli_sets()
    lines = ["ws1s;", "var1 n;"]
    if sets:
        lines.append(f"var2 {', '.join(sets)};")
        lines += [f"{name} sub {{0,...,n}};" for name in sets]
    if not propositional and names:
        one = " | ".join(
            "("
            + " & ".join(f"x {'in' if k == j else 'notin'} P{k}" for k in range(len(names)))
            + ")"
            for j in range(len(names))
        )
        lines.append(f"all1 x: x <= n => ({one});")
    lines += translate.definitions()
    return "\n".join([*lines, asked + ";"]) + "\n"


class _Translation:
    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.moduli: set[int] = set()
        self.fresh = (f"v{k}" for k in itertools.count())

    def moduli_sets(self) -> list[str]:
        return [f"M{m}_{r}" for m in sorted(self.moduli) for r in range(m)]

    def definitions(self) -> list[str]:
        lines = []
        for m in sorted(self.moduli):
            for r in range(m):  # position 0 is the first: number 1
                lines.append(f"0 {'in' if r == 1 % m else 'notin'} M{m}_{r};")
                lines.append(f"all1 x: x < n => (x in M{m}_{r} <=> x + 1 in M{m}_{(r + 1) % m});")
        return lines

    def __call__(self, f: Formula, x: str) -> str:
        match f:
            case nodes.Symbol(name):
                return f"({x} in P{self.names.index(name)})"
            case nodes.Constant(value):
                return "true" if value else "false"
            case nodes.First():
                return f"({x} = 0)"
            case nodes.Last():
                return f"({x} = n)"
            case nodes.Mod(m, r):
                self.moduli.add(m)
                return f"({x} in M{m}_{r})"
            case nodes.Not(g):
                return f"~{self(g, x)}"
            case nodes.And(g, h):
                return f"({self(g, x)} & {self(h, x)})"
            case nodes.Or(g, h):
                return f"({self(g, x)} | {self(h, x)})"
            case nodes.Xor(g, h):
                return f"~({self(g, x)} <=> {self(h, x)})"
            case nodes.Iff(g, h):
                return f"({self(g, x)} <=> {self(h, x)})"
            case nodes.Implies(g, h):
                return f"({self(g, x)} => {self(h, x)})"
            case nodes.Yesterday(g):
                y = next(self.fresh)
                return f"(ex1 {y}: {y} + 1 = {x} & {self(g, y)})"
            case nodes.WeakYesterday(g):
                y = next(self.fresh)
                return f"(all1 {y}: {y} + 1 = {x} => {self(g, y)})"
            case nodes.Tomorrow(g):
                y = next(self.fresh)
                return f"(ex1 {y}: {y} = {x} + 1 & {y} <= n & {self(g, y)})"
            case nodes.WeakTomorrow(g):
                y = next(self.fresh)
                return f"(all1 {y}: ({y} = {x} + 1 & {y} <= n) => {self(g, y)})"
            case nodes.Once(g):
                y = next(self.fresh)
                return f"(ex1 {y}: {y} <= {x} & {self(g, y)})"
            case nodes.Historically(g):
                y = next(self.fresh)
                return f"(all1 {y}: {y} <= {x} => {self(g, y)})"
            case nodes.Eventually(g):
                y = next(self.fresh)
                return f"(ex1 {y}: {x} <= {y} & {y} <= n & {self(g, y)})"
            case nodes.Always(g):
                y = next(self.fresh)
                return f"(all1 {y}: ({x} <= {y} & {y} <= n) => {self(g, y)})"
            case nodes.Since(g, h):
                y, z = next(self.fresh), next(self.fresh)
                held = f"(all1 {z}: ({y} < {z} & {z} <= {x}) => {self(g, z)})"
                return f"(ex1 {y}: {y} <= {x} & {self(h, y)} & {held})"
            case nodes.Triggered(g, h):
                return "~" + self(nodes.Since(nodes.Not(g), nodes.Not(h)), x)
            case nodes.Until(g, h):
                y, z = next(self.fresh), next(self.fresh)
                held = f"(all1 {z}: ({x} <= {z} & {z} < {y}) => {self(g, z)})"
                return f"(ex1 {y}: {x} <= {y} & {y} <= n & {self(h, y)} & {held})"
            case nodes.Release(g, h):
                return "~" + self(nodes.Until(nodes.Not(g), nodes.Not(h)), x)
            case nodes.WeakUntil(g, h):
                return f"({self(nodes.Until(g, h), x)} | {self(nodes.Always(g), x)})"
            case nodes.StrongRelease(g, h):
                return self(nodes.Until(h, nodes.And(g, h)), x)
        raise AssertionError(f"no translation of {type(f).__name__}")
