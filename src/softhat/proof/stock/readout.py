"""The heads of a stock checkpoint: classifiers, and language models that allow or forbid tokens.

Rows are forms over variables; each must be the ±1 of a stored bit, or of a constant, and its
function that of the formula that it is claimed to compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from softhat.io.errors import VoidError
from softhat.proof.claims import Claims
from softhat.proof.stock.automata import Claimed, LanguageClaims, at_start
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.determined import exactly_one
from softhat.proof.stock.variables import BitCell, Cell, Form, TableCell, split


@dataclass(frozen=True)
class Readout:
    """What a checkpoint's last block leaves, and what it is claimed to compute."""

    cells: list[Cell]
    atoms: BoundedAtoms
    claims: Claims | LanguageClaims
    formulas: Mapping[str, Claimed]
    least: float = 0.0
    """Logits must be larger than this in size."""

    def classifier(self, rows: list[Form], several: bool) -> tuple[float, ...]:
        """One logit for each output; or, for the only one, that of `true` and its negative. How
        large each of them is."""
        if not several:
            if len(rows) != 2 or not _opposite(*rows):
                raise VoidError("the classifier's two logits are not opposite")
            if len(self.formulas) != 1:
                raise VoidError(f"a classifier has one formula, not {len(self.formulas)}")
            return self.classifier(rows[1:], several=True) * 2
        if len(rows) != len(self.formulas):
            raise VoidError(f"{len(rows)} logits are not one for each output")
        sizes = []
        for row, name in zip(rows, self.formulas, strict=True):
            function, size, _ = self._decided(row, f"the logit of {name!r}")
            if size <= self.least or not self.claims.met(name, function):
                raise VoidError(f"output {name!r} does not compute its formula")
            sizes.append(size)
        return tuple(sizes)

    def language_model(
        self, rows: list[Form], symbols: tuple[str, ...], greedy: bool = False
    ) -> float:
        """Every token's logit is ±m as its formula says, at the empty prefix too: 2m, the
        margin. If `greedy`, exactly one token is allowed everywhere."""
        sizes = []
        allowed: dict[str, int] = {}
        first: list[str] = []
        starts = at_start(self.formulas)
        for row, name in zip(rows, token_names(rows, symbols), strict=True):
            where = f"the logit of {name or '<bos>'}"
            function, size, at_bos = self._decided(row, where)
            if name is not None and name not in self.formulas:
                raise VoidError(f"there is no formula for the token {name}")
            may_start = name is not None and starts[name]
            never = function == self.atoms.space.false
            if not (never if name is None else self.claims.met(name, function)):
                raise VoidError(f"output {name or '<bos>'!r} does not compute its formula")
            if (at_bos > 0) != may_start or not at_bos:
                raise VoidError(f"{where} is wrong before the first symbol")
            sizes += [size, abs(at_bos)]
            allowed[name or "<bos>"] = function
            first += [name] if may_start and name is not None else []
        if min(sizes) <= self.least or max(sizes) != min(sizes):
            raise VoidError("the logits of tokens have different sizes")
        if greedy:
            exactly_one(self.atoms.space, allowed, first)
        return 2 * min(sizes)

    def _decided(self, row: Form, where: str) -> tuple[int, float, float]:
        """A row as size·(±1 of a function): the function, the size, the value at <bos>."""
        space = self.atoms.space
        parts = split(row, self.cells)
        if parts.others or len(parts.bits) > 1:
            raise VoidError(f"{where} reads something that is not one stored bit")
        if not parts.bits:
            function = space.true if parts.ordinary > 0 else space.false
            return function, float(abs(parts.ordinary)), float(parts.bos)
        ((p, w),) = parts.bits.items()
        if parts.ordinary != 0:
            raise VoidError(f"{where} adds a constant to a stored bit")
        cell = self.cells[p]
        assert isinstance(cell, BitCell | TableCell)
        function = cell.function if w > 0 else space.negation(cell.function)
        return function, float(abs(w)), float(parts.bos)


def token_names(rows: list[Form], symbols: tuple[str, ...]) -> list[str | None]:
    """The tokens of a language model's rows; `<bos>` is None."""
    names: list[str | None] = [*symbols, None, "<eos>"]
    if len(rows) != len(names):
        raise VoidError("the lm head has not one row for each token")
    return names


def _opposite(a: Form, b: Form) -> bool:
    return a.weights == {p: -w for p, w in b.weights.items()}
