"""The inside of a long word in machine code, a pass at a time: the programs of `assembly`, run by
`compiled` a few thousand positions at a time, so that all columns stay in a core's cache.

The numbers are those of NumPy's kernels. These compute between two stretches of a program what it
has no step for: exponentials, and heads of other shapes. At the ends of a word they compute
everything.

numba takes as long to load as NumPy takes for millions of positions. So without a word of the user
a process begins with NumPy, and changes when it has computed `WARM` positions of a head: then
loading costs about as much as was spent until then, and a process that runs little never pays for
it. `SOFTHAT_KERNELS` in the environment says otherwise: `numpy` never changes, `compiled` begins
with machine code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn, Protocol

import numpy as np

from softhat.io.errors import SofthatError
from softhat.runtime.linear import assembly
from softhat.runtime.linear.assembly import Program, States
from softhat.runtime.linear.columns import Array, Column, StoredColumns, View
from softhat.runtime.linear.kernels import (
    LARGEST_EXPONENT,
    STEEP,
    LocalKernel,
    StrictKernel,
    UniformKernel,
    Word,
)
from softhat.runtime.linear.layers import LinearEmbedding, LinearLayer, LinearReadOut
from softhat.runtime.linear.passes import HeadRun, Pass

VARIABLE = "SOFTHAT_KERNELS"
WARM = 1 << 25
"""Positions of heads, at 10 to 20 ns each in NumPy; numba and its code are loaded in 0.5 s."""
EDGE = 64
"""Positions at each end of a word that are left to NumPy: no window is longer."""
PIECE = 1 << 15
"""Positions computed at a time: a few dozen columns of them fit a core's cache."""

Head = Callable[[int, HeadRun, list[Any], View, int, Word], list[Array]]
"""A head at every position of a piece: its layer, what becomes of it, the states of that layer."""


class MachineCode(Protocol):
    """The module `compiled`."""

    def run(self, *arguments: Any) -> int: ...


class Choice:
    """Whether a process runs machine code, and the positions until it asks for it."""

    def __init__(self) -> None:
        self.code: MachineCode | None = None
        self.left: int | None = None

    def after(self, positions: int) -> MachineCode | None:
        """What to run, so many positions of heads being next."""
        left = self._begin() if self.left is None else self.left
        self.left = max(0, left - positions)
        if left and not self.left:
            # Without numba, or a place for what it compiles, NumPy goes on.
            with suppress(ImportError, RuntimeError):
                self.code = _load()
        return self.code

    def _begin(self) -> int:
        wish = os.environ.get(VARIABLE, "")
        if wish not in ("", "numpy", "compiled"):
            raise SofthatError(
                f"{VARIABLE} is {wish!r}: set it to numpy or compiled, or leave it out"
            )
        if wish == "compiled":
            try:
                self.code = _load()
            except (ImportError, RuntimeError) as error:
                raise SofthatError(
                    f"{VARIABLE} is compiled, and numba cannot be used ({error}): "
                    "pip install 'softhat[fast]', or leave the variable out"
                ) from None
        return 0 if wish else WARM


CHOICE = Choice()
"""This process's."""


def _load() -> MachineCode:
    code: Any = import_module("softhat.runtime.linear.compiled")
    own = {**{name: getattr(assembly, name) for name in assembly.STEPS},
           "LARGEST_EXPONENT": LARGEST_EXPONENT, "STEEP": STEEP}  # fmt: skip
    if any(getattr(code, name) != value for name, value in own.items()):
        raise AssertionError("compiled.py takes other constants than the program")
    return code


