"""Languages that count: majorities, equal counts, brackets, divisibility."""

from __future__ import annotations

from softhat.models.zoo.entry import AB, ABC, Entry

ROUND = ("(", ")")
SQUARE = ("(", ")", "[", "]")
_COUNTS = "Average-hard attention counts by uniform heads (Hao 2022, Barceló 2024)."


def _bounded_dyck_1(depth: int) -> Entry:
    return Entry(
        f"bounded-dyck-1-{depth}", f"balanced round brackets, at most {depth} deep", "brackets",
        f"#('(') = #(')') & H (#('(') >= #(')') & #('(') - #(')') <= {depth})", ROUND,
        "Star-free for every depth, so hard attention computes it (Yang 2024a); self-attention "
        "of constant width suffices (Yao 2021). Here by counting, in three layers at every depth.",
        empty=True, example="()" * depth,
    )  # fmt: skip


def _nested(depth: int) -> str:
    """Balanced words over two kinds of bracket, as a regular expression."""
    inner = ""
    for _ in range(depth):
        inner = f"('('{inner}')'|'['{inner}']')*"
    return inner


def _bounded_dyck_2(depth: int) -> Entry:
    return Entry(
        f"bounded-dyck-2-{depth}", f"balanced round and square brackets, at most {depth} deep",
        "brackets", _nested(depth), SQUARE,
        "Star-free for every depth; self-attention networks of depth and width that do not grow "
        "with the length compute it (Yao 2021).",
        kind="regex", empty=True, example="([])" if depth > 1 else "()[]",
    )  # fmt: skip


BRACKETS = [
    Entry(
        "dyck-1", "balanced round brackets", "brackets", "#('(') = #(')') & H #('(') >= #(')')",
        ROUND,
        "Not regular. Two comparisons of counts: softmax attention of fixed size computes it "
        "(Bhattamishra 2020, Yang 2024b).", empty=True, example="(()())",
    ),
    Entry(
        "dyck-1-prefix", "prefixes of balanced round brackets", "brackets", "H #('(') >= #(')')",
        ROUND, _COUNTS, empty=True, example="(()(",
    ),
    Entry(
        "shuffle-dyck-2", "round and square brackets, each balanced, interleaved at will",
        "brackets",
        "#('(') = #(')') & #('[') = #(']') & H (#('(') >= #(')') & #('[') >= #(']'))", SQUARE,
        "A counter for each kind of bracket (Bhattamishra 2020).", empty=True, example="([)]",
    ),
    *(_bounded_dyck_1(depth) for depth in (1, 2, 3, 4, 8)),
    *(_bounded_dyck_2(depth) for depth in (1, 2, 3)),
]  # fmt: skip

COUNTS = [
    Entry(
        "majority", "MAJORITY: more a than b", "counting", "#(a) > #(b)", AB,
        "Not in AC0, so no unique-hard attention computes it; average-hard attention does (Hao 2022).",
        example="aab",
    ),
    Entry(
        "half", "at least half of the symbols are a", "counting", "2*#(a) >= i", AB, _COUNTS,
        example="ab",
    ),
    Entry(
        "equal-counts", "as many a as b", "counting", "#(a) = #(b)", AB, f"{_COUNTS} Not regular.",
        empty=True, example="abba",
    ),
    Entry(
        "equal-counts-3", "as many a as b as c", "counting", "#(a) = #(b) & #(b) = #(c)", ABC,
        f"{_COUNTS} Not context-free.", empty=True, example="cab",
    ),
    Entry(
        "anbn", "a^n b^n", "counting", "#(a) = #(b) & H (a -> H a)", AB,
        f"{_COUNTS} Context-free, not regular.", empty=True, example="aabb",
    ),
    Entry(
        "anbncn", "a^n b^n c^n", "counting",
        "#(a) = #(b) & #(b) = #(c) & H ((a -> H a) & (b -> H !c))", ABC,
        "Not context-free; transformers learn it (Bhattamishra 2020) and C-RASP defines it (Yang 2024b).",
        empty=True, example="aabbcc",
    ),
    Entry(
        "two-to-one", "twice as many a as b", "counting", "#(a) = 2*#(b)", AB, _COUNTS, empty=True,
        example="aab",
    ),
    Entry(
        "ballot", "every prefix has at least as many a as b", "counting", "H #(a) >= #(b)", AB,
        _COUNTS, empty=True, example="aabb",
    ),
    Entry(
        "strict-ballot", "every prefix has more a than b", "counting", "H #(a) > #(b)", AB, _COUNTS,
        empty=True, example="aab",
    ),
    Entry(
        "leads-most-of-the-time", "a leads at more than half of the positions", "counting",
        "2*#(#(a) > #(b)) > i", AB, "Counts of comparisons of counts: depth two (Yang 2024b).",
        example="aab",
    ),
    Entry(
        "parity", "PARITY: an even number of a", "counting", "F (2*#(a) = #*(a))", AB,
        "The classical hard case: no unique-hard attention computes it and softmax of fixed norm "
        "loses its sensitivity (Hahn 2020); attention that knows n computes it (Chiang 2022). A total is even iff "
        "some prefix has half of it.", at="first", empty=True, example="aba",
    ),
    Entry(
        "multiple-of-3", "the number of a is divisible by three", "counting", "F (3*#(a) = #*(a))",
        AB, "As PARITY: 3 divides a total iff some prefix has a third of it.", at="first",
        empty=True, example="aaba",
    ),
    Entry(
        "multiple-of-5", "the number of a is divisible by five", "counting", "F (5*#(a) = #*(a))",
        AB, "As PARITY: 5 divides a total iff some prefix has a fifth of it.", at="first",
        empty=True, example="aaaaa",
    ),
    Entry(
        "middle-a", "odd length, a in the middle", "counting", "O (2*i = n + 1 & a)", AB,
        "Positions compared with the length: not regular.", example="bab",
    ),
    Entry(
        "weighted-vote", "3 for each a, -2 for each b: more than 1", "counting",
        "3*#(a) - 2*#(b) > 1", ABC, _COUNTS, example="ac",
    ),
    Entry(
        "more-than-ten-a", "more than ten a", "counting", "#(a) > 10", AB,
        "Its smallest DFA has 12 states; a comparison with a constant takes two layers whatever the constant.",
        example="a" * 11,
    ),
]  # fmt: skip

ENTRIES = [*BRACKETS, *COUNTS]
