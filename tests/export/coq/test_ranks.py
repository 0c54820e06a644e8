"""Where the file says that a head reads one position, no word makes it read two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import softhat
from softhat.export.coq.ranks import own_rank
from softhat.export.coq.values import always_fits
from softhat.frontends.rasp.gallery import GALLERY
from softhat.program.evaluate import evaluate
from softhat.program.heads import At, Width
from softhat.program.literals import Literal
from softhat.program.signals import Program, Signal
from tests.slices import every

RANKED = ("sort", "sort-by-frequency", "induction", "bounded-dyck-2")


def program_of(name: str, longest: int) -> Program:
    example = GALLERY[name]
    model = softhat.compile(example.make(longest), example.alphabet, max_length=longest)
    return model.compiled.program


def variants(program: Program) -> Iterator[Program]:
    """Programs with less in a code, or with a count of something else."""
    first = next(at for at, signal in enumerate(program.signals) if isinstance(signal, At))
    for at, signal in enumerate(program.signals):
        for changed in _changed(signal) if at == first or isinstance(signal, Width) else ():
            yield replace(
                program,
                signals=(*program.signals[:at], changed, *program.signals[at + 1 :]),
            )


def _changed(signal: Signal) -> Iterator[Signal]:
    match signal:
        case At(queries, keys):
            for d in range(len(keys)):
                rest = (*queries[:d], *queries[d + 1 :]), (*keys[:d], *keys[d + 1 :])
                yield replace(signal, queries=rest[0], keys=rest[1])
                yield replace(signal, keys=(*keys[:d], ~keys[d], *keys[d + 1 :]))
        case Width(selector):
            for t in range(len(selector.table)):
                table = (*selector.table[:t], *selector.table[t + 1 :])
                yield Width(replace(selector, table=table))
            masks = {"<": "<=", "<=": "<", ">=": ">", ">": ">=", "none": "<"}
            yield Width(replace(selector, mask=masks[selector.mask]))


def _reads_one(head: At, program: Program, word: tuple[int, ...]) -> bool:
    """By definition: at most one visible position has the code that a position asks for."""
    values = evaluate(program, np.array(word))

    def row(literal: Literal) -> list[bool]:
        if literal.signal < 0:
            return [literal.positive] * len(word)
        return [bool(bit) == literal.positive for bit in values[literal.signal]]

    asked = list(zip(*map(row, head.queries), strict=True)) or [()] * len(word)
    held = list(zip(*map(row, head.keys), strict=True)) or [()] * len(word)
    return all(held.count(code) <= 1 for code in asked)


@pytest.mark.parametrize("name", RANKED)
def test_programs_of_the_zoo_need_no_premise(name: str) -> None:
    assert always_fits(program_of(name, 64), 64)


@pytest.mark.parametrize("name", every(2, RANKED))
def test_no_word_is_read_twice(name: str) -> None:
    """Brute force over all short words, for the program and for what it is changed to."""
    longest = 4
    program = program_of(name, longest)
    yes = 0
    for variant in (program, *variants(program)):
        head = next(signal for signal in variant.signals if isinstance(signal, At))
        if not own_rank(head, variant, longest):
            continue
        yes += 1
        symbols = range(len(variant.symbols))
        for n in range(1, longest + 1):
            assert all(_reads_one(head, variant, word) for word in product(symbols, repeat=n))
    assert yes
