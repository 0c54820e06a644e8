"""Average-hard models that look things up: tokens, ranks, prefixes, matches."""

from __future__ import annotations

from fractions import Fraction

from softhat.ahat.builder import Builder, Expr, Score
from softhat.ahat.model import AHAT, BOS, Mask

HALF = Fraction(1, 2)


def majority() -> AHAT:
    """More a than b among all of w: one uniform head."""
    b = Builder("ab")
    lead = b.head("none", value={"lead": b.token("a") - b.token("b")})["lead"]
    b.output(lead)
    return b.build()


def first_token() -> AHAT:
    """Is w_1 an a? The score -j is greatest at the first position."""
    return _is_a("none", "first", -1, "i")


def last_token() -> AHAT:
    """Is w_n an a? The score j/n: gaps shrink like 1/n."""
    return _is_a("none", "last", 1, "i/n")


def last_by_inverse() -> AHAT:
    """Is w_i an a, looked up as the last of w_1 … w_i? The score -1/j: gaps of 1/n²."""
    return _is_a("<=", "last", -1, "1/i")


def _is_a(mask: Mask, label: str, sign: int, feature: str) -> AHAT:
    """Is the symbol an a whose position feature, with a sign, is the greatest?"""
    b = Builder("ab")
    value = b.head(mask, value={label: b.token("a")}, score=[(sign, b.position(feature))])[label]
    b.output(value - HALF)
    return b.build()


def previous_token() -> AHAT:
    """Is w_(i-1) an a (w_1 at i = 1)? Integer quadratic scores 2j(i-1) - j²."""
    b = Builder("ab")
    i, square = b.position("i"), b.position("i^2")
    score: Score = [(2 * (i - 1), i), (-1, square)]
    previous = b.head("none", value={"previous": b.token("a")}, score=score)["previous"]
    b.output(previous - HALF)
    return b.build()


def induction_latest() -> AHAT:
    """Was w_i followed by an a at its latest occurrence before i? False if it has none.

    Layer 1 fetches the previous token; layer 2 takes the latest j ≤ i whose previous token is
    w_i. A match is worth 2, recency at most 1, and `<bos>` 3/2: it wins if nothing matches.
    """
    b = Builder("ab", bos=True)
    before, bos = _previous_tokens(b), b.embed("bos", {BOS: 1})
    score: Score = [(2 * b.token(s), before[s]) for s in "ab"]
    score += [(Fraction(3, 2), bos), (1, b.position("i/n"))]
    next_is_a = b.head("<=", value={"next": b.token("a")}, score=score, name="latest match")["next"]
    b.output(next_is_a - HALF)
    return b.build()


def induction_average() -> AHAT:
    """Was w_i followed by a more than half of the time, over all its occurrences before i?

    The matches tie, their scores carry the error of layer 1, and their values vary: dangerous
    ties. Value: share of a - 1/2 - 1/(4i), never 0.
    """
    b = Builder("ab", bos=True)
    before, bos = _previous_tokens(b), b.embed("bos", {BOS: 1})
    score: Score = [(b.token(s), before[s]) for s in "ab"] + [(HALF, bos)]
    share = b.head("<=", value={"share": b.token("a")}, score=score, name="all matches")["share"]
    b.output(share - HALF - Fraction(1, 4) * b.position("1/i"))
    return b.build()


def most_recent_occurrence() -> AHAT:
    """Is the latest j < i with w_j = w_i odd? False if there is none (`<bos>` is taken)."""
    b = Builder("ab", bos=True)
    score: Score = [(2 * b.token(s), b.token(s)) for s in "ab"]
    score += [(Fraction(3, 2), b.embed("bos", {BOS: 1})), (1, b.position("i/n"))]
    odd = b.head("<", value={"odd": b.mod(2, 1)}, score=score)["odd"]
    b.output(odd - HALF)
    return b.build()


def histogram() -> AHAT:
    """Does w_i occur at least twice in w? Ties with `<bos>` give 1/(count + 1)."""
    letters = "abc"
    b = Builder(letters, bos=True)
    bos = b.embed("bos", {BOS: 1})
    score: Score = [(b.token(s), b.embed(f"{s} or bos", {s: 1, BOS: 1})) for s in letters]
    share = b.head("none", value={"1/(count+1)": bos}, score=[*score, (bos, bos)])
    b.output(Fraction(5, 12) - share["1/(count+1)"])
    return b.build()


def reverse() -> AHAT:
    """Is w_(n+1-i) an a? Quadratic scores around n + 1 - i."""
    b = Builder("ab")
    i, n, square = b.position("i"), b.position("n"), b.position("i^2")
    score: Score = [(2 * (n - i + 1), i), (-1, square)]
    mirrored = b.head("none", value={"mirrored": b.token("a")}, score=score)["mirrored"]
    b.output(mirrored - HALF)
    return b.build()


