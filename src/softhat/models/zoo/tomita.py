"""Tomita's seven grammars. His alphabet is {0, 1}; here b stands for 0 and a for 1."""

from __future__ import annotations

from softhat.models.zoo.entry import AB, Entry
from softhat.models.zoo.regular import IS_STAR_FREE


def _odd_run(symbol: str) -> str:
    """The run of `symbol` that ends here is odd: its first and last place have one parity."""
    start = f"({symbol} & Z !{symbol})"
    sides = [f"mod(2, {r}) & ({symbol} S ({start} & mod(2, {r})))" for r in (0, 1)]
    return f"({sides[0]} | {sides[1]})"


def _tomita_3() -> str:
    bad = f"(b & {_odd_run('b')} & (b S (b & Y (a & {_odd_run('a')}))))"
    return f"!{bad} & !O (a & Y {bad})"


ENTRIES = [
    Entry(
        "tomita-1", "1*: only ones", "Tomita", "H a", AB,
        f"{IS_STAR_FREE} The grammar is Tomita's first (Tomita 1982).", empty=True, example="aaa",
    ),
    Entry(
        "tomita-2", "(10)*", "Tomita", "b & H ((a -> Z b) & (b -> Y a))", AB,
        f"{IS_STAR_FREE} Transformers learn it and generalize (Bhattamishra 2020).", empty=True,
        example="abab",
    ),
    Entry(
        "tomita-3", "no odd run of ones followed by an odd run of zeros", "Tomita", _tomita_3(), AB,
        "Not star-free: transformers fail to generalize on it (Bhattamishra 2020). Definable with "
        "mod(2, ·), since a run is odd iff its ends have equal parity.", empty=True,
        example="aababb",
    ),
    Entry(
        "tomita-4", "no 000", "Tomita", "!O (b & Y (b & Y b))", AB,
        f"{IS_STAR_FREE} Strictly local.", empty=True, example="bbab",
    ),
    Entry(
        "tomita-5", "even numbers of zeros and of ones", "Tomita",
        "F (2*#(a) = #*(a)) & F (2*#(b) = #*(b))", AB,
        "Two parities: not star-free, and beyond transformers of fixed norm as the length grows "
        "(Hahn 2020). Counting defines it: m divides a total iff some prefix has an m-th of it.",
        at="first", empty=True, example="abab",
    ),
    Entry(
        "tomita-6", "ones minus zeros divisible by three", "Tomita",
        "F (3*#(a) - 3*#(b) = #*(a) - #*(b))", AB,
        "Not star-free (Bhattamishra 2020). The difference moves by one at each step, so it passes "
        "a third of its end value: counting defines it.", at="first", empty=True, example="aaa",
    ),
    Entry(
        "tomita-7", "0*1*0*1*", "Tomita", "!O (b & Y O (a & Y O (b & Y O a)))", AB,
        f"{IS_STAR_FREE} Piecewise testable (Simon 1975).", empty=True, example="baba",
    ),
]  # fmt: skip
