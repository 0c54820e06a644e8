"""The steps of `assembly` in machine code, by numba.

The numbers are those of NumPy's kernels. Integers and entries of tables are exact, and whatever is
rounded is the same product, sum or quotient of the same format in the same order: numba keeps to
IEEE arithmetic, so nothing is reordered or fused. Only the sign of a zero may differ.

The code is compiled once for a machine and kept in numba's cache. What is known not to be negative
needs no check as an index: so innermost loops go over slices, from their beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit

from softhat.runtime.linear.columns import Array

Function = TypeVar("Function", bound=Callable[..., Any])
# numba's cache looks at this file only: so what the code takes for constants stands here, and
# `interior` compares it with the modules that it is of.
TAKE, TAKE_BITS, LOCAL, AVERAGE, EXPONENTS, SHARE, ADD, FEED_FORWARD, READ_OUT = range(9)
LARGEST_EXPONENT, STEEP = 700.0, 3.0
BLOCK = 512
"""Positions of which sums are taken at a time: they stay in the innermost cache."""
SURE, LOST = 38.0, 110.0
"""e^-38 < 2^-54, and 256·e^-110/(1 - e^-3) < 2^-150, which float32 rounds to 0."""


def _machine_code(function: Function) -> Function:
    compiled: Function = njit(cache=True, error_model="numpy", nogil=True)(function)
    return compiled


@_machine_code
def run(
    program: Array,
    at: int,
    stop: int,
    constants: Array,
    columns: Array,
    means: Array,
    exponents: Array,
    codes: Array,
    size: int,
    counts: tuple[int, int, int],
    integers: Array,
    held: Array,
    slopes: Array,
    amounts: Array,
    sure: Array,
    margins: Array,
) -> int:
    """The steps from `at` to `stop` on one piece; the step that reads as a bit what is none, if
    there is one, or -1.

    `columns` are the residual stream, `means` what heads return, `integers` and `held` the states,
    `counts` the positions before the piece, as heads count that look back and ahead, and the last
    time, of each ramp `slopes` is
    the least slope, `amounts` how many exponents were gathered, `sure` the blocks without. Of the
    `exponents` that one stretch of the program writes NumPy takes the exponentials for the next."""
    while at < stop:
        step = program[at]
        operands = program[at + 2 : at + program[at + 1]]
        read = True
        if step == TAKE:
            _take(operands, constants, columns, codes)
        elif step == TAKE_BITS:
            _take_bits(columns[operands[0], :size], operands[1], codes)
        elif step == LOCAL:
            read = _local(operands, constants, columns, codes, means, size, integers, held)
        elif step == AVERAGE:
            read = _average(operands, constants, columns, codes, means, size, counts, integers)
        elif step == EXPONENTS:
            _exponents(operands, constants, columns, exponents, size, counts, slopes, amounts, sure)
        elif step == SHARE and slopes[operands[1]] >= STEEP:
            of_ramp = exponents[3 * operands[1] : 3 * operands[1] + 3]
            _share(means[operands[0], :size], of_ramp, sure[operands[1]], constants[operands[2]])
        elif step == ADD:
            _add_means(operands, constants, columns, means, size)
        elif step == FEED_FORWARD:
            _feed_forward(operands, constants, columns, size)
        elif step == READ_OUT:
            _read_out(operands, constants, columns, margins)
        if not read:
            return at
        at += program[at + 1]
    return -1


@_machine_code
def _take(operands: Array, constants: Array, columns: Array, codes: Array) -> None:
    """Column, table."""
    column = columns[operands[0], : len(codes)]
    table = constants[operands[1] :]
    for i in range(len(codes)):
        column[i] = table[codes[i]]


@_machine_code
def _take_bits(column: Array, symbols: int, codes: Array) -> None:
    """A column that is 1 for some symbols, which are the bits of a number."""
    for i in range(len(column)):
        column[i] = symbols >> codes[i] & 1


@_machine_code
def _local(
    operands: Array,
    constants: Array,
    columns: Array,
    codes: Array,
    means: Array,
    size: int,
    integers: Array,
    held: Array,
) -> bool:
    """Mean, places in `integers` and in `held`, back, strict, table, window, weight, whether keys
    may be bad, then the row that says which are if so, and the value's. Theorem 21 where all of
    the window was seen."""
    state, kept = operands[1], operands[2]
    window, weight = operands[6] & 0xFFFF, constants[operands[7]]
    rows = operands[9:]
    good = np.empty(size, np.int8)
    bits = np.empty(size, np.int8)
    values = np.empty(size)
    if operands[8]:
        if not _bits(rows, columns, codes, good):
            return False
        for i in range(size):
            good[i] = 1 - good[i]
        rows = rows[1 + 2 * rows[0] :]
    if not _bits(rows, columns, codes, bits):
        return False
    table = constants[operands[5] :]
    before = integers[state], integers[state + 1], held[kept], table, window, weight
    if operands[3]:
        after = _selected(good[::-1], bits[::-1], operands[8] != 0, *before, values[::-1])
        held[kept] = values[0]
        if operands[4]:
            values[:-1] = values[1:].copy()
            values[-1], held[kept + 1] = held[kept + 1], held[kept]
    else:
        after = _selected(good, bits, operands[8] != 0, *before, values)
        held[kept] = values[-1]
        if operands[4]:
            values[1:] = values[:-1].copy()
            values[0], held[kept + 1] = held[kept + 1], held[kept]
    integers[state], integers[state + 1] = after
    means[operands[0], :size] = values
    return True


@_machine_code
def _selected(
    good: Array,
    bits: Array,
    rejects: bool,
    goods: int,
    code: int,
    mean: float,
    table: Array,
    window: int,
    weight: float,
    values: Array,
) -> tuple[int, int]:
    """The means in the order of time. Which positions are good cannot be foreseen, so there is no
    branch on it: `near` and `asked` are where the table was read at the last good one."""
    if not rejects:
        for i in range(len(bits)):
            code = (code << 1 | bits[i]) & 0xFFFF
            values[i] = table[code & window] * weight
        return goods, code
    first = 0
    while first < len(bits) and not good[first]:
        goods = goods << 1 & 0xFFFF
        code = (code << 1 | bits[first]) & 0xFFFF
        values[first] = mean
        first += 1
    good, bits, values = good[first:], bits[first:], values[first:]
    near = window
    asked = 0
    for i in range(len(bits)):
        here = good[i]
        goods = (goods << 1 | here) & 0xFFFF
        code = (code << 1 | bits[i]) & 0xFFFF
        near = goods & window if here else near
        asked = code & near if here else asked
        values[i] = table[asked] / table[near] * weight
    return goods, code


@_machine_code
def _bits(row: Array, columns: Array, codes: Array, bits: Array) -> bool:
    """A row that is 0 or 1: the number of terms, then a column and 1 or -1 for each."""
    good = True
    if row[0] == 1 and row[1] < 0 and row[2] == 1:
        symbols = -1 - row[1]
        for i in range(len(bits)):
            bits[i] = symbols >> codes[i] & 1
        return True
    if row[0] == 1 and row[1] >= 0 and row[2] == 1:
        column = columns[row[1], : len(bits)]
        for i in range(len(bits)):
            one = column[i] == 1
            bits[i] = one
            good &= one | (column[i] == 0)
        return good
    bits[:] = 0
    good &= _add_row(row, columns, codes, bits)
    for i in range(len(bits)):
        good &= (bits[i] == 0) | (bits[i] == 1)
    return good


@_machine_code
def _add_row(row: Array, columns: Array, codes: Array, total: Array) -> bool:
    """A row of integers. A term below 0 is no column, but says for which symbols it would be 1."""
    good = True
    for k in range(row[0]):
        factor = total.dtype.type(row[2 + 2 * k])
        if row[1 + 2 * k] < 0:
            symbols = -1 - row[1 + 2 * k]
            for i in range(len(total)):
                total[i] += factor * total.dtype.type(symbols >> codes[i] & 1)
        else:
            good &= _add_integers(columns[row[1 + 2 * k], : len(total)], factor, total)
    return good


@_machine_code
def _add_integers(column: Array, factor: Any, total: Array) -> bool:
    good = True
    for i in range(len(total)):
        x = column[i]
        whole = np.int8(x if -128 <= x <= 127 else 0)
        good &= whole == x
        total[i] += factor * whole
    return good


@_machine_code
def _average(
    operands: Array,
    constants: Array,
    columns: Array,
    codes: Array,
    means: Array,
    size: int,
    counts: tuple[int, int, int],
    integers: Array,
) -> bool:
    """Mean, state, back, unit, then the value's row."""
    sums = np.zeros(size, np.int64)
    good = _add_row(operands[4:], columns, codes, sums)
    total, unit = integers[operands[1]], constants[operands[3]]
    if operands[2]:
        integers[operands[1]] = _accumulated(sums[::-1], total)
        first, step = np.float64(counts[1] + size), -1.0
    else:
        integers[operands[1]] = _accumulated(sums, total)
        first, step = np.float64(counts[0] + 1), 1.0
    out = means[operands[0], :size]
    for i in range(size):
        out[i] = sums[i] / (first + step * np.float64(i)) * unit
    return good


