"""Subformulas that mean the same, found by trying and merged by proof, from the leaves up.

Two formulas that are to be compared often say the same in other words, operator by operator. Each
subformula is evaluated on some words; where one looks like an earlier one, or its negation, a
small search tries to prove it, first with the subformulas that both have in common replaced by
unknowns: what is true whatever they mean is true. What is proved is merged, so that the next level
up sees formulas that are alike. A machine of what is left has fewer bits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from softhat.logic.connectives import negation
from softhat.logic.core import to_core
from softhat.logic.decide.diagrams import TooHardError
from softhat.logic.decide.letters import Letters
from softhat.logic.decide.machine import Unknown
from softhat.logic.decide.search import Goal, shortest
from softhat.logic.semantics.batch import WordBatch, evaluate_many, unpack
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, TRUE, Formula, Node, Xor
from softhat.logic.syntax.walk import distinct, rebuild

_STEPS = 20_000  # of diagrams, for one proof
_FAILURES = 20  # after which no more proofs are tried
_LENGTHS = (1, 2, 3, 5, 9, 17, 33)  # of the words on which subformulas are compared
_WORDS = 192  # of each length


def swept(core: Formula, letters: Letters) -> Formula:
    """A formula that is true where `core`, in core form and without counting, is."""
    rows, (root,) = distinct(core)
    looks = _looks([node for node, _ in rows], letters)
    formulas: list[Formula] = []
    alike: dict[bytes, Formula] = {}
    failures = 0
    for (node, places), (look, opposite) in zip(rows, looks, strict=True):
        formula = rebuild(node, [formulas[place] for place in places])
        assert isinstance(formula, Formula)
        known = _known(look, opposite, alike)
        if known is not None and known != formula and failures < _FAILURES and places:
            if _same(formula, known, letters):
                formula = known
            else:
                failures += 1
        alike.setdefault(look, formula)
        formulas.append(formula)
    return formulas[root]


def _known(look: bytes, opposite: bytes, alike: dict[bytes, Formula]) -> Formula | None:
    """What a formula that looks so may be."""
    if not any(look):
        return FALSE
    if not any(opposite):
        return TRUE
    if look in alike:
        return alike[look]
    return negation(alike[opposite]) if opposite in alike else None


def _looks(parts: list[Node], letters: Letters) -> Iterator[tuple[bytes, bytes]]:
    """The values of each part on some words, and their negations."""
    formulas = [part for part in parts if isinstance(part, Formula)]
    values: list[list[np.ndarray]] = [[] for _ in formulas]
    rng = np.random.default_rng(1)
    for length in _LENGTHS:
        batch = _random_words(letters, length, rng)
        for k, lanes in enumerate(evaluate_many(formulas, batch)):
            values[k].append(np.packbits(unpack(lanes, batch.count)))
    for value in values:
        bits = np.concatenate(value)
        yield bits.tobytes(), (~bits).tobytes()


def _random_words(letters: Letters, length: int, rng: np.random.Generator) -> WordBatch:
    lanes = (_WORDS + 63) // 64

    def bits() -> np.ndarray:
        return rng.integers(0, 1 << 64, (length, lanes), np.uint64, endpoint=False)

    if letters.propositional:
        return WordBatch(length, _WORDS, {name: bits() for name in letters.names})
    chosen = rng.integers(0, len(letters.names), (length, _WORDS))
    symbols = {}
    for k, name in enumerate(letters.names):
        packed = np.packbits(chosen == k, axis=-1, bitorder="little")
        symbols[name] = np.ascontiguousarray(packed).view("<u8").astype(np.uint64, copy=False)
    return WordBatch(length, _WORDS, symbols)


def _same(f: Formula, g: Formula, letters: Letters) -> bool:
    """Is it proved that they agree everywhere, whatever their common parts mean, or as they are?"""
    for differ in (_with_unknowns(f, g), Xor(f, g)):
        goal = Goal(to_core(nodes.Once(differ)), "last")
        try:
            if shortest(goal, letters, _STEPS, None) is None:
                return True
        except TooHardError:
            return False
    return False


def _with_unknowns(f: Formula, g: Formula) -> Formula:
    """`f xor g` with the largest parts that both have, if they are not small, as unknowns."""
    common = _parts(f) & _parts(g)
    unknowns: dict[Node, Unknown] = {}

    def cut(formula: Formula) -> Formula:
        """From the top: what is common is not looked into."""
        replacement: dict[Node, Node] = {}
        todo: list[Node] = [formula]
        while todo:
            node = todo[-1]
            if node in replacement:
                todo.pop()
            elif node in common and node is not formula and node.children:
                replacement[node] = unknowns.setdefault(node, Unknown(len(unknowns)))
            else:
                missing = [child for child in node.children if child not in replacement]
                if missing:
                    todo.extend(missing)
                else:
                    replacement[node] = rebuild(
                        node, [replacement[child] for child in node.children]
                    )
        shorter = replacement[formula]
        assert isinstance(shorter, Formula)
        return shorter

    return Xor(cut(f), cut(g))


def _parts(formula: Formula) -> set[Node]:
    return {node for node, _ in distinct(formula)[0]}
