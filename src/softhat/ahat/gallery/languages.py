"""Hard-attention models of languages that need counting: PARITY, bounded Dyck-2, aⁿbⁿcⁿ."""

from __future__ import annotations

from fractions import Fraction

from softhat.ahat.builder import Builder, Expr, Score
from softhat.ahat.model import AHAT, BOS

HALF = Fraction(1, 2)


def parity() -> AHAT:
    """Is the number k of 1s in w odd? After Chiang and Cholak (ACL 2022).

    Layer 1 finds k/n and 1/n; ReLUs mark position k by 1/n. In layer 2 one head averages the mark
    over the even positions, one over the odd ones (score ±(-1)^j); at n = 1 both see position 1,
    so the odd one counts twice. Nothing is marked for k = 0.
    """
    b = Builder("01")
    shares = b.head("none", value={"k/n": b.token("1"), "1/n": b.position("first")})
    place, step = b.position("i/n"), shares["1/n"]
    after = shares["k/n"] - place
    mark = b.relu("up", after + step) - 2 * b.relu("top", after) + b.relu("down", after - step)
    sign = b.position("(-1)^i")
    even = b.head("none", value={"even": mark}, score=[(1, sign)], name="even positions")["even"]
    odd = b.head("none", value={"odd": mark}, score=[(-1, sign)], name="odd positions")["odd"]
    b.output(2 * odd - even)
    return b.build()


def a_b_c_in_equal_numbers() -> AHAT:
    """Is w_1 … w_i of the form a^m b^m c^m, m ≥ 1?

    Prefix averages compare the counts; unique-hard heads find out whether a b or c stands before
    an a, or a c before a b, anywhere in the prefix.
    """
    b = Builder("abc")
    a, bb, c = (b.token(s) for s in "abc")
    late, last = bb + c, c
    shares = b.head("<=", value={"a-b": a - bb, "b-c": bb - c}, name="shares")
    seen = b.head("<=", value={"b or c": late}, score=[(1, late)], ties="leftmost")["b or c"]
    seen_c = b.head("<=", value={"c": last}, score=[(1, last)], ties="leftmost")["c"]
    wrong = b.relu("a too late", a + seen - 1) + b.relu("b too late", bb + seen_c - 1)
    fault = b.head("<=", value={"fault": wrong}, score=[(1, wrong)], ties="leftmost")["fault"]
    apart = sum(
        (b.relu(f"|{k}|{s}", s * shares[k]) for k in ("a-b", "b-c") for s in (1, -1)), Expr()
    )
    b.output(HALF * b.position("1/i") - apart - fault)
    return b.build()


def bounded_dyck_2() -> AHAT:
    """Is w_1 … w_i balanced, with two kinds of bracket and depth at most 2?

    Prefix averages hold depth/(i+1); unique-hard heads turn depth ≥ 1, 2, 3 and depth < 0 into
    truth values (`<bos>` wins unless the query is positive). A closing bracket looks for the latest
    opening one that led to the depth above it, and must be of its kind.
    """
    b = Builder("()[]", bos=True)
    bos = b.embed("bos", {BOS: 1})
    one = b.embed("ordinary", dict.fromkeys("()[]", 1))
    opening, closing = b.token("(") + b.token("["), b.token(")") + b.token("]")
    averages = b.head("<=", value={"depth": opening - closing, "1/(i+1)": bos}, name="depth")
    depth, unit = averages["depth"], averages["1/(i+1)"]

    def at_least(name: str, lead: Expr) -> Expr:
        """1 where lead > 0, else 0."""
        return b.head("<=", value={name: one}, score=[(lead, one)], ties="leftmost")[name]

    level = [at_least(f"depth ≥ {k}", depth - (k - HALF) * unit) for k in (1, 2, 3)]
    below = at_least("depth < 0", -depth - HALF * unit)
    at = [1 - level[0], level[0] - level[1], level[1] - level[2]]
    # The opening brackets that led to depth 1 and 2.
    opened = [b.relu(f"opened {k}", opening + at[k] - 1) for k in (1, 2)]
    score: Score = [(at[k], opened[k]) for k in (0, 1)]
    kinds = {"round": b.token("("), "square": b.token("[")}
    match = b.head("<", value=kinds, score=score, ties="rightmost", name="its opening bracket")
    wrong = b.relu("( ]", b.token("]") + match["round"] - 1)
    wrong += b.relu("[ )", b.token(")") + match["square"] - 1)
    wrong += level[2] + below
    fault = b.head("<=", value={"fault": wrong}, score=[(1, wrong)], ties="leftmost")["fault"]
    b.output(at[0] - HALF - fault)
    return b.build()