@_machine_code
def _accumulated(sums: Array, total: int) -> int:
    for i in range(len(sums)):
        total += sums[i]
        sums[i] = total
    return total


@_machine_code
def _exponents(
    operands: Array,
    constants: Array,
    columns: Array,
    exponents: Array,
    size: int,
    counts: tuple[int, int, int],
    slopes: Array,
    amounts: Array,
    sure: Array,
) -> None:
    """Ramp, back, the largest value, four constants; then for each column it and four constants.
    The exponent is -Σ x·(constant + a·t + b·(last - t)) at time t, cut at the largest one. The
    slope is linear in the columns too.

    A block of positions needs no exponential if everywhere in it 1/(1 + c·e^exponent) is known, c
    being between 1 - e^-3 and 1. Up to -`SURE` it is 1: less than 2^-54 is lost beside 1. From
    `LOST` on float32 rounds it to 0, and 256 times it too. What other blocks
    have is gathered."""
    row, lines = exponents[3 * operands[0], :size], constants[operands[3] :]
    packed, series = exponents[3 * operands[0] + 1], exponents[3 * operands[0] + 2]
    start, step = np.float64(counts[0]), 1.0
    if operands[1]:
        start, step = np.float64(counts[1] + size - 1), -1.0
    last = np.float64(counts[2])
    lost = np.inf
    if columns.itemsize == 4 and constants[operands[2]] <= 256:
        lost = LOST
    sums = np.empty(BLOCK)
    steepest = -np.inf
    gathered = 0
    for begin in range(0, size, BLOCK):
        out = row[begin : begin + BLOCK]
        slope = sums[: len(out)]
        first = start + step * np.float64(begin)
        _positions(out, first, step, last, lines)
        slope[:] = -lines[3]
        for k in range(4, len(operands), 2):
            column, linear = (
                columns[operands[k], begin : begin + len(out)],
                constants[operands[k + 1] :],
            )
            _add_positions(out, column, first, step, last, linear)
            if linear[3]:
                for i in range(len(slope)):
                    slope[i] -= np.float64(column[i]) * linear[3]
        between = 0
        for i in range(len(out)):
            exponent = -min(max(out[i], -LARGEST_EXPONENT), LARGEST_EXPONENT)
            out[i] = exponent
            between |= (exponent > -SURE) & (exponent < lost)
        for i in range(len(out)):
            steepest = max(steepest, slope[i])
        sure[operands[0], begin // BLOCK] = between == 0
        if between:
            packed[gathered : gathered + len(out)] = out
            series[gathered : gathered + len(out)] = slope
            gathered += len(out)
    slopes[operands[0]] = -steepest
    amounts[operands[0]] = gathered


@_machine_code
def _positions(out: Array, start: float, step: float, last: float, linear: Array) -> None:
    constant, near, far = linear[0], linear[1], linear[2]
    for i in range(len(out)):
        time = start + step * np.float64(i)
        out[i] = constant + time * near + (last - time) * far


@_machine_code
def _add_positions(
    out: Array, column: Array, start: float, step: float, last: float, linear: Array
) -> None:
    constant, near, far = linear[0], linear[1], linear[2]
    for i in range(len(out)):
        time = start + step * np.float64(i)
        out[i] += (constant + time * near + (last - time) * far) * np.float64(column[i])


@_machine_code
def _share(out: Array, of_ramp: Array, sure: Array, value: float) -> None:
    """Of what is at the positions, a geometric series, beside 1 at the sink: times a value."""
    at = 0
    for begin in range(0, len(out), BLOCK):
        part = out[begin : begin + BLOCK]
        if sure[begin // BLOCK]:
            exponents = of_ramp[0, begin : begin + BLOCK]
            for i in range(len(part)):
                part[i] = value if exponents[i] < 0 else 0.0
        else:
            odds, series = of_ramp[1, at : at + BLOCK], of_ramp[2, at : at + BLOCK]
            for i in range(len(part)):
                part[i] = 1.0 / (odds[i] * (1.0 - series[i]) + 1.0) * value
            at += len(part)


@_machine_code
def _add_means(operands: Array, constants: Array, columns: Array, means: Array, size: int) -> None:
    """Column; then means that are added to it, with their weights."""
    if len(operands) == 3:
        _add(columns[operands[0], :size], means[operands[1], :size], constants[operands[2]])
        return
    sums = np.empty(BLOCK, columns.dtype)
    for start in range(0, size, BLOCK):
        total = sums[: min(BLOCK, size - start)]
        total[:] = 0
        for k in range(1, len(operands), 2):
            mean = means[operands[k], start : start + len(total)]
            _add(total, mean, constants[operands[k + 1]])
        _add(columns[operands[0], start : start + len(total)], total, 1.0)


@_machine_code
def _feed_forward(operands: Array, constants: Array, columns: Array, size: int) -> None:
    """The number of columns that change, and each with its bias; then for each sum of columns the
    number of terms, the terms, the number of units, and each unit as its bias, the number of
    columns that it is added to, and these with their weights."""
    changes = operands[0]
    changed = operands[1 : 1 + 2 * changes]
    deltas = np.empty((changes, BLOCK), columns.dtype)
    sums = np.empty(BLOCK, columns.dtype)
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        total = sums[: stop - start]
        deltas[:] = 0
        at = 1 + 2 * changes
        while at < len(operands):
            total[:] = 0
            for _ in range(operands[at]):
                _add(total, columns[operands[at + 1], start:stop], constants[operands[at + 2]])
                at += 2
            units = operands[at + 1]
            at += 2
            for _ in range(units):
                bias, outs = constants[operands[at]], operands[at + 1]
                at += 2
                for _ in range(outs):
                    delta = deltas[operands[at], : stop - start]
                    _add_rectified(delta, total, bias, constants[operands[at + 1]])
                    at += 2
        for k in range(changes):
            column = columns[changed[2 * k], start:stop]
            _add_biased(column, deltas[k, : stop - start], constants[changed[2 * k + 1]])


@_machine_code
def _read_out(operands: Array, constants: Array, columns: Array, margins: Array) -> None:
    """Output, bias, then columns with their weights."""
    sums = np.empty(BLOCK, columns.dtype)
    bias = columns.dtype.type(constants[operands[1]])
    for start in range(0, len(margins), BLOCK):
        total = sums[: min(BLOCK, len(margins) - start)]
        total[:] = 0
        for k in range(2, len(operands), 2):
            column = columns[operands[k], start : start + len(total)]
            _add(total, column, constants[operands[k + 1]])
        out = margins[start : start + len(total), operands[0]]
        for i in range(len(total)):
            out[i] = total[i] + bias


@_machine_code
def _add(total: Array, values: Array, weight: float) -> None:
    factor = total.dtype.type(weight)
    for i in range(len(total)):
        total[i] += values[i] * factor


@_machine_code
def _add_biased(total: Array, values: Array, bias: float) -> None:
    added = total.dtype.type(bias)
    for i in range(len(total)):
        total[i] += values[i] + added


@_machine_code
def _add_rectified(total: Array, values: Array, bias: float, weight: float) -> None:
    added, factor = total.dtype.type(bias), total.dtype.type(weight)
    for i in range(len(total)):
        above = values[i] + added
        total[i] += (values.dtype.type(0) if above <= 0 else above) * factor
