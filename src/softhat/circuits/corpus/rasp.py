"""Random RASP programs of a corpus, as Python that says `from softhat import rasp` and names
`program`.

Every line is an s-op made of those before it: Booleans, counts and tokens. All of their values are
exact, so the model's outputs are bits, and what a head changes is an answer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from softhat.frontends import rasp
from softhat.frontends.rasp.language import SOp

SHORT = 5
"""Programs that agree on all words to this length, and on `LONGER`, are taken for the same."""
LONGER = tuple((n, 12) for n in (6, 7, 8, 9))
"""Lengths of words, and how many."""


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "&": operator.and_,
    "|": operator.or_,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
}


@dataclass(frozen=True, slots=True)
class WrittenTerm:
    """What is written, and what it is."""

    text: str
    value: Any

    def joined(self, sign: str, other: WrittenTerm) -> WrittenTerm:
        """This and another with an operator between them."""
        value = _OPERATORS[sign](self.value, other.value)
        return WrittenTerm(f"{self.text} {sign} {other.text}", value)


@dataclass(frozen=True, slots=True)
class WrittenProgram:
    """A RASP program and its text."""

    sop: SOp
    text: str


_TOKENS = WrittenTerm("rasp.tokens", rasp.tokens)
_INDICES = WrittenTerm("rasp.indices", rasp.indices)


def random_program(rng: np.random.Generator, size: int, symbols: Sequence[str]) -> WrittenProgram:
    """A program of two to six lines; the last one is its value. Lines that it does not use are
    left out."""
    drawing = _Drawing(rng, symbols)
    for _ in range(int(np.clip(size // 3, 2, 6))):
        drawing.line()
    return drawing.program()


class _Drawing:
    """A program in the making: lines, and the names of what they are by kind."""

    def __init__(self, rng: np.random.Generator, symbols: Sequence[str]) -> None:
        self.rng = rng
        self.symbols = symbols
        self.lines: list[tuple[str, WrittenTerm]] = []
        self.booleans: list[WrittenTerm] = []
        self.counts: list[WrittenTerm] = []
        self.tokens = [_TOKENS]

    def line(self) -> None:
        """One more s-op."""
        kinds: list[Callable[[], None]] = [self._count, self._lookup, self._test, self._share]
        if self.counts:
            kinds += [self._comparison] * 2
        if self.booleans:
            kinds += [self._logic]
        kinds[int(self.rng.integers(len(kinds)))]()

    def program(self) -> WrittenProgram:
        name, last = self.lines[-1]
        used, lines = {name}, []
        for named, term in reversed(self.lines):
            if named in used:
                lines.append(f"{named} = {term.text}")
                used |= {other for other, _ in self.lines if other in _names(term.text)}
        text = "\n".join([*reversed(lines), f"program = {name}"]) + "\n"
        return WrittenProgram(last.value, text)

    def _count(self) -> None:
        self._name(self.counts, _call("SelectorWidth", self._selector()))

    def _lookup(self) -> None:
        """What stands a fixed distance away (None before the word), in the first place, in the
        opposite one, or where my token came last."""
        boolean = self.rng.random() < 0.6
        what = self._boolean() if boolean else self._recent(self.tokens)
        match int(self.rng.integers(5)):
            case 0:
                term = _call("lib.make_latest", _TOKENS, _TOKENS, what)
            case 1:
                term = _call("lib.make_first_token", what)
            case 2:
                term = _call("lib.make_reverse", what)
            case _:
                step = int(self.rng.choice([1, 1, 2, -1]))
                term = _call("lib.shift_by", WrittenTerm(str(step), step), what)
        self._name(self.booleans if boolean else self.tokens, term)

    def _share(self) -> None:
        """Are they more than half of those that are selected?"""
        order = _select(_INDICES, _INDICES, self._pick(["LT", "LEQ", "GT", "TRUE"]))
        share = _call("Aggregate", order, self._boolean(), WrittenTerm("0", 0))
        self._name(self.booleans, share.joined(">", WrittenTerm("0.5", 0.5)))

    def _test(self) -> None:
        token = str(self._pick(self.symbols))
        test = self._recent(self.tokens).joined("==", WrittenTerm(repr(token), token))
        self._name(self.booleans, test)

    def _comparison(self) -> None:
        count = self._recent(self.counts)
        if len(self.counts) > 1 and self.rng.random() < 0.5:
            other = self._pick([one for one in self.counts if one is not count])
            self._name(self.booleans, count.joined(self._pick([">=", ">", "=="]), other))
            return
        limit = int(self.rng.integers(1, 4))
        sign = self._pick([">=", "=="])
        self._name(self.booleans, count.joined(sign, WrittenTerm(str(limit), limit)))

    def _logic(self) -> None:
        one, other = self._recent(self.booleans), self._boolean()
        joined = one.joined(self._pick(["&", "|"]), other)
        self._name(self.booleans, joined)

    def _boolean(self) -> WrittenTerm:
        """One of those there are, or a test of the token; negated or not."""
        if self.booleans and self.rng.random() < 0.7:
            term = self._recent(self.booleans)
        else:
            token = str(self._pick(self.symbols))
            test = _TOKENS.joined("==", WrittenTerm(repr(token), token))
            term = WrittenTerm(f"({test.text})", test.value)
        return WrittenTerm(f"~{term.text}", ~term.value) if self.rng.random() < 0.3 else term

    def _selector(self) -> WrittenTerm:
        match int(self.rng.integers(3)):
            case 0:
                chosen = _select(_TOKENS, _TOKENS, self._pick(["EQ", "NEQ"]))
            case 1:
                true = _call("Full", WrittenTerm("True", True))
                chosen = _select(self._boolean(), true, "EQ")
            case _:
                return _select(_INDICES, _INDICES, self._pick(["LT", "LEQ", "GT"]))
        if self.rng.random() < 0.6:
            order = _select(_INDICES, _INDICES, self._pick(["LT", "LEQ", "GT"]))
            return chosen.joined("&", order)
        return chosen

    def _name(self, kind: list[WrittenTerm], term: WrittenTerm) -> None:
        name = f"x{len(self.lines)}"
        self.lines.append((name, term))
        kind.append(WrittenTerm(name, term.value))

    def _recent(self, options: Sequence[WrittenTerm]) -> WrittenTerm:
        """The last one as often as all others: programs grow deep, and use what they say."""
        term: WrittenTerm = options[-1] if self.rng.random() < 0.5 else self._pick(options)
        return term

    def _pick(self, options: Sequence[Any]) -> Any:
        return options[int(self.rng.integers(len(options)))]


def _call(name: str, *arguments: WrittenTerm) -> WrittenTerm:
    function: Any = rasp
    for part in name.split("."):
        function = getattr(function, part)
    text = ", ".join(argument.text for argument in arguments)
    return WrittenTerm(
        f"rasp.{name}({text})", function(*(argument.value for argument in arguments))
    )


def _select(keys: WrittenTerm, queries: WrittenTerm, comparison: str) -> WrittenTerm:
    chosen = WrittenTerm(f"rasp.Comparison.{comparison}", rasp.Comparison[comparison])
    return _call("Select", keys, queries, chosen)


def _names(text: str) -> set[str]:
    return set("".join(c if c.isalnum() else " " for c in text).split())


def meaning(program: SOp, symbols: Sequence[str]) -> str | None:
    """All values on all short words and some longer ones; None where they do not depend on the
    word, but only on its length, or where None would have to be compared."""
    words: list[Sequence[str]] = [
        word for n in range(1, SHORT + 1) for word in product(symbols, repeat=n)
    ]
    rng = np.random.default_rng(0)
    words += [rng.choice(symbols, n).tolist() for n, count in LONGER for _ in range(count)]
    values_by_length: dict[int, set[str]] = {}
    answers = []
    for word in words:
        try:
            values = repr(rasp.evaluate(program, list(word)))
        except (ValueError, TypeError):
            return None
        values_by_length.setdefault(len(word), set()).add(values)
        answers.append(values)
    if all(len(values) == 1 for values in values_by_length.values()):
        return None
    return "\n".join(answers)
