"""Regular languages: Tomita's seven, n-grams, piecewise testable and star-free ones, moduli.

Tomita's alphabet is {0, 1}; here b stands for 0 and a for 1.
"""

from __future__ import annotations

from softhat.zoo.entry import Entry

AB = ("a", "b")
ABC = ("a", "b", "c")
_STAR_FREE = (
    "Star-free, so masked unique-hard attention computes it (Yang 2024a) and softmax simulates "
    "that (Yang 2026)."
)
_LOCAL = "Decided by a window of bounded width: the least that attention to neighbours computes."


def _odd_run(symbol: str) -> str:
    """The run of `symbol` that ends here is odd: its first and last place have one parity."""
    start = f"({symbol} & Z !{symbol})"
    sides = [f"mod(2, {r}) & ({symbol} S ({start} & mod(2, {r})))" for r in (0, 1)]
    return f"({sides[0]} | {sides[1]})"


def _tomita_3() -> str:
    bad = f"(b & {_odd_run('b')} & (b S (b & Y (a & {_odd_run('a')}))))"
    return f"!{bad} & !O (a & Y {bad})"


TOMITA = [
    Entry(
        "tomita-1",
        "1*: only ones",
        "Tomita",
        "H a",
        AB,
        f"{_STAR_FREE} The grammar is Tomita's first (Tomita 1982).",
        empty=True,
        example="aaa",
    ),
    Entry(
        "tomita-2",
        "(10)*",
        "Tomita",
        "b & H ((a -> Z b) & (b -> Y a))",
        AB,
        f"{_STAR_FREE} Transformers learn it and generalize (Bhattamishra 2020).",
        empty=True,
        example="abab",
    ),
    Entry(
        "tomita-3",
        "no odd run of ones followed by an odd run of zeros",
        "Tomita",
        _tomita_3(),
        AB,
        "Not star-free: transformers fail to generalize on it (Bhattamishra 2020). Definable with "
        "mod(2, ·), since a run is odd iff its ends have equal parity.",
        empty=True,
        example="aababb",
    ),
    Entry(
        "tomita-4",
        "no 000",
        "Tomita",
        "!O (b & Y (b & Y b))",
        AB,
        f"{_STAR_FREE} Strictly local.",
        empty=True,
        example="bbab",
    ),
    Entry(
        "tomita-5",
        "even numbers of zeros and of ones",
        "Tomita",
        "F (2*#(a) = #*(a)) & F (2*#(b) = #*(b))",
        AB,
        "Two parities: not star-free, and beyond transformers of fixed norm as the length grows "
        "(Hahn 2020). Counting defines it: m divides a total iff some prefix has an m-th of it.",
        at="first",
        empty=True,
        example="abab",
    ),
    Entry(
        "tomita-6",
        "ones minus zeros divisible by three",
        "Tomita",
        "F (3*#(a) - 3*#(b) = #*(a) - #*(b))",
        AB,
        "Not star-free (Bhattamishra 2020). The difference moves by one at each step, so it passes "
        "a third of its end value: counting defines it.",
        at="first",
        empty=True,
        example="aaa",
    ),
    Entry(
        "tomita-7",
        "0*1*0*1*",
        "Tomita",
        "!O (b & Y O (a & Y O (b & Y O a)))",
        AB,
        f"{_STAR_FREE} Piecewise testable (Simon 1975).",
        empty=True,
        example="baba",
    ),
]