class Interior:
    """A pass on the inside of a word."""

    def __init__(
        self, code: MachineCode, step: Pass, embedding: LinearEmbedding,
        layers: Sequence[LinearLayer], readout: LinearReadOut, fresh: bool,
    ) -> None:  # fmt: skip
        self.code = code
        self.step = step
        self.embedding = embedding
        self.program = Program(step, embedding, layers, readout, fresh)
        self.numbers = np.array(self.program.numbers, np.int64)
        self.constants = np.array(self.program.constants, np.float64)

    def work(self) -> Work:
        """Room for a piece, of its own for each run: runs may be at the same time."""
        return Work(self)

    def __call__(
        self, work: Work, states: States, codes: Array, start: int, word: Word,
        stored: StoredColumns, head: Head, margins: Array,
    ) -> list[Column]:  # fmt: skip
        """The columns of a piece after the pass, which are there until the next piece, and the
        margins, if it reaches them; `head` computes what the program has no step for."""
        size = len(codes)
        columns = work.views(size)
        for carried in self.program.carried:
            carried.load(states, work.integers, work.held, size)
        last = 0 if word.length is None else word.length + 1
        counts = (start, last + self.embedding.eos - start - size, last)
        symbols = codes if codes.ndim == 1 else np.empty(0)
        symbols = np.ascontiguousarray(symbols, np.int64)

        def run(begin: int, end: int) -> None:
            failed = self.code.run(
                self.numbers, begin, end, self.constants, work.columns, work.means, work.exponents,
                symbols, size, counts, work.integers, work.held, work.slopes,
                work.amounts, work.sure, margins,
            )  # fmt: skip
            if failed >= 0:
                embedded = self.embedding(codes, start, word, self.step.columns)
                self._refuse(failed, columns, embedded)

        take, *stretches = self.program.stretches
        begin = take.start
        if stored.columns:
            run(begin, take.stop)
            begin = take.stop  # what is stored comes in the place of what was embedded
        self._embed(columns, codes, start, word, stored)
        for stretch in stretches:
            run(begin, stretch.stop)
            begin = stretch.stop
            for k in range(len(stretch.ramps)):
                exponents = work.exponents[3 * k + 1 : 3 * k + 3, : work.amounts[k]]
                np.exp(exponents, out=exponents)
            view = View(columns, size)
            shallow = [x for k, x in enumerate(stretch.ramps) if work.slopes[k] < STEEP]
            for other in (*stretch.others, *shallow):
                means = head(other.layer, other.run, states[other.layer], view, start, word)
                for k, mean in enumerate(means):
                    work.means[other.first + k, :size] = mean
        for carried in self.program.carried:
            carried.store(states, work.integers, work.held)
        return columns

    def _embed(
        self, columns: list[Column], codes: Array, start: int, word: Word, stored: StoredColumns
    ) -> None:
        """The columns that are no table of symbols: what depends on the position, what an earlier
        pass has stored, and 0 where nothing is yet."""
        size = len(codes)
        wanted = self.step.columns - self.program.tables - stored.columns
        given = self.embedding(codes, start, word, wanted)
        stored.put_into(given, self.step.columns, size, self.embedding.form.accumulate)
        for c in self.program.place:
            column, embedded = columns[c], given[c]
            assert column is not None
            if embedded is not None:
                column[:] = embedded
            elif c not in self.program.tables:
                column[:] = 0

    def _refuse(self, failed: int, columns: list[Column], embedded: list[Column]) -> NoReturn:
        """Raise what NumPy's kernel would, for a stored bit that is none. Columns that are embedded
        and read as bits only are not there."""
        taken = self.program.taken
        seen = [
            x if c in taken else y for c, (x, y) in enumerate(zip(columns, embedded, strict=True))
        ]
        view = View(seen, len(next(x for x in seen if x is not None)))
        (carried,) = (x for x in self.program.carried if x.step == failed)
        kernel = self.program.layers[carried.layer].kernels[carried.head]
        if isinstance(kernel, UniformKernel):
            view.sums(kernel.values[carried.value])
        else:
            inner = kernel.inner if isinstance(kernel, StrictKernel) else kernel
            assert isinstance(inner, LocalKernel)
            view.bits(inner.values[carried.value])
            if inner.bad is not None:
                view.bits(inner.bad)
        raise AssertionError("machine code reads a bit otherwise than NumPy")

    def keep(self, stored: StoredColumns, columns: list[Column]) -> None:
        """Store what later passes begin with: columns that the pass has changed."""
        before, after = list(columns), list(columns)
        for c in self.step.keeps & self.program.written:
            column = columns[c]
            assert column is not None
            before[c], after[c] = None, column.copy()
        stored.take(after, before, self.step.keeps)


class Work:
    """Room for a piece: the residual stream, what heads return, exponents, and states."""

    def __init__(self, interior: Interior) -> None:
        program = interior.program
        dtype = interior.embedding.form.accumulate
        self.place = program.place
        self.d_model = interior.embedding.d_model
        self.columns = np.empty((len(program.place), PIECE), dtype)
        self.means = np.empty((program.means, PIECE), dtype)
        self.exponents = np.empty((3 * program.ramps, PIECE))
        self.slopes = np.empty(program.ramps)
        self.amounts = np.empty(program.ramps, np.int64)
        self.sure = np.empty((program.ramps, PIECE), np.bool_)  # a block is one or more
        self.integers = np.empty(program.integers, np.int64)
        self.held = np.empty(program.held)
        self._views: dict[int, list[Column]] = {}

    def views(self, size: int) -> list[Column]:
        """The columns of a piece of so many positions."""
        if size not in self._views:
            columns: list[Column] = [None] * self.d_model
            for c, place in self.place.items():
                columns[c] = self.columns[place, :size]
            self._views = {size: columns}
        return self._views[size]
