"""Named formulas and the languages they define: the table that the tests of every stage share.

A case's `accepts` says in plain Python which words are accepted, so it is an independent source
of the expected answer. Words are text, lists of symbols, or lists of sets of propositions.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any


@dataclass(frozen=True)
class Case:
    """`formula` over `alphabet` (or `propositions`) accepts exactly the words of `accepts`."""

    name: str
    formula: str
    alphabet: Sequence[str]
    accepts: Callable[[Any], bool]
    at: str | None = None  # where a two-way formula is read off
    propositional: bool = False

    @property
    def letters(self) -> list[Any]:
        if not self.propositional:
            return list(self.alphabet)
        subsets = product([False, True], repeat=len(self.alphabet))
        return [
            {name for name, chosen in zip(self.alphabet, subset, strict=True) if chosen}
            for subset in subsets
        ]

    @property
    def as_text(self) -> bool:
        return not self.propositional and all(len(symbol) == 1 for symbol in self.alphabet)

    def words(self, most: int = 150, longest: int = 40, seed: int = 0) -> list[Any]:
        """All short words, about two thirds of `most`, and random longer ones."""
        short = islice(
            (word for n in range(1, 9) for word in product(self.letters, repeat=n)), 2 * most // 3
        )
        rng = random.Random(f"{self.name} {seed}")
        words = [list(word) for word in short]
        words += [
            rng.choices(self.letters, k=rng.randint(5, longest)) for _ in range(most - len(words))
        ]
        return ["".join(word) for word in words] if self.as_text else words


def _depths(word: str) -> list[int]:
    """Nesting depth after each parenthesis."""
    depth, depths = 0, []
    for char in word:
        depth += 1 if char == "(" else -1
        depths.append(depth)
    return depths


def _matches(pattern: str) -> Callable[[str], bool]:
    return lambda w: re.fullmatch(pattern, w) is not None


def _prefixes(word: str) -> list[str]:
    return [word[: k + 1] for k in range(len(word))]


def _suffixes(word: str) -> list[str]:
    return [word[k:] for k in range(len(word))]


def _splits(word: str) -> list[tuple[str, str]]:
    """The word up to and from each position, the position in both."""
    return [(word[: k + 1], word[k:]) for k in range(len(word))]


BOOLEAN = [
    Case("ends in a", "a", "ab", lambda w: w[-1] == "a"),
    Case("true", "true", "ab", lambda w: True),
    Case("false", "false", "ab", lambda w: False),
    Case("not a", "!a", "abc", lambda w: w[-1] != "a"),
    Case("a or b", "a | b", "abc", lambda w: w[-1] in "ab"),
    Case("tautology", "a -> a | b", "abc", lambda w: True),
    Case("one letter", "first & last", "ab", lambda w: len(w) == 1),
    Case("quoted symbols", "'(' xor 'S' <-> ' '", "(S ", lambda w: w[-1] not in "(S "),
]

NGRAMS = [
    Case("before a", "Y a", "ab", lambda w: len(w) > 1 and w[-2] == "a"),
    Case("before a or start", "Z a", "ab", lambda w: len(w) == 1 or w[-2] == "a"),
    Case("bigram ab at the end", "b & Y a", "ab", lambda w: w.endswith("ab")),
    Case("third from the end", "Y Y Y a", "ab", lambda w: len(w) > 3 and w[-4] == "a"),
    Case("two letters", "Y first", "ab", lambda w: len(w) == 2),
    Case("second is a", "X a", "ab", lambda w: len(w) > 1 and w[1] == "a"),
    Case("second is a or none", "N a", "ab", lambda w: len(w) == 1 or w[1] == "a"),
    Case("third is b", "X X b", "ab", lambda w: len(w) > 2 and w[2] == "b"),
    Case("changed", "a xor Y a", "ab", lambda w: (w[-1] == "a") != (w[-2:-1] == "a")),
    Case("two-way bigram", "Y a & X b | first & last", "ab", lambda w: len(w) == 1, "last"),
]

PAST = [
    Case("since", "!c S a", "abc", lambda w: "a" in w and "c" not in w[w.rindex("a") :]),
    Case("starts with a", "O (first & a)", "ab", lambda w: w[0] == "a"),
    Case("some a", "O a", "abc", lambda w: "a" in w),
    Case("only a", "H a", "ab", lambda w: set(w) == {"a"}),
    Case("no a", "H !a", "abc", lambda w: "a" not in w),
    Case("bigram ab somewhere", "O (b & Y a)", "ab", lambda w: "ab" in w),
    Case("no aa", "H (a -> Z !a)", "ab", lambda w: "aa" not in w),
    Case("trigram abc", "O (c & Y (b & Y a))", "abc", lambda w: "abc" in w),
    Case("(ab)+", "b & H ((a -> Z b) & (b -> Y a))", "ab", _matches("(ab)+")),
    Case("a*b*", "H (a -> H a)", "ab", _matches("a*b*")),
    Case("a*b*c*", "H ((a -> H a) & (b -> H !c))", "abc", _matches("a*b*c*")),
    Case("subsequence abc", "O (c & O (b & O a))", "abc", _matches(".*a.*b.*c.*")),
    Case("two a", "O (a & Y O a)", "ab", lambda w: w.count("a") >= 2),
    Case(
        "triggered",
        "a T (a | b)",
        "abc",
        lambda w: "c" not in w[w.rindex("a") if "a" in w else 0 :],
    ),
    Case(
        "first is last",
        "O (first & a) & a | O (first & b) & b",
        "ab",
        lambda w: w[0] == w[-1],
    ),
    Case("since since", "a S (b S c)", "abc", _matches(".*cb*a*")),
    Case("flip-flop", "!off S on", ["on", "off", "wait"], lambda w: _latest(w) == "on"),
    Case(
        "close after open",
        "H (close -> O open)",
        ["open", "close"],
        lambda w: w[0] == "open",
    ),
]

FUTURE = [
    Case("eventually a", "F a", "abc", lambda w: "a" in w),
    Case("always a", "G a", "ab", lambda w: set(w) == {"a"}),
    Case("until", "a U b", "abc", _matches("a*b.*")),
    Case("release", "(a | c) R (b | c)", "abc", _matches("b*c.*|b*")),
    Case("weak until", "a W b", "abc", _matches("a*b.*|a*")),
    Case("strong release", "(a | b) M (b | c)", "abc", _matches("[bc]*b.*")),
    Case("a then b", "G (a -> X b)", "ab", _matches("(b|ab)*")),
    Case("a is answered", "G (a -> F b)", "ab", lambda w: w.rfind("b") >= w.rfind("a")),
    Case("last is a", "F (last & a)", "ab", lambda w: w[-1] == "a"),
    Case("weak tomorrow chain", "G N a", "ab", lambda w: set(w[1:]) <= {"a"}),
]

TWO_WAY = [
    Case("ab, looking ahead", "O (a & X b)", "ab", lambda w: "ab" in w, "last"),
    Case("ba, looking back", "F (a & Y b)", "ab", lambda w: "ba" in w, "first"),
    Case("every a had b", "G (a -> O b)", "abc", lambda w: _before(w, "b", "a"), "first"),
    Case("every a gets b", "H (a -> F b)", "ab", lambda w: w.rfind("b") >= w.rfind("a"), "last"),
    Case("last once a", "F (last & O a)", "ab", lambda w: "a" in w, "first"),
    Case("until since", "(a S b) U c", "abc", lambda w: w[0] == "c" or _until_since(w), "first"),
]

COUNTING = [
    Case("majority", "#(a) > #(b)", "abc", lambda w: w.count("a") > w.count("b")),
    Case("half", "2*#(a) >= i", "ab", lambda w: 2 * w.count("a") >= len(w)),
    Case("as many", "#(a) = #(b)", "ab", lambda w: w.count("a") == w.count("b")),
    Case("not as many", "#(a) != #(b)", "ab", lambda w: w.count("a") != w.count("b")),
    Case("three a", "#(a) >= 3", "ab", lambda w: w.count("a") >= 3),
    Case("exactly two a", "#(a) = 2", "ab", lambda w: w.count("a") == 2),
    Case("at most one a", "#(a) < 2", "ab", lambda w: w.count("a") < 2),
    Case(
        "weighted",
        "3*#(a) - 2*#(b) > 1",
        "abc",
        lambda w: 3 * w.count("a") - 2 * w.count("b") > 1,
    ),
    Case(
        "huge weights",
        "1000000000000000000000000*#(a) > 999999999999999999999999*#(b)",
        "ab",
        lambda w: w.count("a") >= max(w.count("b"), 1),
    ),
    Case(
        "Dyck-1",
        "#('(') = #(')') & H #('(') >= #(')')",
        "()",
        lambda w: _depths(w)[-1] == 0 and min(_depths(w)) >= 0,
    ),
    Case("Dyck prefix", "H #('(') >= #(')')", "()", lambda w: min(_depths(w)) >= 0),
    Case(
        "bounded Dyck",
        "#('(') = #(')') & H (#('(') >= #(')') & #('(') - #(')') <= 2)",
        "()",
        lambda w: _depths(w)[-1] == 0 and min(_depths(w)) >= 0 and max(_depths(w)) <= 2,
    ),
    Case(
        "leads twice",
        "#(#(a) > #(b)) >= 2",
        "ab",
        lambda w: sum(p.count("a") > p.count("b") for p in _prefixes(w)) >= 2,
    ),
    Case("three letters", "i = 3", "ab", lambda w: len(w) == 3),
    Case("third is a", "O (i = 3 & a)", "ab", lambda w: w[2:3] == "a"),
    Case("long", "n > 5", "ab", lambda w: len(w) > 5),
    Case(
        "middle is a",
        "O (2*i = n + 1 & a)",
        "ab",
        lambda w: len(w) % 2 == 1 and w[len(w) // 2] == "a",
    ),
    Case("total", "#*(a) > #*(b) + 1", "ab", lambda w: w.count("a") > w.count("b") + 1),
    Case("future majority", "#>(a) > #>(b)", "ab", lambda w: w.count("a") > w.count("b")),
    Case(
        "suffix majority",
        "G #>(a) >= #>(b)",
        "ab",
        lambda w: all(s.count("a") >= s.count("b") for s in _suffixes(w)),
    ),
    Case("parity", "F (2*#(a) = #*(a))", "ab", lambda w: w.count("a") % 2 == 0, "first"),
    Case(
        "balanced point",
        "O (#(a) = #>(a))",
        "ab",
        lambda w: any(p.count("a") == s.count("a") for p, s in _splits(w)),
        "last",
    ),
    Case(
        "mixed counts",
        "O (2*#(a) - 3*#>(b) + n != #*(a) + i)",
        "ab",
        lambda w: any(
            2 * p.count("a") - 3 * s.count("b") + len(w) != w.count("a") + len(p)
            for p, s in _splits(w)
        ),
        "last",
    ),
    Case(
        "count of since",
        "#(!b S a) >= 3 & #(Y a) < 3",
        "abc",
        lambda w: (
            sum(p.rfind("a") > p.rfind("b") for p in _prefixes(w)) >= 3 and w[:-1].count("a") < 3
        ),
    ),
]

MOD = [
    Case("even length", "mod(2, 0)", "ab", lambda w: len(w) % 2 == 0),
    Case("length 1 mod 3", "mod(3, 1)", "ab", lambda w: len(w) % 3 == 1),
    Case("a at an odd place", "O (a & mod(2, 1))", "ab", lambda w: "a" in w[::2]),
    Case("a at all odd places", "H (mod(2, 1) -> a)", "ab", lambda w: set(w[::2]) == {"a"}),
    Case("alternating", "H (mod(2, 1) <-> a)", "ab", lambda w: _matches("(ab)*a?")(w)),
    Case(
        "a at odd places, mostly",
        "#(a & mod(2, 1)) > #(a & mod(2, 0))",
        "ab",
        lambda w: w[::2].count("a") > w[1::2].count("a"),
    ),
    Case("fifths", "F (mod(5, 0) & b)", "ab", lambda w: "b" in w[4::5]),
]

PROPOSITIONAL = [
    Case(
        "response",
        "G (p -> F q)",
        "pq",
        lambda w: all(any("q" in y for y in w[k:]) for k, x in enumerate(w) if "p" in x),
        propositional=True,
    ),
    Case("both once", "O (p & q)", "pq", lambda w: {"p", "q"} in w, propositional=True),
    Case("one of two", "H (p xor q)", "pq", lambda w: all(len(x) == 1 for x in w), None, True),
    Case(
        "precedence",
        "!q U p",
        "pq",
        lambda w: any("p" in x and not any("q" in y for y in w[:k]) for k, x in enumerate(w)),
        propositional=True,
    ),
    Case(
        "counted sets",
        "#(p & q) > #(p & !q)",
        "pq",
        lambda w: sum("p" in x and "q" in x for x in w) > sum(x == {"p"} for x in w),
        propositional=True,
    ),
]


def _latest(word: list[str]) -> str | None:
    """The latest of on and off."""
    return next((symbol for symbol in reversed(word) if symbol != "wait"), None)


def _before(word: str, early: str, late: str) -> bool:
    """Does some `early` stand before (or at) every `late`?"""
    return late not in word or (early in word and word.index(early) < word.index(late))


def _until_since(word: str) -> bool:
    """Every position before some c ends a block b a*."""
    return any(
        word[k] == "c" and all(re.fullmatch(".*ba*", word[: j + 1]) for j in range(k))
        for k in range(len(word))
    )


CASES = [
    *BOOLEAN,
    *NGRAMS,
    *PAST,
    *FUTURE,
    *TWO_WAY,
    *COUNTING,
    *MOD,
    *PROPOSITIONAL,
]