LOCAL = [
    Entry(
        "first-a",
        "FIRST: the first symbol is a",
        "locally testable",
        "O (first & a)",
        AB,
        "FIRST separates what one layer without positions can do from what positions allow "
        "(Chiang 2022).",
        example="abb",
    ),
    Entry("last-a", "the last symbol is a", "locally testable", "a", AB, _LOCAL, example="bba"),
    Entry(
        "second-a",
        "the second symbol is a",
        "locally testable",
        "O (i = 2 & a)",
        AB,
        _LOCAL,
        example="ba",
    ),
    Entry(
        "first-equals-last",
        "the first and the last symbol agree",
        "locally testable",
        "a & O (first & a) | b & O (first & b)",
        AB,
        _LOCAL,
        example="abba",
    ),
    Entry(
        "begins-with-ab",
        "begins with ab",
        "locally testable",
        "O (b & Y (a & first))",
        AB,
        _LOCAL,
        example="abb",
    ),
    Entry("ends-with-ab", "ends with ab", "locally testable", "b & Y a", AB, _LOCAL, example="bab"),
    Entry(
        "ends-with-abb",
        "ends with abb",
        "locally testable",
        "b & Y (b & Y a)",
        AB,
        _LOCAL,
        example="aabb",
    ),
    Entry(
        "contains-ab",
        "contains the factor ab",
        "locally testable",
        "O (b & Y a)",
        AB,
        _LOCAL,
        example="bab",
    ),
    Entry(
        "contains-aba",
        "contains the factor aba",
        "locally testable",
        "O (a & Y (b & Y a))",
        AB,
        _LOCAL,
        example="babab",
    ),
    Entry(
        "contains-abc",
        "the trigram abc",
        "locally testable",
        "O (c & Y (b & Y a))",
        ABC,
        _LOCAL,
        example="cabcb",
    ),
    Entry(
        "no-aa",
        "no two a in a row",
        "locally testable",
        "!O (a & Y a)",
        AB,
        "Strictly 2-local.",
        empty=True,
        example="abab",
    ),
    Entry(
        "third-from-end-a",
        "the third symbol from the end is a",
        "locally testable",
        "Y Y a",
        AB,
        "Its smallest DFA has 8 states, and 2^k for the k-th symbol; attention needs one head.",
        example="abb",
    ),
    Entry(
        "tenth-from-end-a",
        "the tenth symbol from the end is a",
        "locally testable",
        "Y " * 9 + "a",
        AB,
        "Its smallest DFA has 1,024 states; attention needs one head at every distance.",
        example="abbbbbbbbb",
    ),
]

PIECEWISE = [
    Entry(
        "some-a",
        "contains an a",
        "piecewise testable",
        "O a",
        AB,
        "1-piecewise testable (Simon 1975).",
        example="bab",
    ),
    Entry(
        "no-a",
        "contains no a",
        "piecewise testable",
        "H !a",
        AB,
        "1-piecewise testable (Simon 1975).",
        empty=True,
        example="bb",
    ),
    Entry(
        "subsequence-ab",
        "a somewhere before b",
        "piecewise testable",
        "O (b & Y O a)",
        AB,
        "2-piecewise testable (Simon 1975).",
        example="bab",
    ),
    Entry(
        "subsequence-abc",
        "a, later b, later c",
        "piecewise testable",
        "O (c & Y O (b & Y O a))",
        ABC,
        "3-piecewise testable (Simon 1975).",
        example="abcc",
    ),
    Entry(
        "sorted-ab",
        "a*b*",
        "piecewise testable",
        "H (a -> H a)",
        AB,
        "2-piecewise testable (Simon 1975).",
        empty=True,
        example="aabb",
    ),
    Entry(
        "sorted-abc",
        "a*b*c*",
        "piecewise testable",
        "H ((a -> H a) & (b -> H !c))",
        ABC,
        "2-piecewise testable (Simon 1975).",
        empty=True,
        example="abbc",
    ),
    Entry(
        "two-as",
        "at least two a",
        "piecewise testable",
        "O (a & Y O a)",
        AB,
        "2-piecewise testable (Simon 1975).",
        example="aba",
    ),
    Entry(
        "three-as",
        "at least three a",
        "piecewise testable",
        "#(a) >= 3",
        AB,
        "3-piecewise testable; as a count it takes two layers whatever the number.",
        example="ababa",
    ),
    Entry(
        "exactly-two-as",
        "exactly two a",
        "piecewise testable",
        "#(a) = 2",
        AB,
        "3-piecewise testable (Simon 1975).",
        example="abab",
    ),
]

