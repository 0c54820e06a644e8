"""The library's programs, each with its alphabet and its meaning in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from softhat import rasp
from softhat.frontends.rasp import lib

Sequences = Sequence[Any]


class Case(NamedTuple):
    name: str
    program: rasp.SOp
    alphabet: tuple[Any, ...]
    meaning: Callable[[Sequences], list[Any]]
    unique: bool = False
    """Only for sequences without repetition."""


def shuffle(pairs: list[str]) -> Callable[[Sequences], list[Any]]:
    def balanced(word: Sequences) -> list[Any]:
        fine = True
        for pair in pairs:
            opening, closing = pair[0], pair[1]
            height = 0
            for token in word:
                height += (token == opening) - (token == closing)
                fine = fine and height >= 0
            fine = fine and height == 0
        return [fine] * len(word)

    return balanced


def balance(word: Sequences) -> list[Any]:
    return [
        (word[: i + 1].count("(") - word[: i + 1].count(")")) / (i + 1) for i in range(len(word))
    ]


def shifted(by: int) -> Callable[[Sequences], list[Any]]:
    return lambda word: [
        word[i - by] if 0 <= i - by < len(word) else None for i in range(len(word))
    ]


def pattern(wanted: str) -> Callable[[Sequences], list[Any]]:
    k = len(wanted)
    return lambda word: [
        None if i + 1 < k else "".join(word[i + 1 - k : i + 1]) == wanted for i in range(len(word))
    ]


def by_frequency(word: Sequences) -> list[Any]:
    return sorted(word, key=lambda token: -list(word).count(token))


def induction(word: Sequences) -> list[Any]:
    found = []
    for i, token in enumerate(word):
        # those before i whose previous token is mine
        places = [j for j in range(1, i) if word[j - 1] == token]
        found.append(word[places[-1]] if places else None)
    return found


def dyck(pairs: list[str], depth: int) -> Callable[[Sequences], list[Any]]:
    partner = {pair[1]: pair[0] for pair in pairs}

    def meaning(word: Sequences) -> list[Any]:
        stack: list[Any] = []
        fine, found = True, []
        for token in word:
            if token not in partner:
                stack.append(token)
                fine = fine and len(stack) <= depth
            else:
                fine = fine and bool(stack) and stack.pop() == partner[token]
            found.append(fine and not stack)
        return found

    return meaning


CASES = [
    Case("length", lib.make_length(), ("a", "b"), lambda w: [len(w)] * len(w)),
    Case("reverse", lib.make_reverse(rasp.tokens), ("a", "b", "c"), lambda w: list(w)[::-1]),
    Case("pair_balance", lib.make_pair_balance(rasp.tokens, "(", ")"), ("(", ")", "a"), balance),
    Case("shuffle_dyck", lib.make_shuffle_dyck(["()"]), ("(", ")"), shuffle(["()"])),
    Case("shuffle_dyck2", lib.make_shuffle_dyck2(), tuple("(){}"), shuffle(["()", "{}"])),
    Case("hist", lib.make_hist(), ("a", "b", "c"), lambda w: [w.count(t) for t in w]),
    Case(
        "sort_unique",
        lib.make_sort_unique(rasp.tokens, rasp.tokens),
        tuple(range(1, 7)),
        sorted,
        unique=True,
    ),
    Case(
        "sort_unique by position",
        lib.make_sort_unique(rasp.tokens, 1 - rasp.indices),
        ("a", "b", "c"),
        lambda w: list(w)[::-1],
    ),
    Case(
        "sort",
        lib.make_sort(rasp.tokens, rasp.tokens, max_seq_len=256, min_key=1),
        (1, 2, 3),
        sorted,
    ),
    Case("sort_freq", lib.make_sort_freq(max_seq_len=256), (1, 2, 3), by_frequency),
    Case(
        "frac_prevs",
        lib.make_frac_prevs(rasp.tokens == "l"),
        ("h", "e", "l"),
        lambda w: [w[: i + 1].count("l") / (i + 1) for i in range(len(w))],
    ),
    Case("shift_by 1", lib.shift_by(1, rasp.tokens), ("a", "b", "c"), shifted(1)),
    Case("shift_by 3", lib.shift_by(3, rasp.tokens), ("a", "b"), shifted(3)),
    Case("shift_by -2", lib.shift_by(-2, rasp.tokens), ("a", "b"), shifted(-2)),
    Case("detect_pattern a", lib.detect_pattern(rasp.tokens, "a"), ("a", "b"), pattern("a")),
    Case(
        "detect_pattern abc", lib.detect_pattern(rasp.tokens, "abc"), tuple("abc"), pattern("abc")
    ),
    Case(
        "count_less_freq",
        lib.make_count_less_freq(2),
        ("a", "b", "c"),
        lambda w: [sum(w.count(t) <= 2 for t in w)] * len(w),
    ),
    Case(
        "count", lib.make_count(rasp.tokens, "a"), tuple("abc"), lambda w: [w.count("a")] * len(w)
    ),
    Case(
        "nary_sequencemap",
        lib.make_nary_sequencemap(
            lambda x, y, z: x + y - z, rasp.tokens, rasp.tokens, rasp.indices
        ),
        (1, 2, 3),
        lambda w: [2 * t - i for i, t in enumerate(w)],
    ),
    Case("induction", lib.make_induction(), ("a", "b", "c"), induction),
    Case("dyck of depth 3", lib.make_dyck(["()", "[]"], 3), tuple("()[]"), dyck(["()", "[]"], 3)),
    Case("previous_token", lib.make_previous_token(), ("a", "b"), shifted(1)),
    Case("first_token", lib.make_first_token(), ("a", "b"), lambda w: [w[0]] * len(w)),
    Case(
        "majority",
        lib.make_majority("a"),
        ("a", "b"),
        lambda w: [2 * w.count("a") > len(w)] * len(w),
    ),
    Case(
        "numerical length",
        rasp.numerical(lib.make_length()),
        ("a", "b"),
        lambda w: [len(w)] * len(w),
    ),
    Case(
        "numerical hist",
        rasp.numerical(lib.make_hist()),
        ("a", "b", "c"),
        lambda w: [w.count(t) for t in w],
    ),
]
