"""Probabilistic sources of words: formulas say what may come next, log-weights how likely it is.

After a prefix every token (a symbol, or the end of the word) that its formula allows has a
log-weight: a number, plus numbers that are added where other formulas hold. Its probability is its
share of the exponentials: P(s | prefix) = e^w(s) / Σ e^w(t) over the allowed t. So everything about
the source is known exactly: distributions, probabilities of words, entropies.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from softhat.io.errors import SofthatError
from softhat.logic.semantics.empty import at_empty_prefix
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.walk import distinct

ALWAYS = ""
"""The name under which the part of a log-weight stands that is added everywhere."""
LARGEST = 1e3
Weights = Mapping[str, Mapping[str, float]]
"""For each token the log-weights that are added: always, and where an output holds."""


def log_weights(stated: object, tokens: Sequence[str], outputs: Sequence[str]) -> Weights:
    """Log-weights as users write them, checked: `{"a": -1.5, "b": {"": 0, "after a": 2}}`.

    A token that is not named has the log-weight 0.
    """
    if not isinstance(stated, Mapping):
        raise SofthatError("log-weights are a number, or numbers by output, for each token")
    for token in stated:
        if token not in tokens:
            raise SofthatError(
                f"a log-weight is for {token!r}, which is no token: they are {', '.join(tokens)}"
            )
    weights: dict[str, dict[str, float]] = {}
    for token in tokens:
        parts = stated.get(token, 0.0)
        parts = parts if isinstance(parts, Mapping) else {ALWAYS: parts}
        for name, value in parts.items():
            if name != ALWAYS and name not in outputs:
                raise SofthatError(
                    f"the log-weight of {token!r} depends on {name!r}, which is no output: they "
                    f"are {', '.join(outputs)}"
                )
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not abs(value) <= LARGEST:
                raise SofthatError(
                    f"the log-weight of {token!r} is {value!r}: give a number from -{LARGEST:g} to "
                    f"{LARGEST:g}"
                )
        logs = {name: float(value) for name, value in parts.items() if value or name == ALWAYS}
        weights[token] = {ALWAYS: 0.0, **logs}
    return weights


def range_of(parts: Mapping[str, float]) -> tuple[float, float]:
    """The least and the largest log-weight that a token can have."""
    rest = [value for name, value in parts.items() if name != ALWAYS]
    low, high = (sum(pick(0.0, value) for value in rest) for pick in (min, max))
    return parts[ALWAYS] + low, parts[ALWAYS] + high


@dataclass(frozen=True)
class Source:
    """What may come next and how likely it is; the last token ends the word.

    `formulas` has one for each token, of which one at least holds at every prefix, and those that
    log-weights depend on.
    """

    tokens: tuple[str, ...]
    formulas: Mapping[str, Formula]
    weights: Weights

    def next(self, prefix: Sequence[str]) -> dict[str, float]:
        """The probability of each token after a prefix; 0 of what is forbidden."""
        holds = {name: self._holds(f, prefix) for name, f in self.formulas.items()}
        return self._distribution(holds)

    def entropy(self, prefix: Sequence[str]) -> float:
        """The entropy of the next token, in bits."""
        return _entropy(self.next(prefix).values())

    def log_probability(self, word: Sequence[str], ended: bool = True) -> float:
        """ln P of a word, with its end or only as a beginning; -inf if it is forbidden."""
        total = 0.0
        for at, token in enumerate([*word, *([self.tokens[-1]] if ended else [])]):
            chance = self.next(word[:at]).get(token, 0.0)
            total += math.log(chance) if chance else -math.inf
        return total

    def entropy_of_words(self, length: int) -> float:
        """The entropy of the first `length` tokens of a word, in bits; the end counts as a token.

        By the chain rule the expected entropy of the next token, added up. Prefixes with the same
        truth of all subformulas, counts and position have the same future, so only one of them is
        followed.
        """
        total = 0.0
        for _, chance, prefix in self._prefixes(length):
            total += chance * self.entropy(prefix)
        return total

    def sample(self, rng: np.random.Generator, most: int) -> list[str]:
        """A random word, cut off after `most` symbols."""
        word: list[str] = []
        while len(word) < most:
            chances = self.next(word)
            token = self.tokens[rng.choice(len(self.tokens), p=[chances[t] for t in self.tokens])]
            if token == self.tokens[-1]:
                break
            word.append(token)
        return word

    def _prefixes(self, length: int) -> Iterator[tuple[int, float, tuple[str, ...]]]:
        """(length, probability, one of them) of the prefixes that have one future."""
        present: dict[tuple[int, ...], tuple[float, tuple[str, ...]]] = {(): (1.0, ())}
        for n in range(length):
            later: dict[tuple[int, ...], tuple[float, tuple[str, ...]]] = {}
            for chance, prefix in present.values():
                yield n, chance, prefix
                for token, share in self.next(prefix).items():
                    if share and token != self.tokens[-1]:
                        word = (*prefix, token)
                        state = self._state(word)
                        before, shortest = later.get(state, (0.0, word))
                        later[state] = (before + chance * share, shortest)
            present = later

    def _distribution(self, holds: Mapping[str, bool]) -> dict[str, float]:
        logs = {
            token: sum(
                value
                for name, value in self.weights[token].items()
                if name == ALWAYS or holds[name]
            )
            for token in self.tokens
            if holds[token]
        }
        top = max(logs.values())
        sizes = {token: math.exp(value - top) for token, value in logs.items()}
        total = math.fsum(sizes.values())
        return {token: sizes.get(token, 0.0) / total for token in self.tokens}

    def distributions(self, words: Sequence[Sequence[str]]) -> list[list[dict[str, float]]]:
        """The distribution after the empty prefix and after every symbol of words, many at once."""
        listed = [list(word) for word in words]
        truths = {name: f.truth_many(listed) for name, f in self.formulas.items()}
        empty = self.next(())
        seen: dict[tuple[bool, ...], dict[str, float]] = {}
        result = []
        for k, word in enumerate(listed):
            rows = [empty]
            for i in range(len(word)):
                key = tuple(bool(truths[name][k][i]) for name in self.formulas)
                if key not in seen:
                    seen[key] = self._distribution(dict(zip(self.formulas, key, strict=True)))
                rows.append(seen[key])
            result.append(rows)
        return result

    def _holds(self, formula: Formula, prefix: Sequence[str]) -> bool:
        if not prefix:
            return at_empty_prefix(formula)
        return bool(formula.truth(list(prefix))[-1])

    @cached_property
    def _parts(self) -> tuple[list[Formula], list[nodes.Count], bool]:
        """Subformulas, counts, and whether the position itself matters."""
        rows, _ = distinct(*self.formulas.values())
        kinds = [node for node, _ in rows]
        formulas = [node for node in kinds if isinstance(node, Formula)]
        counts = [node for node in kinds if isinstance(node, nodes.Count)]
        numbered = any(isinstance(node, nodes.Position | nodes.Mod | nodes.At) for node in kinds)
        return formulas, counts, numbered

    def _state(self, prefix: tuple[str, ...]) -> tuple[int, ...]:
        formulas, counts, numbered = self._parts
        word = list(prefix)
        bits = [int(formula.truth(word)[-1]) for formula in formulas]
        sums = [int(count.operand.truth(word).sum()) for count in counts]
        return (*bits, *sums, *((len(word),) if numbered else ()))


def _entropy(chances: Iterable[float]) -> float:
    return -math.fsum(p * math.log2(p) for p in chances if p)