def sort() -> AHAT:
    """The i-th smallest of distinct keys a < b < c < d (as 1 … 4), minus 3/2: is it more than a?

    Uniform attention finds which letters occur (words to length 8), ReLUs turn that into each
    key's rank and its square, and position i looks for rank i - 1. Equal keys would tie with
    equal values.
    """
    letters = "abcd"
    b = Builder(letters)
    shares = b.head("none", value={f"share of {s}": b.token(s) for s in letters})
    present = [b.clip(f"has {s}", 8 * shares[f"share of {s}"]) for s in letters]
    smaller = Expr()
    rank = Expr()
    for k, s in enumerate(letters):
        if k:
            rank = rank + b.relu(f"rank if {s}", smaller - 3 + 3 * b.token(s))
        smaller = smaller + present[k]
    square = rank + 2 * b.relu("rank-1", rank - 1) + 2 * b.relu("rank-2", rank - 2)
    key = sum((Fraction(k + 1) * b.token(s) for k, s in enumerate(letters)), Expr())
    place = b.position("i")
    fetched = b.head("none", value={"sorted": key}, score=[(2 * (place - 1), rank), (-1, square)])
    b.output(fetched["sorted"] - Fraction(3, 2))
    return b.build()


def dyck_uniform() -> AHAT:
    """Is w_1 … w_i balanced? Two uniform heads: prefix averages, and how negative they get."""
    b = Builder("()")
    average = prefix_average(b)
    below = b.head("<=", value={"below": b.relu("negative part", -average)})["below"]
    above = b.relu("positive part", average)
    threshold = b.table([Fraction(1, 2 * i * i) for i in range(1, 65)])
    b.output(threshold - below - above)
    return b.build()


def dyck_argmin() -> AHAT:
    """Is w_1 … w_i balanced? Average-hard attention to the least prefix average."""
    b = Builder("()")
    average = prefix_average(b)
    least = b.head("<=", value={"least": average}, score=[(1, -average)], name="argmin")["least"]
    b.output(HALF * b.position("1/i") + least - 2 * b.relu("positive part", average))
    return b.build()


def parity_of_length() -> AHAT:
    """Is n even? Every position looks at the last, whose (-1)^j is (-1)^n."""
    b = Builder("ab")
    sign = b.head("none", value={"sign": b.position("(-1)^i")}, score=[(1, b.position("i"))])
    b.output(sign["sign"])
    return b.build()


def third_token() -> AHAT:
    """Is w_3 an a (the last token, in shorter words)? Quadratic scores 6j - j²."""
    return _is_an_a(3, "third")


def fifth_token() -> AHAT:
    """Is w_5 an a (the last token, in shorter words)? Quadratic scores 10j - j²."""
    return _is_an_a(5, "fifth")


def _is_an_a(k: int, name: str) -> AHAT:
    """Is the k-th token an a? Scores 2kj - j² are greatest at j = k."""
    b = Builder("ab")
    score: Score = [(2 * k, b.position("i")), (-1, b.position("i^2"))]
    b.output(b.head("none", value={name: b.token("a")}, score=score)[name] - HALF)
    return b.build()


def most_frequent_symbol() -> AHAT:
    """Does a occur more often in w than b and more often than c?

    Layer 1 finds 1/(count + 1) of every token (as the histogram does); layer 2 attends to where
    that is least, and averages [a] there: 1 if only a is most frequent, at most 1/2 else.
    """
    letters = "abc"
    b = Builder(letters, bos=True)
    bos = b.embed("bos", {BOS: 1})
    score: Score = [(b.token(s), b.embed(f"{s} or bos", {s: 1, BOS: 1})) for s in letters]
    rare = b.head("none", value={"1/(count+1)": bos}, score=[*score, (bos, bos)])["1/(count+1)"]
    share = b.head("none", value={"share": b.token("a")}, score=[(-1, rare)], name="least")
    b.output(share["share"] - Fraction(3, 4))
    return b.build()


def retrieval_by_count() -> AHAT:
    """Is w_k an a, where k is the number of a's in w? False if there is none.

    Uniform heads find k/(n+1) and 1/(n+1); scores (2kj - j²)/(n+1) are greatest at j = k, which is
    `<bos>` for k = 0.
    """
    b = Builder("ab", bos=True)
    shares = b.head("none", value={"k/(n+1)": b.token("a"), "1/(n+1)": b.embed("bos", {BOS: 1})})
    i, square = b.position("i"), b.position("i^2")
    score: Score = [(2 * shares["k/(n+1)"], i), (-shares["1/(n+1)"], square)]
    is_a = b.head("none", value={"w_k": b.token("a")}, score=score, name="w_k")["w_k"]
    b.output(is_a - HALF)
    return b.build()


def _previous_tokens(b: Builder) -> dict[str, Expr]:
    """The token at i - 1 as a one-hot; all 0 at the first position and at `<bos>`."""
    i, square = b.position("i"), b.position("i^2")
    score: Score = [(2 * (i - 1), i), (-1, square)]
    values = {f"previous {s}": b.token(s) for s in b.alphabet}
    out = b.head("none", value=values, score=score, name="previous token")
    return {s: out[f"previous {s}"] for s in b.alphabet}


def prefix_average(b: Builder) -> Expr:
    """(opening - closing brackets) / i."""
    return b.head("<=", value={"average": b.token("(") - b.token(")")}, name="prefix average")[
        "average"
    ]
