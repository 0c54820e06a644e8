"""Below star-free: locally testable languages (windows) and piecewise testable ones (subwords)."""

from __future__ import annotations

from softhat.models.zoo.entry import AB, ABC, Entry

_LOCAL = "Decided by a window of bounded width: the least that attention to neighbours computes."

LOCAL = [
    Entry(
        "first-a", "FIRST: the first symbol is a", "locally testable", "O (first & a)", AB,
        "FIRST separates what one layer without positions can do from what positions allow "
        "(Chiang 2022).", example="abb",
    ),
    Entry("last-a", "the last symbol is a", "locally testable", "a", AB, _LOCAL, example="bba"),
    Entry(
        "second-a", "the second symbol is a", "locally testable", "O (i = 2 & a)", AB, _LOCAL,
        example="ba",
    ),
    Entry(
        "first-equals-last", "the first and the last symbol agree", "locally testable",
        "a & O (first & a) | b & O (first & b)", AB, _LOCAL, example="abba",
    ),
    Entry(
        "begins-with-ab", "begins with ab", "locally testable", "O (b & Y (a & first))", AB, _LOCAL,
        example="abb",
    ),
    Entry("ends-with-ab", "ends with ab", "locally testable", "b & Y a", AB, _LOCAL, example="bab"),
    Entry(
        "ends-with-abb", "ends with abb", "locally testable", "b & Y (b & Y a)", AB, _LOCAL,
        example="aabb",
    ),
    Entry(
        "contains-ab", "contains the factor ab", "locally testable", "O (b & Y a)", AB, _LOCAL,
        example="bab",
    ),
    Entry(
        "contains-aba", "contains the factor aba", "locally testable", "O (a & Y (b & Y a))", AB,
        _LOCAL, example="babab",
    ),
    Entry(
        "contains-abc", "the trigram abc", "locally testable", "O (c & Y (b & Y a))", ABC, _LOCAL,
        example="cabcb",
    ),
    Entry(
        "no-aa", "no two a in a row", "locally testable", "!O (a & Y a)", AB, "Strictly 2-local.",
        empty=True, example="abab",
    ),
    Entry(
        "third-from-end-a", "the third symbol from the end is a", "locally testable", "Y Y a", AB,
        "Its smallest DFA has 8 states, and 2^k for the k-th symbol; attention needs one head.",
        example="abb",
    ),
    Entry(
        "tenth-from-end-a", "the tenth symbol from the end is a", "locally testable",
        "Y " * 9 + "a", AB,
        "Its smallest DFA has 1,024 states; attention needs one head at every distance.",
        example="abbbbbbbbb",
    ),
]  # fmt: skip

PIECEWISE = [
    Entry(
        "some-a", "contains an a", "piecewise testable", "O a", AB,
        "1-piecewise testable (Simon 1975).", example="bab",
    ),
    Entry(
        "no-a", "contains no a", "piecewise testable", "H !a", AB,
        "1-piecewise testable (Simon 1975).", empty=True, example="bb",
    ),
    Entry(
        "subsequence-ab", "a somewhere before b", "piecewise testable", "O (b & Y O a)", AB,
        "2-piecewise testable (Simon 1975).", example="bab",
    ),
    Entry(
        "subsequence-abc", "a, later b, later c", "piecewise testable", "O (c & Y O (b & Y O a))",
        ABC, "3-piecewise testable (Simon 1975).", example="abcc",
    ),
    Entry(
        "sorted-ab", "a*b*", "piecewise testable", "H (a -> H a)", AB,
        "2-piecewise testable (Simon 1975).", empty=True, example="aabb",
    ),
    Entry(
        "sorted-abc", "a*b*c*", "piecewise testable", "H ((a -> H a) & (b -> H !c))", ABC,
        "2-piecewise testable (Simon 1975).", empty=True, example="abbc",
    ),
    Entry(
        "two-as", "at least two a", "piecewise testable", "O (a & Y O a)", AB,
        "2-piecewise testable (Simon 1975).", example="aba",
    ),
    Entry(
        "three-as", "at least three a", "piecewise testable", "#(a) >= 3", AB,
        "3-piecewise testable; as a count it takes two layers whatever the number.",
        example="ababa",
    ),
    Entry(
        "exactly-two-as", "exactly two a", "piecewise testable", "#(a) = 2", AB,
        "3-piecewise testable (Simon 1975).", example="abab",
    ),
]  # fmt: skip

ENTRIES = [*LOCAL, *PIECEWISE]
