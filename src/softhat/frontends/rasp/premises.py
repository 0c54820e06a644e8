"""What a program asks of its own heads, looked at on words: a guard for programs from a file.

The certificate of a program assumes two things that the rules of the compiler show: the positions
that a Match or an At reads agree on the value, and a mean over a selection is read only where
something is selected. Of a program that somebody wrote down nothing is shown. So it is run on short
words, and on a few as long as it is said to serve.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.frontends.rasp.compile import Compiled
from softhat.frontends.rasp.outputs import Numbers
from softhat.frontends.regular.dfa import DFA
from softhat.io.errors import SofthatError
from softhat.program.evaluate import evaluate
from softhat.program.heads import At, Match, MatchMean, Width

SHORT_WORDS, RANDOM_WORDS = 60, 12
LONGEST = 300
"""Of a word that is run: heads take the square of it."""


def check_premises(compiled: Compiled) -> None:
    """A `SofthatError` if a word shows that the program does not keep what it promises."""
    program = compiled.program
    heads = [s for s in program.signals if isinstance(s, Match | At | MatchMean)]
    if not heads:
        return
    count = len(program.signals)
    means = [at for at, s in enumerate(program.signals) if isinstance(s, MatchMean)]
    widths = tuple(Width(s.selector) for s in heads if isinstance(s, MatchMean))
    counted = replace(
        program, signals=(*program.signals, *widths), labels=(*program.labels, *([""] * len(means)))
    )
    for word in _words(len(program.symbols), compiled.max_length):
        values = evaluate(counted, word)
        empty = {mean: values[count + k] == 0 for k, mean in enumerate(means)}
        if any((chosen & empty[mean]).any() for mean, chosen in _read(compiled, values)):
            raise SofthatError("the RASP program reads a mean where nothing is selected")


def check_language(compiled: Compiled, automaton: DFA) -> None:
    """A `SofthatError` if a word shows that the program does not decide the automaton's language:
    whether each prefix belongs is its one output."""
    outputs = compiled.program.outputs
    if len(outputs) != 1 or compiled.program.numbers:
        raise SofthatError("a program that decides a language has one output")
    _, literal = outputs[0]
    for word in _words(len(compiled.program.symbols), compiled.max_length):
        expected = automaton.truth(automaton.alphabet[symbol] for symbol in word.tolist())
        values = evaluate(compiled.program, word)
        said = values[literal.signal] if literal.signal >= 0 else np.ones(len(word), np.bool_)
        if ((said == literal.positive) != expected).any():
            raise SofthatError("the program does not decide the automaton's language")


def _read(
    compiled: Compiled, values: list[NDArray[Any]]
) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Each mean that the decoder reads, and where."""
    decoder, program = compiled.decoder, compiled.program
    if not isinstance(decoder, Numbers):
        return
    outputs, numbers = dict(program.outputs), dict(program.numbers)
    left = np.ones(len(values[0]), np.bool_)
    for case in decoder.cases:
        chosen = left
        if case.when is not None and outputs[case.when].signal >= 0:
            literal = outputs[case.when]
            chosen = left & (values[literal.signal] == literal.positive)
        elif case.when is not None and not outputs[case.when].positive:
            chosen = np.zeros_like(left)
        left = left & ~chosen
        for name, _ in case.terms:
            for at in numbers[name].reads:
                if isinstance(program.signals[at], MatchMean):
                    yield at, chosen


def _words(symbols: int, longest: int) -> Iterator[NDArray[np.int64]]:
    """Short words, all of them first; random ones; and two as long as there are to be."""
    short = (
        word
        for n in range(1, min(longest, SHORT_WORDS) + 1)
        for word in product(range(symbols), repeat=n)
    )
    yield from map(np.array, islice(short, SHORT_WORDS))
    rng = np.random.default_rng(longest)
    for n in rng.integers(1, min(longest, 40), RANDOM_WORDS, endpoint=True):
        yield rng.integers(0, symbols, n)
    most = min(longest, LONGEST)
    yield rng.integers(0, symbols, most)
    yield np.arange(most) % symbols