STAR_FREE = [
    Entry(
        "ab-plus",
        "(ab)+",
        "star-free",
        "b & H ((a -> Z b) & (b -> Y a))",
        AB,
        _STAR_FREE,
        example="abab",
    ),
    Entry(
        "ab-star",
        "(ab)*",
        "star-free",
        "(ab)*",
        AB,
        f"{_STAR_FREE} The textbook example of a star that is star-free (McNaughton 1971).",
        kind="regex",
        empty=True,
        example="ab",
    ),
    Entry(
        "since-a-no-c",
        "an a, and no c since",
        "star-free",
        "!c S a",
        ABC,
        "The `since` of temporal logic (Kamp 1968): the operator that makes past temporal logic "
        "equal to the star-free languages.",
        example="cab",
    ),
    Entry(
        "until-b-only-a",
        "a until b",
        "star-free",
        "a U b",
        ABC,
        "The `until` of temporal logic (Kamp 1968).",
        example="aabc",
    ),
    Entry(
        "since-since",
        "a S (b S c)",
        "star-free",
        "a S (b S c)",
        ABC,
        f"{_STAR_FREE} Depth two.",
        example="cba",
    ),
    Entry(
        "flip-flop",
        "the latest of on and off is on",
        "star-free",
        "!off S on",
        ("on", "off", "wait"),
        "One bit of memory that is written and held: trained transformers make sporadic errors on "
        "it at every scale (Liu 2023); this one has none.",
        example="on wait wait",
    ),
    Entry(
        "flip-flop-two-bits",
        "two bits of memory agree",
        "star-free",
        "(!off1 S on1) <-> (!off2 S on2)",
        ("on1", "off1", "on2", "off2"),
        f"{_STAR_FREE} Two flip-flops (Liu 2023).",
        example="on1 on2",
    ),
    Entry(
        "every-a-had-b",
        "before every a there is a b",
        "star-free",
        "H (a -> O b)",
        ABC,
        _STAR_FREE,
        empty=True,
        example="bac",
    ),
    Entry(
        "contains-abba",
        "contains abba",
        "star-free",
        "(a|b)*abba(a|b)*",
        AB,
        _STAR_FREE,
        kind="regex",
        example="babba",
    ),
    Entry(
        "no-abba",
        "does not contain abba",
        "star-free",
        "~((a|b)*abba(a|b)*)",
        AB,
        _STAR_FREE,
        kind="regex",
        empty=True,
        example="abab",
    ),
    Entry(
        "blocks-of-two-symbols",
        "(a|ba)*: every b is followed by a",
        "star-free",
        "(a|ba)*",
        AB,
        _STAR_FREE,
        kind="regex",
        empty=True,
        example="aba",
    ),
    Entry(
        "traffic-light",
        "red, green, yellow in turn, from red",
        "star-free",
        "O (first & red) & H ((green -> Y red) & (yellow -> Y green) & (red -> Z yellow))",
        ("red", "green", "yellow"),
        _STAR_FREE,
        example="red green",
    ),
]

MODULAR = [
    Entry(
        "even-length",
        "words of even length",
        "modular",
        "mod(2, 0)",
        AB,
        "Not star-free; position parity makes it immediate: FO[<, mod].",
        empty=True,
        example="ab",
    ),
    Entry(
        "length-1-mod-3",
        "length 1 modulo 3",
        "modular",
        "mod(3, 1)",
        AB,
        "FO[<, mod].",
        example="abab",
    ),
    Entry(
        "a-at-odd-places",
        "a at every odd place",
        "modular",
        "H (mod(2, 1) -> a)",
        AB,
        "FO[<, mod].",
        empty=True,
        example="abab",
    ),
    Entry(
        "alternating",
        "a at odd places and b at even ones",
        "modular",
        "H (mod(2, 1) <-> a)",
        AB,
        "FO[<, mod], and star-free as (ab)*a?.",
        empty=True,
        example="aba",
    ),
    Entry(
        "aa-star",
        "(aa)*",
        "modular",
        "(aa)*",
        ("a",),
        "The smallest language that is not star-free (McNaughton 1971): a counter of period 2, by mod.",
        kind="regex",
        empty=True,
        example="aaaa",
    ),
    Entry(
        "fifths-have-b",
        "b at some place divisible by five",
        "modular",
        "O (mod(5, 0) & b)",
        AB,
        "FO[<, mod].",
        example="aaaab",
    ),
]

ENTRIES = [*TOMITA, *LOCAL, *PIECEWISE, *STAR_FREE, *MODULAR]
